//! The requirements of the suite `delay`: no curve grows with the number of attackers, and none exceeds the
//! bound.

use super::{DELAY, INTERRUPTS_OFF, SUITE, cores_of, several};
use crate::bench::measurement::{Measurement, number};

/// The maximum length of an interrupts-disabled section, in instructions, on any machine.
pub(in crate::bench) const BOUND: f64 = 3000.0;
/// The same in a kernel for one core.
pub(super) const BOUND_OF_ONE: f64 = 2500.0;
/// A curve may rise up to this number of attackers: with fewer, there is less work to interrupt.
const FEW: u64 = 16;
/// The tolerated rise for each further doubling of the attackers: release queues take a number of steps
/// proportional to the logarithm.
const DOUBLING: f64 = 25.0;
/// The tolerated rise in any case, because the longest path is not always taken.
const SLACK: f64 = 600.0;
/// The same for delays, which consist of two sections.
const DELAY_SLACK: f64 = 2.0 * SLACK;

/// The maximum length of a section with so many cores.
pub(super) const fn longest_section(cores: u64) -> f64 {
    if cores == 1 { BOUND_OF_ONE } else { BOUND }
}

/// A curve: the worst case for each number of attackers.
pub(super) struct Curve<'a> {
    pub(super) name: &'a str,
    pub(super) points: Vec<(u64, f64)>,
    /// The minimum of all values.
    least: f64,
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
            Some(curve) => {
                curve.points.push(point);
                curve.least = curve.least.min(one.min);
            }
            None => curves.push(Curve {
                name,
                points: vec![point],
                least: one.min,
            }),
        }
    }
    curves
}

/// Violations of the requirements.
pub(in crate::bench) fn complaints(measured: &[Measurement]) -> Vec<String> {
    let mut complaints = Vec::new();
    let cores = measured.iter().filter(|one| one.suite == SUITE);
    let cores = cores.map(cores_of).max().unwrap_or(1);
    let bound = longest_section(cores);
    let (sections, delays) = (curves(measured, INTERRUPTS_OFF), curves(measured, DELAY));
    for Curve { name, points, .. } in &sections {
        for (attackers, value) in points {
            if *value > bound {
                complaints.push(format!(
                    "{SUITE}/{name}: with {attackers} attackers interrupts are off for {} \
                     instructions, more than {}",
                    number(*value),
                    number(bound)
                ));
            }
        }
    }
    // Work that the kernel does in any scenario, such as a release that preempts, takes longer than some
    // scenarios.
    let usual = median(sections.iter().map(|curve| worst_of_few(&curve.points)));
    for curve in &sections {
        complaints.extend(growth(curve, INTERRUPTS_OFF, usual, SLACK));
    }
    // With attackers on other cores, the results depend on what they are executing.
    for curve in delays.iter().filter(|_| cores == 1) {
        // With few attackers, the releases may have hit no long section. The worst case is the beginning of
        // the longest section, after which the switch to the thread follows.
        let section = sections.iter().find(|section| section.name == curve.name);
        let reached = section.map_or(0.0, |section| worst_of_few(&section.points));
        let reached = reached.max(usual) + curve.least;
        complaints.extend(growth(curve, DELAY, reached, DELAY_SLACK));
    }
    complaints.extend(several::complaints(measured));
    complaints
}

fn worst_of_few(points: &[(u64, f64)]) -> f64 {
    let few = points.iter().filter(|(attackers, _)| *attackers <= FEW);
    few.map(|(_, value)| *value).fold(0.0, f64::max)
}

/// The median.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// Whether a curve rises by more than a logarithm above its values for few attackers, or above `reached`.
fn growth(curve: &Curve<'_>, kind: &str, reached: f64, slack: f64) -> Option<String> {
    let before = worst_of_few(&curve.points).max(reached);
    let too_high = |(attackers, value): &&(u64, f64)| {
        #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
        let doublings = (*attackers as f64 / FEW as f64).log2().max(0.0);
        *value > before + slack + DOUBLING * doublings
    };
    let (attackers, value) = curve.points.iter().find(too_high)?;
    Some(format!(
        "{SUITE}/{}{kind} grows: up to {FEW} attackers {} instructions, {attackers} attackers {}",
        curve.name,
        number(before),
        number(*value)
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
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
        let good = measured(&[(1, 900.0), (16, 1500.0), (64, 1600.0), (1024, 1550.0)]);
        assert!(complaints(&good).is_empty());
    }

    #[test]
    fn a_curve_may_grow_like_a_logarithm() {
        let slow = [1, 4, 16, 64, 256, 1024].map(|attackers: u64| {
            let doublings = f64::from(attackers.ilog2());
            (attackers, 1000.0 + 20.0 * doublings)
        });
        assert!(complaints(&measured(&slow)).is_empty());
    }

    #[test]
    fn a_curve_that_grows_is_found() {
        for most in [64, 1024] {
            let steps = [1, 4, 16, 64, 1024]
                .into_iter()
                .filter(|step| *step <= most);
            let grows: Vec<_> = steps
                .map(|step: u32| (u64::from(step), 500.0 + 45.0 * f64::from(step)))
                .collect();
            let found = complaints(&measured(&grows));
            for kind in ["interrupts off", "delay"] {
                let growth = format!("delay/storm: {kind} grows");
                assert!(
                    found.iter().any(|one| one.starts_with(&growth)),
                    "{found:?}"
                );
            }
        }
    }

    #[test]
    fn a_delay_is_no_longer_than_what_interrupts_wait_for() {
        let at = |kind: &str, attackers, value| {
            let mut all = measured(&[(attackers, value)]);
            all.retain(|one| one.operation.ends_with(kind));
            all
        };
        let sections = [
            at(INTERRUPTS_OFF, 1, 1500.0),
            at(INTERRUPTS_OFF, 64, 1500.0),
        ]
        .concat();
        let hit = [sections.clone(), at(DELAY, 1, 500.0), at(DELAY, 64, 1950.0)].concat();
        assert!(complaints(&hit).is_empty());
        let late = [sections, at(DELAY, 1, 500.0), at(DELAY, 64, 3300.0)].concat();
        assert_eq!(complaints(&late).len(), 1);
    }

    #[test]
    fn a_curve_above_the_bound_is_found() {
        assert!(complaints(&measured(&[(1, 2500.0)])).is_empty());
        assert_eq!(complaints(&measured(&[(1, 2501.0)])).len(), 1);
    }
}
