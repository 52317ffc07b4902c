//! The methods that the hostile component has tried, and those that succeeded.

use abi::Method;
use core::sync::atomic::Ordering::Relaxed;
use hostility::arch::NEVER;
use hostility::ledger::{End, Ledger, Word};
use kernel_fuzz_methods::{Count, Counts, METHODS, methods};
use userlib::println;

use crate::campaign::Failure;
use crate::domains;

/// Sums over all rounds and campaigns.
#[derive(Default)]
pub struct Reached {
    counts: Counts,
    /// Calls with limits that failed, by the reason.
    ended: [usize; End::ALL.len()],
    /// The hostile component's maximum stack use, in bytes.
    pub stack: usize,
}

impl Reached {
    /// The name under which the sums are reported.
    pub const NAME: &str = "every_method_is_reached";
    /// The name of the check of calls with limits.
    pub const LIMITS: &str = "calls_with_limits_end_in_all_ways";

    /// Adds the counts of a round.
    pub fn add(&mut self, ledger: Ledger) {
        self.stack = self.stack.max(ledger.get(Word::Stack));
        for index in 0..METHODS {
            let count = Count {
                tried: ledger.tried(index).load(Relaxed),
                succeeded: ledger.succeeded(index).load(Relaxed),
            };
            self.counts.add(index, count);
        }
        for end in End::ALL {
            self.ended[end as usize] += ledger.ended(end).load(Relaxed);
        }
    }

    /// Prints for what reasons calls with limits have failed, and fails unless there is one for each.
    pub fn judge_limits(&self) -> Result<(), Failure> {
        for end in End::ALL {
            let count = self.ended[end as usize];
            println!("fuzz: {count} calls with limits failed: {end:?}");
        }
        let unreached = |end: &End| self.ended[*end as usize] == 0;
        match End::ALL.into_iter().find(unreached) {
            None => Ok(()),
            Some(end) => Err(Failure::NotEnded(end)),
        }
    }

    /// Prints the sums, and fails unless all methods have succeeded that can.
    pub fn judge(&self) -> Result<(), Failure> {
        for method in methods() {
            let Count { tried, succeeded } = self.counts.of(method);
            println!("fuzz: {method:?} succeeded {succeeded} of {tried} times");
        }
        let mut unreached = self.counts.unreached();
        let is_impossible = |method: &Method| NEVER.contains(method) || domains::withhold(*method);
        match unreached.find(|method| !is_impossible(method)) {
            None => Ok(()),
            Some(method) => Err(Failure::Missed(method)),
        }
    }
}
