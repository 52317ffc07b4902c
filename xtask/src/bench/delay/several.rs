//! The requirements of the suite `delay` with several cores: the wait of one core for another, and the total
//! delay of the high-priority thread, have bounds.

use super::verdict::{BOUND, curves};
use super::{DELAY, SUITE, WAITING, cores_of};
use crate::bench::measurement::{Measurement, number};

/// The scenarios with capability addresses of the maximum number of levels. A core in exclusive mode does not
/// interrupt such a lookup for other cores.
const FAR: [&str; 2] = ["deep lookups", "capability transfer"];
/// The additional duration of such a system call: the lookups for a message with three capabilities, about 425 levels
/// of 30 instructions on x86-64, which takes the most.
const LOOKUPS: f64 = 12_800.0;

/// The longest wait of a core in one of its sections: if it takes the entry lock, for one section of each
/// other core.
pub(super) fn longest_wait(scenario: &str, cores: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "there are not that many")]
    let others = (cores - 1) as f64;
    let lookups = if FAR.contains(&scenario) {
        LOOKUPS
    } else {
        0.0
    };
    others * (BOUND + lookups)
}

/// Values that are too large. With one core there are no bounds here.
pub(super) fn complaints(measured: &[Measurement]) -> Vec<String> {
    let cores = measured.iter().filter(|one| one.suite == SUITE);
    let cores = cores.map(cores_of).max().unwrap_or(1);
    if cores == 1 {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    for kind in [WAITING, DELAY] {
        for curve in curves(measured, kind) {
            let wait = longest_wait(curve.name, cores);
            // Two sections: the one in which the interrupt arrives, and the one that it begins. Each may have
            // to wait.
            let bound = if kind == DELAY {
                2.0 * (BOUND + wait)
            } else {
                wait
            };
            let too_long = curve.points.iter().filter(|(_, value)| *value > bound);
            complaints.extend(too_long.map(|(attackers, value)| {
                format!(
                    "{SUITE}/{}{kind}: with {attackers} attackers on another of {cores} cores {} \
                     instructions, more than {}",
                    curve.name,
                    number(*value),
                    number(bound)
                )
            }));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::delay::verdict;
    use serde_json::{Map, json};

    /// One measurement with 16 attackers.
    fn measured(kind: &str, cores: u64, value: f64) -> Vec<Measurement> {
        of("storm", kind, cores, value)
    }

    fn of(scenario: &str, kind: &str, cores: u64, value: f64) -> Vec<Measurement> {
        let parameters = [("attackers", json!(16)), ("cores", json!(cores))];
        let parameters = Map::from_iter(parameters.map(|(name, value)| (name.to_string(), value)));
        let operation = format!("{scenario}{kind}");
        vec![Measurement::new(SUITE, &operation, parameters, "instructions", &[value]).unwrap()]
    }

    #[test]
    fn a_deep_lookup_is_performed_in_exclusive_mode() {
        let far = |value| complaints(&of("deep lookups", WAITING, 2, value)).len();
        assert_eq!((far(3000.0 + LOOKUPS), far(3001.0 + LOOKUPS)), (0, 1));
    }

    #[test]
    fn a_core_waits_for_one_piece_of_each_other() {
        assert!(complaints(&measured(WAITING, 2, 3000.0)).is_empty());
        assert_eq!(complaints(&measured(WAITING, 2, 3001.0)).len(), 1);
        assert!(complaints(&measured(WAITING, 3, 6000.0)).is_empty());
    }

    #[test]
    fn a_delay_is_two_sections_that_may_wait() {
        let at_most = measured(DELAY, 2, 12000.0);
        assert!(verdict::complaints(&at_most).is_empty());
        let too_long = verdict::complaints(&measured(DELAY, 2, 12001.0));
        assert_eq!(
            too_long,
            [
                "delay/storm: delay: with 16 attackers on another of 2 cores 12001 instructions, \
              more than 12000"
            ]
        );
    }

    #[test]
    fn one_core_waits_for_no_other() {
        assert!(complaints(&measured(DELAY, 1, 20000.0)).is_empty());
    }
}
