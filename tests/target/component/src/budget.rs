//! Budgets: what a thread may use in a period, and no more.

use crate::check_eq;
use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, Test};

tests![no_budget_means_no_running];

fn no_budget_means_no_running(test: &mut Test) -> Outcome {
    test.spawn_passive(ABOVE, || note('x'))?;
    test.settle()?;
    check_eq!(noted(), "");
    Ok(())
}
