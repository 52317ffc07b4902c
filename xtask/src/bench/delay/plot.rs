//! The plot of delays against the number of attackers.

use super::DELAY;
use super::verdict::{BOUND, curves};
use crate::bench::measurement::{Measurement, number};
use crate::plot::{Axis, Curve, Plot};

/// The plot of the delays, as SVG; none if they were not measured.
pub(in crate::bench) fn plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
    let point = |(attackers, value): &(u64, f64)| (*attackers as f64, *value);
    let curves = curves(measured, DELAY);
    let curves: Vec<_> = curves
        .iter()
        .map(|curve| Curve {
            name: curve.name,
            points: curve.points.iter().map(point).collect(),
        })
        .collect();
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let most = all().map(|point| point.0).reduce(f64::max)?;
    // The interrupt arrives in one interrupts-disabled section, and the switch to the thread may be another
    // one.
    let bound = 2.0 * BOUND;
    let highest = all().map(|point| point.1).fold(bound, f64::max);
    let words = format!("bound: two sections of {}", number(BOUND));
    let plot = Plot {
        title: &format!("{platform}: worst delay in instructions"),
        across: "attackers",
        x: Axis::Times {
            begin: 1.0,
            factor: 4.0,
            end: most,
        },
        y: Axis::Even { end: highest },
        curves,
        bound: Some((bound, &words)),
    };
    Some(plot.svg())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::delay::verdict::tests::measured;

    #[test]
    fn a_plot_has_a_line_for_each_scenario() {
        let svg = plot("pc99", &measured(&[(1, 900.0), (1024, 1000.0)])).unwrap();
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 1);
        assert!(svg.contains(">bound: two sections of 3000</text>"), "{svg}");
        assert!(svg.contains(">storm</text>") && svg.contains(">1024</text>"));
        assert!(plot("pc99", &[]).is_none());
    }
}
