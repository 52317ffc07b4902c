//! The plot of the suite `criticality`: the cost of letting critical threads run first, by the criticality
//! level and by priorities.

use super::measurement::Measurement;
use crate::plot::{Axis, Curve, Plot};

const SUITE: &str = "criticality";
/// The operation that is shown. The reverse operation costs nearly the same.
const OPERATION: &str = "raise";
/// The two methods, as values of the parameter `by`, and their names in the plot.
const WAYS: [(&str, &str); 2] = [
    ("priorities", "each one\u{2019}s priority"),
    ("level", "level of criticality"),
];

/// The plot as SVG; none if the suite was not measured.
pub(super) fn plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let points = |way: &str| -> Vec<(f64, f64)> {
        measured
            .iter()
            .filter(|one| one.suite == SUITE && one.operation == OPERATION)
            .filter(|one| one.parameters.get("by").is_some_and(|by| by == way))
            .filter_map(|one| Some((one.parameters.get("threads")?.as_f64()?, one.mean)))
            .collect()
    };
    let curves = WAYS.map(|(way, name)| Curve {
        name,
        points: points(way),
    });
    let all = || curves.iter().flat_map(|curve| &curve.points);
    let most = all().map(|point| point.0).reduce(f64::max)?;
    let highest = all().map(|point| point.1).reduce(f64::max)?;
    let plot = Plot {
        title: &format!("{platform}: instructions to let the critical go first"),
        across: "threads that are critical, and as many that are not",
        x: Axis::Times {
            begin: 1.0,
            factor: 4.0,
            end: most,
        },
        y: Axis::Times {
            begin: 100.0,
            factor: 10.0,
            end: highest,
        },
        curves: curves.into(),
        bound: None,
    };
    Some(plot.svg())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, json};

    #[test]
    fn a_plot_has_a_line_for_each_way() {
        let one = |by: &str, threads: u64, cost| {
            let parameters = [("by", json!(by)), ("threads", json!(threads))];
            let parameters = parameters.map(|(name, value)| (name.to_string(), value));
            let parameters = Map::from_iter(parameters);
            Measurement::new(SUITE, OPERATION, parameters, "instructions", &[cost]).unwrap()
        };
        let measured = [
            one("level", 1, 10_000.0),
            one("priorities", 1, 100.0),
            one("level", 256, 10_000.0),
            one("priorities", 256, 1e6),
        ];
        let svg = plot("pc99", &measured).unwrap();
        assert!(svg.contains("\"64.0,372.0 530.0,24.0\""), "{svg}");
        assert!(svg.contains("\"64.0,198.0 530.0,198.0\""), "{svg}");
        assert!(plot("pc99", &[]).is_none());
    }
}
