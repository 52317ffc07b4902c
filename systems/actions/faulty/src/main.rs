//! Panics as often as its description says, each time after a while, and ends at its next start.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use userlib::syscall;

userlib::component!(main);

fn main(given: Given) {
    // Shared memory is as it was before a restart.
    if given.starts[0].fetch_add(1, Relaxed) < given.panics {
        // At least a whole period passes.
        syscall::yield_now();
        syscall::yield_now();
        panic!("as the description says");
    }
}
