//! Plots of progress over time.

use crate::plot::{Axis, Curve, Plot};

/// Time in minutes, and the count until then.
pub(super) type Points = Vec<(f64, f64)>;

/// Named curves over time, from the origin; `unit` is the counted unit.
pub(super) fn lines(curves: &[(&str, &Points)], unit: &str) -> String {
    let all = || curves.iter().flat_map(|(_, points)| points.iter());
    let plot = Plot {
        title: unit,
        across: "minutes",
        x: Axis::Even {
            end: all().map(|point| point.0).fold(0.1, f64::max),
        },
        y: Axis::Even {
            end: all().map(|point| point.1).fold(1.0, f64::max),
        },
        curves: curves
            .iter()
            .map(|(name, points)| Curve {
                name,
                points: [&[(0.0, 0.0)], points.as_slice()].concat(),
            })
            .collect(),
        bound: None,
    };
    plot.svg()
}
