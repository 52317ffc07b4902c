//! Busy loops.

/// One iteration of a busy loop.
///
/// On one core it gives the processor no hint: an emulator ends its turn at each, which makes such a loop
/// fifty times slower. An emulator that runs several cores in turn needs the hint to run the others.
pub fn relax() {
    if abi::config::SMP {
        userlib::arch::relax();
    } else {
        core::hint::black_box(());
    }
}

/// Runs for ever.
pub fn spin() -> ! {
    loop {
        relax();
    }
}
