//! Using time up.

/// One turn of a loop that waits, or that only uses time up.
///
/// On one core there is no hint to the processor: an emulator ends a turn at each, which makes such a loop
/// fifty times slower. Where an emulator's cores take turns, it is what lets the others go on.
pub fn relax() {
    if abi::config::SMP {
        userlib::arch::relax();
    } else {
        core::hint::black_box(());
    }
}

/// Uses time up for ever.
pub fn spin() -> ! {
    loop {
        relax();
    }
}
