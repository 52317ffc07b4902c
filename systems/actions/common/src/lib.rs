//! What several components use: the protocol of the clerk, and work of a known length.
#![no_std]
#![forbid(unsafe_code)]

use userlib::Microseconds;
use userlib::time::Clock;

userlib::protocol! {
    /// Work that is done for a client.
    pub mod requests, version 1 {
        /// Works for so long.
        fn work(time: Microseconds);
    }
}

/// Keeps the processor busy until so much time has passed.
pub fn work(clock: &Clock, time: Microseconds) {
    let begin = clock.now();
    while clock.now() - begin < time {}
}
