//! Calibration: measuring the frequency of one counter by another.

use calibration::{Calibration, Reading, Reference};

const MEGAHERTZ: u64 = 1_000_000;
/// The error that is small enough for the nearest megahertz.
const ENOUGH: u64 = MEGAHERTZ / 5;

/// The frequency of `counter` to the nearest megahertz, measured by a counter of 32 bits that counts up, `frequency` times a
/// second. Takes 200 µs or more.
///
/// # Panics
/// If the latter does not count.
pub(super) fn measure(
    counter: &dyn Fn() -> u64,
    reference: &dyn Fn() -> u32,
    frequency: u32,
) -> u64 {
    let read = || Reading::at_change(counter, reference);
    let reference = Reference {
        frequency: frequency.into(),
        last: u32::MAX,
        at_change: true,
        shortest: frequency / 5_000,
        longest: frequency / 50,
    };
    let measured = Calibration::begin(&read).and_then(|it| it.end(&reference, ENOUGH, &read));
    let Some(measured) = measured else {
        panic!(
            "cannot calibrate the processor's timer: the timer that counts the crystal does not count"
        );
    };
    (measured.hertz + MEGAHERTZ / 2) / MEGAHERTZ * MEGAHERTZ
}
