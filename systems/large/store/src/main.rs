//! Writes and reads all of its memory: 8 MiB of variables, 24 MiB of heap, and 4 MiB that it shares. It fails when all of it is
//! in use. After its restart, its variables and its heap are as they were at its start.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

userlib::component!(main);

const WORD: usize = size_of::<usize>();

/// Its variables.
static VARIABLES: [AtomicUsize; (8 << 20) / WORD] =
    [const { AtomicUsize::new(0) }; (8 << 20) / WORD];

/// Bytes of its heap, and of each piece that it allocates there.
const HEAP: usize = 24 << 20;
const PIECE: usize = 64 << 10;

fn main(given: Given) {
    // Shared memory is as it was before a restart.
    let start = given.pages[0].fetch_add(1, Relaxed) + 1;
    for (index, word) in VARIABLES.iter().enumerate() {
        assert!(word.swap(index + 1, Relaxed) == 0, "variables begin as 0");
    }
    let pieces = fill_heap();
    assert!(pieces.len() + 1 >= HEAP / PIECE, "all of the heap is used");
    for (index, word) in given.pages.iter().enumerate().skip(1) {
        word.store(index * start, Relaxed);
    }
    for (index, word) in VARIABLES.iter().enumerate() {
        assert!(word.load(Relaxed) == index + 1, "variables stay");
    }
    for (index, piece) in pieces.iter().enumerate() {
        assert!(piece.iter().all(|&word| word == index), "the heap stays");
    }
    assert!(start > 1, "the store fails");
    given.full.signal();
}

/// Allocates all of the heap, in pieces that contain their number.
fn fill_heap() -> Vec<Vec<usize>> {
    let mut pieces = Vec::with_capacity(HEAP / PIECE);
    loop {
        let mut piece = Vec::new();
        if piece.try_reserve_exact(PIECE / WORD).is_err() {
            return pieces;
        }
        piece.resize(PIECE / WORD, pieces.len());
        pieces.push(piece);
    }
}
