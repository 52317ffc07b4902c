//! Synthetic load of a known length, for programs that only simulate work.

use super::{Clock, Microseconds};
use crate::arch::{nops, relax};

/// After so many microseconds of work another core may have its turn.
const PIECE: u64 = 20;

/// A loop that does nothing, with its speed on this processor.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    rounds_in_a_millisecond: u64,
}

impl Load {
    /// Calibrates the loop. Preemption by other threads during the measurement makes it seem slower.
    pub fn calibrate(clock: &Clock) -> Self {
        // Long enough for a clock of microseconds on a fast processor.
        const ENOUGH: u64 = 500;
        // Caches, and the translations of an emulator, are filled before.
        turn(100);
        let mut rounds = 1_000;
        loop {
            let start = clock.now();
            turn(rounds);
            let took = (clock.now() - start).0;
            if took >= ENOUGH {
                let rounds_in_a_millisecond = rounds * 1000 / took;
                return Self {
                    rounds_in_a_millisecond,
                };
            }
            rounds *= 2;
        }
    }

    /// Calibrates the loop several times, and takes the fastest result: for a thread that is preempted again and again,
    /// such as one in turns of domains.
    pub fn calibrate_often(clock: &Clock) -> Self {
        const TIMES: usize = 8;
        let all = core::iter::repeat_with(|| Self::calibrate(clock)).take(TIMES);
        let rounds = all.map(|load| load.rounds_in_a_millisecond);
        Self {
            rounds_in_a_millisecond: rounds.max().unwrap_or(1),
        }
    }

    /// Keeps the processor busy until this thread has used so much execution time.
    pub fn work(self, time: Microseconds) {
        turn(time.0 * self.rounds_in_a_millisecond / 1000);
    }

    /// The same while other cores have something to do, too. An emulator in virtual time runs one core until that waits, or
    /// hints that it does; so this hints every 20 microseconds.
    pub fn work_in_turns(self, time: Microseconds) {
        for _ in 0..time.0 / PIECE {
            self.work(Microseconds(PIECE));
            relax();
        }
    }
}

/// Not a spin loop hint: on it, emulators pause for much longer than a processor does. Never inlined, so that
/// an iteration takes the same time for all callers.
#[inline(never)]
fn turn(rounds: u64) {
    for _ in 0..rounds {
        nops();
    }
}
