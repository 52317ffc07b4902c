//! I/O ports: issuing ranges of them, and what a range allows.

use crate::check;
use crate::support::{Outcome, Test};

tests![time_passes];

fn time_passes(test: &mut Test) -> Outcome {
    let before = test.now();
    check!(test.now() >= before);
    Ok(())
}
