//! Busy loops.

use userlib::arch::nops;
use userlib::time::Clock;
use userlib::{Microseconds, Startup};

/// One iteration of a busy loop.
///
/// On one core it gives the processor no hint: an emulator ends its turn at each, which makes such a loop
/// fifty times slower. An emulator that runs several cores in turn needs the hint to run the others.
pub fn relax() {
    nops();
    if abi::config::SMP {
        userlib::arch::relax();
    }
}

/// Runs for ever.
pub fn spin() -> ! {
    loop {
        relax();
    }
}

/// Runs until a time.
pub fn spin_until(clock: &Clock, end: Microseconds) {
    while clock.now() < end {
        nops();
    }
}

/// Runs until so much time has passed.
pub fn spin_for(clock: &Clock, time: Microseconds) {
    spin_until(clock, clock.now() + time);
}

/// The same with the clock that the parent gave.
pub fn work(startup: &'static Startup, time: Microseconds) {
    spin_for(&Clock::from_startup(startup), time);
}
