//! Work of a known length, for programs that only play having something to do.

use super::{Clock, Microseconds};

/// A loop that does nothing, and how fast this processor does it.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    rounds_in_a_millisecond: u64,
}

impl Load {
    /// Measures the loop. Whoever else runs meanwhile makes it seem slower.
    pub fn calibrate(clock: &Clock) -> Self {
        const ROUNDS: u64 = 200_000;
        let start = clock.now();
        turn(ROUNDS);
        let took = (clock.now() - start).0.max(1);
        Self {
            rounds_in_a_millisecond: ROUNDS * 1000 / took,
        }
    }

    /// Keeps the processor busy until so much time of it is used.
    pub fn work(self, time: Microseconds) {
        turn(time.0 * self.rounds_in_a_millisecond / 1000);
    }
}

/// Not a spin loop: emulators pause for long where a processor would pause for a moment. Never inlined:
/// a round costs the same wherever it is wanted.
#[inline(never)]
fn turn(rounds: u64) {
    for round in 0..rounds as usize {
        core::hint::black_box(round);
    }
}
