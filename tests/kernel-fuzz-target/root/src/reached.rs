//! The methods that the hostile component has tried, and those that succeeded.

use core::sync::atomic::Ordering::Relaxed;
use hostility::arch::NEVER;
use hostility::ledger::{Ledger, Word};
use kernel_fuzz_methods::{Count, Counts, METHODS, methods};
use userlib::println;

use crate::campaign::Failure;

/// Sums over all rounds and campaigns.
#[derive(Default)]
pub struct Reached {
    counts: Counts,
    /// The hostile component's maximum stack use, in bytes.
    pub stack: usize,
}

impl Reached {
    /// The name under which the sums are reported.
    pub const NAME: &str = "every_method_is_reached";

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
    }

    /// Prints the sums, and fails unless all methods have succeeded that can.
    pub fn judge(&self) -> Result<(), Failure> {
        for method in methods() {
            let Count { tried, succeeded } = self.counts.of(method);
            println!("fuzz: {method:?} succeeded {succeeded} of {tried} times");
        }
        let mut unreached = self.counts.unreached();
        match unreached.find(|method| !NEVER.contains(method)) {
            None => Ok(()),
            Some(method) => Err(Failure::Missed(method)),
        }
    }
}
