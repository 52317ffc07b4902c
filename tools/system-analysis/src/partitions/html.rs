//! Partitions as one HTML page.

use std::fmt::Write;

use system_description::System;

use super::{Partitions, text};
use crate::page::{self, escaped, sentence};
use crate::report::shown;
use crate::time;

/// Colours of domains, which both the dark and the light page show well.
const COLOURS: [&str; 4] = ["#6e7781", "#0969da", "#bc4c00", "#8250df"];

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 40.0;

pub(super) fn of(all: &Partitions) -> String {
    let system = &all.system;
    let (word, verdict) = match (all.schedule_holds(), all.contexts.is_ok()) {
        (true, true) => (
            "found",
            "All guests fit, as turns of domains and as contexts.",
        ),
        (true, false) => ("found", "All guests fit, as turns of domains."),
        (false, true) => ("found", "All guests fit, as contexts."),
        (false, false) => (
            "not found",
            "No partitions were found in which all guests are in time.",
        ),
    };
    let mut page = page::begin(
        text::title(system),
        &system.platform,
        all.holds(),
        word,
        verdict,
    );
    for one in &all.needs {
        let _ = write!(page, "<h2>{}</h2>", escaped(&text::headline(system, one)));
        page.push_str("<div class=\"scroll\"><table>");
        for (name, value) in text::needs(one) {
            let _ = write!(page, "<tr><td>{name}</td><td>{}</td></tr>", escaped(&value));
        }
        page.push_str("</table></div>\n");
    }
    page += "<h2>As a schedule of domains</h2>\n";
    match &all.schedule {
        Ok(found) => {
            if !found.misses.is_empty() {
                let late = sentence(&found.misses.join(", "));
                let _ = write!(page, "<p>With these turns, some are late: {late}.</p>");
            }
            page += &picture(&found.system);
            let _ = writeln!(
                page,
                "<pre>{}</pre>",
                escaped(&text::schedule(&found.system))
            );
        }
        Err(why) => {
            let _ = writeln!(page, "<p>Not found: {}.</p>", sentence(why));
        }
    }
    page += "<h2>As contexts</h2>\n";
    let _ = match &all.contexts {
        Ok(found) => writeln!(
            page,
            "<pre>{}</pre>",
            escaped(&text::contexts(&found.system))
        ),
        Err(why) => writeln!(page, "<p>Not found: {}.</p>", sentence(why)),
    };
    page + &page::end(&[text::assumption(all)], text::METHODS)
}

/// The turns of one round of the schedule, in proportion.
fn picture(system: &System) -> String {
    let round: u64 = system
        .schedule
        .iter()
        .map(|turn| turn.duration.as_nanos())
        .sum();
    let mut svg = format!(
        "<svg class=\"turns\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"Turns of domains\">",
        HEIGHT + 18.0
    );
    let mut begin = 0;
    for turn in &system.schedule {
        let x = |time: u64| time as f64 / round.max(1) as f64 * WIDTH;
        let (left, width) = (x(begin), x(turn.duration.as_nanos()));
        let name = escaped(&system[turn.domain]);
        let length = shown(time(turn.duration));
        let colour = COLOURS[turn.domain.0 % COLOURS.len()];
        let _ = write!(
            svg,
            "<g><title>{name}: {length}</title>\
             <rect x=\"{left:.2}\" width=\"{width:.2}\" height=\"{HEIGHT}\" fill=\"{colour}\"/>"
        );
        // A name that does not fit is in the tooltip only.
        if width > 7.5 * name.len() as f64 {
            let _ = write!(
                svg,
                "<text x=\"{:.2}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
                left + width / 2.0,
                HEIGHT / 2.0 + 4.0
            );
        }
        svg += "</g>";
        begin += turn.duration.as_nanos();
    }
    let end = shown(schedulability::Time::from_nanos(round));
    let below = HEIGHT + 14.0;
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"{below}\">0</text>\
         <text x=\"{WIDTH}\" y=\"{below}\" text-anchor=\"end\">{end}</text></svg>"
    );
    svg
}
