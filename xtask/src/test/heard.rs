//! The entries of a kernel's log that arrive while tests run.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::log::Entry;

/// The beginning of all lines, before the number of a core.
const CORE: &str = "core ";

/// The entries received so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Heard(Arc<Mutex<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    /// Cores with at least one line.
    cores: BTreeSet<u32>,
    /// Damaged frames, and lines without the number of a core.
    damaged: usize,
}

impl Heard {
    /// Receives an entry of a log.
    pub(super) fn take(&self, entry: &Entry) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match core_of(entry) {
            Some(core) => {
                counted.cores.insert(core);
            }
            None => counted.damaged += 1,
        }
    }

    /// The complaint about the log of a run on `cores` cores.
    pub(super) fn complaint(&self, cores: u32) -> Option<String> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let heard: Vec<_> = counted.cores.iter().copied().collect();
        if counted.damaged > 0 {
            Some(format!("{} frames of the log are damaged", counted.damaged))
        } else if !heard.iter().copied().eq(0..cores) {
            Some(format!("of {cores} cores the log has lines of {heard:?}"))
        } else {
            None
        }
    }
}

/// The number of the core in an undamaged line.
fn core_of(entry: &Entry) -> Option<u32> {
    let Entry::Line(line) = entry else {
        return None;
    };
    // A time stamp and the level come before it.
    let (_, rest) = line.split_once(CORE)?;
    rest.split_once(':')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(lines: &[&str]) -> Heard {
        let heard = Heard::default();
        for line in lines {
            heard.take(&Entry::Line((*line).to_string()));
        }
        heard
    }

    #[test]
    fn each_core_must_be_heard() {
        let lines = ["17 DEBUG core 0: run 0x10 (decide.rs:3)", "core 1: run 0x0"];
        assert_eq!(heard(&lines).complaint(2), None);
        let complaint = heard(&lines[..1]).complaint(2).unwrap();
        assert_eq!(complaint, "of 2 cores the log has lines of [0]");
        assert!(heard(&[]).complaint(1).is_some());
    }

    #[test]
    fn damage_is_told() {
        let heard = heard(&["core 0: run 0x10", "core \u{1}: run", "run 0x10"]);
        heard.take(&Entry::Damage);
        let complaint = heard.complaint(1).unwrap();
        assert_eq!(complaint, "3 frames of the log are damaged");
    }
}
