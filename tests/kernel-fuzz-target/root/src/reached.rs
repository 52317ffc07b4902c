//! The methods that the hostile component has tried, and those that succeeded.

use core::sync::atomic::Ordering::Relaxed;
use hostility::arch::NEVER;
use hostility::ledger::{Ledger, METHODS, Word, method};
use userlib::println;

use crate::campaign::Failure;

/// Sums over all rounds and campaigns.
pub struct Reached {
    tried: [usize; METHODS],
    succeeded: [usize; METHODS],
    /// The hostile component's maximum stack use, in bytes.
    pub stack: usize,
}

impl Reached {
    /// The name under which the sums are reported.
    pub const NAME: &str = "every_method_is_reached";

    /// Sums of zero.
    pub const fn new() -> Self {
        Self {
            tried: [0; METHODS],
            succeeded: [0; METHODS],
            stack: 0,
        }
    }

    /// Adds the counts of a round.
    pub fn add(&mut self, ledger: Ledger) {
        self.stack = self.stack.max(ledger.get(Word::Stack));
        for method in 0..METHODS {
            self.tried[method] += ledger.tried(method).load(Relaxed);
            self.succeeded[method] += ledger.succeeded(method).load(Relaxed);
        }
    }

    /// Prints the sums, and fails unless all methods have been tried, and have succeeded where they can.
    pub fn judge(&self) -> Result<(), Failure> {
        let mut missed = None;
        // Number 0 is not a method.
        for number in 1..METHODS {
            let Some(method) = method(number) else {
                continue;
            };
            let (tried, succeeded) = (self.tried[number], self.succeeded[number]);
            println!("fuzz: {method:?} succeeded {succeeded} of {tried} times");
            if (tried == 0 || succeeded == 0) && !NEVER.contains(&method) {
                missed = Some(method);
            }
        }
        match missed {
            None => Ok(()),
            Some(method) => Err(Failure::Missed(method)),
        }
    }
}
