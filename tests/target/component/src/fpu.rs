//! Floating point: registers belong to threads, and may be denied.

use crate::check;
use crate::support::{Outcome, Test};

tests![time_passes];

fn time_passes(test: &mut Test) -> Outcome {
    let before = test.now();
    check!(test.now() >= before);
    Ok(())
}
