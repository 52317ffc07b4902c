//! Plays histories of calls with limits, and checks that they reach what is difficult.

use kernel_fuzz_host::chain::{chain, moves};
use kernel_fuzz_host::seeds::encode;
use kernel_fuzz_host::{Ledger, play};

const HISTORIES: usize = 300;
const MOVES: usize = 20;

/// Knuth's MMIX generator; the upper half of its state is random enough to choose a move.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        let Self(state) = self;
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % end
    }
}

#[test]
fn chains_with_limits_end_in_all_ways() {
    let (moves, mut random, mut ledger) = (moves(), Random(1), Ledger::default());
    for _ in 0..HISTORIES {
        let mut history = chain();
        for _ in 0..MOVES {
            history.extend(moves[random.below(moves.len())].iter().cloned());
        }
        ledger.add(&play(&encode(&history)));
    }
    println!("of {HISTORIES} histories: {:?}", ledger.limits);
    let limits = ledger.limits;
    let fewest = HISTORIES / 20;
    assert!(limits.failed >= fewest, "{limits:?}");
    assert!(limits.joined >= fewest, "{limits:?}");
    assert!(limits.without_context >= fewest, "{limits:?}");
}
