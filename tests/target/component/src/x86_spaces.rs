//! Address spaces of x86-64: paging structures and the checks of each method in their order.

use crate::check;
use crate::support::{Outcome, Test};

tests![time_passes];

fn time_passes(test: &mut Test) -> Outcome {
    let before = test.now();
    check!(test.now() >= before);
    Ok(())
}
