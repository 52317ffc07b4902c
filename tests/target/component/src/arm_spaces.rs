//! Address spaces of 32-bit Arm: page tables, sizes of frames, and the care of caches.

use crate::check;
use crate::support::{Outcome, Test};

tests![time_passes];

fn time_passes(test: &mut Test) -> Outcome {
    let before = test.now();
    check!(test.now() >= before);
    Ok(())
}
