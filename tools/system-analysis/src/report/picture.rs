//! Supply and demand as a picture.

use std::fmt::Write;

use schedulability::Time;

use super::{Row, shown};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 260.0;
/// The margins: left, top, right, bottom.
const MARGIN: [f64; 4] = [64.0, 26.0, 12.0, 34.0];

/// The picture of a row, or nothing if it has no curve. Colours come from the page's style.
pub(super) fn of(row: &Row) -> String {
    let curve = &row.curve;
    let all = || curve.demand.iter().chain(&curve.supply);
    let end = |of: fn(&(Time, Time)) -> Time| all().map(of).max().unwrap_or_default().nanos();
    let (across, up) = (end(|point| point.0), end(|point| point.1));
    if across <= 0 || up <= 0 {
        return String::new();
    }
    let [left, above, right, below] = MARGIN;
    let x = |time: Time| left + time.nanos() as f64 / across as f64 * (WIDTH - left - right);
    let y =
        |time: Time| HEIGHT - below - time.nanos() as f64 / up as f64 * (HEIGHT - above - below);
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Supply and demand of {}\">",
        crate::page::escaped(&row.name)
    );
    for quarter in 0..=4 {
        let at = |whole: i128| Time::from_nanos((whole * quarter / 4) as u64);
        let (time, work) = (at(across), at(up));
        let _ = write!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\
             <text x=\"{:.1}\" y=\"{}\" text-anchor=\"{}\">{}</text>",
            WIDTH - right,
            left - 6.0,
            y(work) + 4.0,
            shown(work),
            x(time),
            HEIGHT - below + 18.0,
            if quarter == 4 { "end" } else { "middle" },
            shown(time),
            y = y(work),
        );
    }
    for (name, points) in [("supply", &curve.supply), ("demand", &curve.demand)] {
        let mut path = String::new();
        for (place, (time, work)) in points.iter().enumerate() {
            let letter = if place == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{letter}{:.1} {:.1}", x(*time), y(*work));
        }
        let _ = write!(svg, "<path class=\"{name}\" d=\"{path}\"/>");
    }
    let marks = [("bound", row.bound, 12.0), ("deadline", row.deadline, 22.0)];
    for (name, time, height) in marks {
        let Some(time) = time.filter(|time| time.nanos() <= across) else {
            continue;
        };
        let at = x(time);
        let (anchor, label) = if at > WIDTH / 2.0 {
            ("end", at - 4.0)
        } else {
            ("start", at + 4.0)
        };
        let _ = write!(
            svg,
            "<line class=\"{name}\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{}\" y2=\"{}\"/>\
             <text class=\"{name}\" x=\"{label:.1}\" y=\"{height}\" text-anchor=\"{anchor}\">{name} {}</text>",
            above - 10.0,
            HEIGHT - below,
            shown(time),
        );
    }
    svg + "</svg>"
}
