//! The plot of delays against the number of attackers.

use std::fmt::Write;

use super::DELAY;
use super::verdict::{BOUND, curves};
use crate::bench::measurement::{Measurement, number};

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Around the plot: left, top, right, bottom.
const MARGIN: [f64; 4] = [64.0, 24.0, 190.0, 48.0];

/// The plot of the delays, as SVG; none if they were not measured.
pub(in crate::bench) fn plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let curves = curves(measured, DELAY);
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let most = all().map(|(attackers, _)| *attackers).max()?;
    let highest = all().map(|(_, value)| *value).fold(BOUND, f64::max);
    let top = (highest / 1000.0).ceil() * 1000.0;
    let [left, above, right, below] = MARGIN;
    #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
    let x = |attackers: u64| {
        let range = (most as f64).log2().max(1.0);
        left + (attackers as f64).log2() / range * (WIDTH - left - right)
    };
    let y = |value: f64| HEIGHT - below - value / top * (HEIGHT - above - below);

    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>\n"
    );
    let mut value = 0.0;
    while value <= top {
        let _ = writeln!(
            svg,
            "<line x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/>\
             <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            WIDTH - right,
            left - 6.0,
            y(value) + 4.0,
            number(value),
            y = y(value),
        );
        value += 1000.0;
    }
    let mut attackers = 1;
    while attackers <= most {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{attackers}</text>",
            x(attackers),
            HEIGHT - below + 18.0
        );
        attackers *= 4;
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">attackers</text>\
         <text x=\"{left}\" y=\"16\">{platform}: worst delay in instructions</text>",
        (left + WIDTH - right) / 2.0,
        HEIGHT - 10.0
    );
    for (index, curve) in curves.iter().enumerate() {
        let colour = COLOURS[index % COLOURS.len()];
        let mut points = String::new();
        for (attackers, value) in &curve.points {
            let _ = write!(points, "{:.1},{:.1} ", x(*attackers), y(*value));
        }
        #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
        let line = above + 16.0 * (index as f64 + 1.0);
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{line}\" fill=\"{colour}\">{}</text>",
            points.trim_end(),
            WIDTH - right + 10.0,
            curve.name
        );
    }
    svg.push_str("</svg>\n");
    Some(svg)
}

const COLOURS: [&str; 10] = [
    "#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#e377c2", "#17becf",
    "#7f7f7f", "#bcbd22",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::delay::verdict::tests::measured;

    #[test]
    fn a_plot_has_a_line_for_each_scenario() {
        let svg = plot("pc99", &measured(&[(1, 900.0), (1024, 1000.0)])).unwrap();
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert!(svg.contains(">storm</text>") && svg.contains(">1024</text>"));
        assert!(plot("pc99", &[]).is_none());
    }
}
