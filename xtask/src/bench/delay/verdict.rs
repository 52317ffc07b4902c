//! What is asked of the suite `delay`: no curve grows with the number of
//! attackers, and none lies above the bound.

use super::{INTERRUPTS_OFF, SUITE};
use crate::bench::measurement::{Measurement, number};

/// How long interrupts may be off, in instructions.
pub(super) const BOUND: f64 = 3000.0;
/// The number of attackers from which on a curve must be flat. Before, there is
/// less to be interrupted in.
const MANY: u64 = 64;
/// What a flat curve may still rise: releases hit what is longest by chance.
const SLACK: f64 = 300.0;

/// A curve: the worst case for each number of attackers.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    pub(super) points: Vec<(u64, f64)>,
}

/// The curves of one kind, in the order of the measurements.
pub(super) fn curves<'a>(measured: &'a [Measurement], kind: &str) -> Vec<Curve<'a>> {
    let mut curves: Vec<Curve<'a>> = Vec::new();
    for one in measured.iter().filter(|one| one.suite == SUITE) {
        let attackers = one.parameters.get("attackers").and_then(|it| it.as_u64());
        let (Some(name), Some(attackers)) = (one.operation.strip_suffix(kind), attackers) else {
            continue;
        };
        let point = (attackers, one.max);
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name,
                points: vec![point],
            }),
        }
    }
    curves
}

/// What is not as it should be.
pub(in crate::bench) fn complaints(measured: &[Measurement]) -> Vec<String> {
    let mut complaints = Vec::new();
    for Curve { name, points } in curves(measured, INTERRUPTS_OFF) {
        for (attackers, value) in &points {
            if *value > BOUND {
                complaints.push(format!(
                    "{SUITE}/{name}: with {attackers} attackers interrupts are off for {} \
                     instructions, more than {}",
                    number(*value),
                    number(BOUND)
                ));
            }
        }
        let few = points.iter().filter(|(attackers, _)| *attackers <= MANY);
        let before = few.map(|(_, value)| *value).fold(0.0, f64::max);
        let after = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
        if after > before + SLACK {
            complaints.push(format!(
                "{SUITE}/{name} grows with the number of attackers: from {} to {} instructions",
                number(before),
                number(after)
            ));
        }
    }
    complaints
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bench::delay::DELAY;
    use serde_json::{Map, json};

    pub(in crate::bench::delay) fn measured(values: &[(u64, f64)]) -> Vec<Measurement> {
        let one = |kind: &str, attackers: u64, value: f64| {
            let parameters = Map::from_iter([("attackers".to_string(), json!(attackers))]);
            let operation = format!("storm{kind}");
            Measurement::new(SUITE, &operation, parameters, "instructions", &[value]).unwrap()
        };
        values
            .iter()
            .flat_map(|(attackers, value)| {
                [DELAY, INTERRUPTS_OFF].map(|kind| one(kind, *attackers, *value))
            })
            .collect()
    }

    #[test]
    fn a_flat_curve_below_the_bound_is_good() {
        let good = measured(&[(1, 900.0), (64, 1500.0), (1024, 1600.0)]);
        assert!(complaints(&good).is_empty());
    }

    #[test]
    fn a_curve_that_grows_is_found() {
        let grows = measured(&[(1, 900.0), (64, 1000.0), (1024, 2900.0)]);
        assert_eq!(
            complaints(&grows),
            ["delay/storm grows with the number of attackers: from 1000 to 2900 instructions"]
        );
    }

    #[test]
    fn a_curve_above_the_bound_is_found() {
        assert_eq!(complaints(&measured(&[(1, 3001.0)])).len(), 1);
    }
}
