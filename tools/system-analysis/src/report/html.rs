//! The report as one HTML page.

use std::fmt::Write;

use schedulability::Time;

use super::text::{about, verdict};
use super::{Report, Row, Source, Verdict, picture, shown, words};
use crate::page::{self, escaped, sentence};

pub(super) fn of(report: &Report) -> String {
    let word = if report.holds {
        "in time"
    } else {
        "not in time"
    };
    let mut page = page::begin(
        &report.title,
        &report.platform,
        report.holds,
        word,
        &verdict(report),
    );
    page += &rows(report);
    page + &page::end(&report.assumptions, report.methods())
}

/// The deadlines, what to change, and what the bounds are made of.
pub(crate) fn rows(report: &Report) -> String {
    let mut page =
        "<h2>Deadlines</h2><div class=\"scroll\"><table><tr><th>name</th><th class=\"n\">at most</th>\
         <th class=\"n\">deadline</th><th class=\"n\">slack</th><th></th></tr>\n"
            .to_string();
    for row in &report.rows {
        line(&mut page, row);
    }
    page += "</table></div>\n";
    changes(&mut page, report);
    page += "<h2>What each bound is made of</h2>\n";
    let promised = |row: &&Row| row.verdict != Verdict::NoPromise;
    for row in report.rows.iter().filter(promised) {
        details(&mut page, row);
    }
    page
}

fn cell(time: Option<Time>) -> String {
    time.map_or("-".into(), shown)
}

fn line(page: &mut String, row: &Row) {
    let verdict = match row.verdict {
        Verdict::Holds => "<b class=\"good\">holds</b>",
        Verdict::Fails => "<b class=\"bad\">fails</b>",
        Verdict::NoPromise => "no promise",
    };
    let _ = writeln!(
        page,
        "<tr><td>{}<br><small>{}</small></td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td>{verdict}</td></tr>",
        escaped(&row.name),
        escaped(&about(row)),
        cell(row.bound),
        cell(row.deadline),
        cell(row.slack()),
    );
}

fn changes(page: &mut String, report: &Report) {
    if report.changes.is_empty() {
        return;
    }
    let heading = match report.holds {
        true => "How far each value may grow, alone",
        false => "What to change first",
    };
    let _ = writeln!(
        page,
        "<h2>{heading}</h2><div class=\"scroll\"><table><tr><th>value</th><th class=\"n\">is</th>\
         <th class=\"n\">at most</th></tr>"
    );
    for one in &report.changes {
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
            sentence(&one.what),
            shown(one.from),
            shown(one.to)
        );
    }
    page.push_str("</table></div>\n");
}

fn class(source: Source) -> &'static str {
    match source {
        Source::Own => "own",
        Source::Request => "request",
        Source::Kernel => "kernel",
        Source::Interference => "interference",
        Source::Blocking => "blocking",
        Source::Waiting => "waiting",
        Source::Blackout => "blackout",
        Source::Jitter => "jitter",
    }
}

fn details(page: &mut String, row: &Row) {
    let open = if row.verdict == Verdict::Fails {
        " open"
    } else {
        ""
    };
    let _ = write!(
        page,
        "<details{open}><summary>{}</summary>",
        escaped(&row.name)
    );
    if !row.note.is_empty() {
        let _ = write!(page, "<p>{}</p>", sentence(&row.note));
    }
    let sum: i128 = row.parts.iter().map(|part| part.time.nanos()).sum();
    if sum > 0 {
        page.push_str("<div class=\"bar\">");
        for part in &row.parts {
            let share = part.time.nanos() as f64 * 100.0 / sum as f64;
            let _ = write!(
                page,
                "<i class=\"{}\" style=\"width:{share:.2}%\"></i>",
                class(part.source)
            );
        }
        page.push_str("</div><div class=\"scroll\"><table>");
        for part in &row.parts {
            let what = format!("{} {}", words(part.source), part.by);
            let _ = write!(
                page,
                "<tr><td><i class=\"key {}\"></i>{}</td><td class=\"n\">{}</td></tr>",
                class(part.source),
                escaped(&what),
                shown(part.time)
            );
        }
        page.push_str("</table></div>");
    }
    page.push_str(&picture::of(row));
    if let Some(method) = row.method {
        let _ = write!(page, "<small>{}</small>", escaped(method.name));
    }
    page.push_str("</details>\n");
}
