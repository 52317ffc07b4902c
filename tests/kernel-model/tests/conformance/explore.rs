//! All short histories of small systems.
//!
//! Every possible action of the running thread and of the root task is tried in every state, in the
//! kernel and in the model. A state that was reached before with at least as many remaining steps is
//! not searched again; states are distinguished by the model, with times relative to now, and without
//! registers and consumed time, on which nothing later depends. `EXPLORE_DEPTH` is the length of a
//! history.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use kernel_model::Model;

use crate::system::{Step, System};

struct Search {
    system: System,
    /// States, with the number of remaining steps.
    seen: HashMap<u64, usize>,
    histories: u64,
    path: Vec<Step>,
}

impl Search {
    /// Searches all histories of that many steps, and returns their number.
    fn all(system: System, depth: usize) -> u64 {
        let begin = Instant::now();
        let mut search = Self { system, seen: HashMap::new(), histories: 0, path: Vec::new() };
        search.search(depth);
        println!(
            "depth {depth}, {} steps to choose from: {} histories, {} states, {:.1} s",
            search.system.steps.len(),
            search.histories,
            search.seen.len(),
            begin.elapsed().as_secs_f64(),
        );
        search.histories
    }

    fn search(&mut self, depth: usize) {
        let before = (self.system.pair.machine.snapshot(), self.system.pair.model.clone());
        for step in self.system.steps.clone() {
            self.path.push(step);
            if self.system.perform(step) {
                self.histories += 1;
                if let Err(difference) = self.system.pair.follow() {
                    panic!("{difference}");
                }
                let state = state(&self.system.pair.model);
                let known = self.seen.get(&state).is_some_and(|left| *left >= depth - 1);
                if !known {
                    self.seen.insert(state, depth - 1);
                    if depth > 1 {
                        self.search(depth - 1);
                    }
                }
            } else {
                // The model refuses it as well.
                self.system.pair.follow().unwrap();
            }
            self.path.pop();
            self.system.pair.machine.restore(&before.0);
            self.system.pair.model = before.1.clone();
        }
    }
}

/// The history after which the kernel itself has found a violation.
impl Drop for Search {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("after {:?}", self.path);
        }
    }
}

/// A hash of the state.
fn state(model: &Model) -> u64 {
    let mut model = model.clone();
    let now = std::mem::take(&mut model.now);
    for context in &mut model.contexts {
        context.consumed = 0;
        for (time, _) in context.refills.iter_mut().flat_map(|refills| &mut refills.list) {
            *time = time.wrapping_sub(now);
        }
    }
    for (time, _) in &mut model.starved {
        *time = time.wrapping_sub(now);
    }
    for thread in &mut model.threads {
        (thread.badge, thread.label, thread.words) = (0, 0, Vec::new());
        if !thread.calls_next && !thread.called_last {
            thread.call = Default::default();
        }
    }
    let mut hasher = DefaultHasher::new();
    model.hash(&mut hasher);
    hasher.finish()
}

fn depth() -> usize {
    let given = std::env::var("EXPLORE_DEPTH").ok().and_then(|depth| depth.parse().ok());
    given.unwrap_or(3)
}

#[test]
fn all_short_histories_agree() {
    let histories = Search::all(System::plain(), depth());
    assert!(histories > 10_000);
}

/// From the middle of a call chain with limits, where there are more steps to choose from. So histories are
/// shorter; two steps are enough to end a call, and then the one that was joined with it.
#[test]
fn all_short_histories_with_limits_agree() {
    for limits in [[150, 100, 50], [0, 100, 50]] {
        let histories = Search::all(System::chain(limits), depth() * 2 / 3);
        assert!(histories > 1_000);
    }
}
