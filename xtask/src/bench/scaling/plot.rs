//! The plots of the suites `locks` and `smp`.

use super::{ONE, Series, series};
use crate::bench::measurement::Measurement;
use crate::plot::{Points, draw};

/// The duration of a transaction on several cores relative to one core, divided by the number of cores.
pub(in crate::bench) fn locks_plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let slowdown = |series: &Series<'_>| {
        let points = series.points.iter();
        let point = |&(cores, one): &(f64, _)| Some((cores, series.relative(one)? / cores));
        let name = series.other.as_str().unwrap_or("").to_string();
        (name, points.filter_map(point).collect())
    };
    let curves: Vec<Points> = series(measured, "latency", "lock")
        .iter()
        .map(slowdown)
        .collect();
    let title = format!("{platform}: slowdown of a transaction, divided by cores");
    draw(&title, "cores", None, &curves)
}

/// The number of calls on several cores relative to one core, by the longest pause.
pub(in crate::bench) fn pairs_plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let title = format!("{platform}: calls of all pairs, one core = 1");
    let across = "longest pause between calls, in turns of an empty loop";
    let curves = speed_ups(&series(measured, "pairs", "pause"));
    draw(&title, across, Some(2.0), &curves)
}

/// The same by the length of the payload.
pub(in crate::bench) fn payload_plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let title = format!("{platform}: requests with payload, one core = 1");
    let curves = speed_ups(&series(measured, "payload", "bytes"));
    draw(&title, "bytes", None, &curves)
}

/// A curve for each kernel and number of cores: speed-up by the parameter.
fn speed_ups(all: &[Series<'_>]) -> Vec<Points> {
    let mut curves: Vec<Points> = Vec::new();
    for series in all.iter().filter(|series| series.kernel != ONE) {
        for &(cores, one) in series.points.iter().filter(|point| point.0 > 1.0) {
            let name = format!("{}, {cores} cores", series.kernel);
            let Some(point) = series.other.as_f64().zip(series.relative(one)) else {
                continue;
            };
            match curves.iter_mut().find(|curve| curve.0 == name) {
                Some(curve) => curve.1.push(point),
                None => curves.push((name, vec![point])),
            }
        }
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::super::tests::one;
    use super::super::{FINE, LOCKS, SMP};
    use super::*;
    use serde_json::json;

    #[test]
    fn locks_have_a_line_each() {
        let latency = |lock: &str, cores: u32, time| {
            one(
                (LOCKS, "latency", "ns"),
                json!({"lock": lock, "cores": cores}),
                time,
            )
        };
        let measured = [
            latency("ticket", 1, 10.0),
            latency("ticket", 2, 40.0),
            latency("MCS", 1, 20.0),
        ];
        let svg = locks_plot("pc99", &measured).unwrap();
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 2);
        assert!(svg.contains("\"297.0,198.0 530.0,24.0\""), "{svg}");
        assert!(locks_plot("pc99", &[]).is_none());
    }

    #[test]
    fn speed_ups_have_a_line_for_each_number_of_cores() {
        let pairs = |pause: u32, cores: u32, rate| {
            one(
                (SMP, "pairs", "1/s"),
                json!({"pause": pause, "cores": cores}),
                rate,
            )
            .of(FINE)
        };
        let measured = [
            pairs(0, 1, 10.0),
            pairs(0, 2, 20.0),
            pairs(250, 1, 10.0),
            pairs(250, 2, 20.0),
            pairs(500, 1, 10.0),
            pairs(500, 2, 10.0),
        ];
        let svg = pairs_plot("pc99", &measured).unwrap();
        assert!(svg.contains(">fine-grained, 2 cores</text>"), "{svg}");
        assert!(svg.contains("\"64.0,24.0 530.0,198.0\""), "{svg}");
        assert!(payload_plot("pc99", &measured).is_none());
    }
}
