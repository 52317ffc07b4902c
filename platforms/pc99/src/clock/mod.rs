//! Frequency of the time stamp counter: as the processor or a hypervisor reports it, or else measured by the most exact of
//! the machine's other counters.

mod event_timer;
mod interval_timer;
mod power_timer;

pub use event_timer::EventTimer;
pub use power_timer::PowerTimer;

use calibration::{Calibration, Frequency, Reading, Reference};
use raw_cpuid::{CpuId, CpuIdReaderNative};

const MEGAHERTZ: u64 = 1_000_000;
/// The error that is small enough, as frequencies are rounded to megahertz.
const ENOUGH: u64 = MEGAHERTZ / 5;

/// The counters of the machine that firmware describes.
pub struct Counters {
    /// The high precision event timer.
    pub event_timer: Option<EventTimer>,
    /// The power management timer.
    pub power_timer: Option<PowerTimer>,
}

/// The frequency of the time stamp counter in whole MHz, the unit of the ABI, so that kernel and users
/// convert times equally.
///
/// # Panics
/// If neither processor nor hypervisor reports it and no counter runs by which it could be measured.
#[cfg_attr(target_os = "none", optimize(size))]
pub fn time_stamp_megahertz(counters: impl FnOnce() -> Counters) -> u64 {
    let hertz = reported().unwrap_or_else(|| {
        let Some((source, measured)) = measure(counters()) else {
            panic!("cannot measure the time stamp counter: no reference counter is running");
        };
        say(source, measured);
        measured.hertz
    });
    (hertz + MEGAHERTZ / 2) / MEGAHERTZ
}

/// The frequency in leaf 15H of CPUID (Intel SDM vol. 2), or in leaf 4000_0010H, which hypervisors have in common. The
/// frequency in leaf 16H is that of the processor's specification, and the counter's may differ by some thousandths.
fn reported() -> Option<u64> {
    const KILOHERTZ: u64 = 1000;
    let cpuid = CpuId::with_cpuid_reader(CpuIdReaderNative);
    let by_processor = cpuid.get_tsc_info().and_then(|info| info.tsc_frequency());
    by_processor.or_else(|| {
        let hypervisor = cpuid.get_hypervisor_info()?.tsc_frequency()?;
        Some(u64::from(hypervisor) * KILOHERTZ).filter(|hertz| *hertz >= MEGAHERTZ)
    })
}

/// Measures the time stamp counter by the first counter that counts; returns which one.
#[cfg_attr(target_os = "none", optimize(size))]
fn measure(counters: Counters) -> Option<(&'static str, Frequency)> {
    let by_events = || counters.event_timer?.measure();
    let by_power = || counters.power_timer?.measure();
    let named = |name| move |measured| (name, measured);
    by_events()
        .map(named("high precision event timer"))
        .or_else(|| by_power().map(named("power management timer")))
        .or_else(|| interval_timer::measure().map(named("interval timer")))
}

/// Measures by a counter of this frequency and this largest count: for a millisecond or longer, the shortest time for which a
/// high precision event timer has its specified accuracy, and for at most 20 ms. `None` if it does not count.
#[cfg_attr(target_os = "none", optimize(size))]
fn by(frequency: u64, last: u32, read: &dyn Fn() -> Option<Reading>) -> Option<Frequency> {
    let reference = Reference {
        frequency,
        last,
        at_change: false,
        shortest: (frequency / 1000) as u32,
        longest: (frequency / 50) as u32,
    };
    Calibration::begin(read)?.end(&reference, ENOUGH, read)
}

/// Prints the result in kernels for debugging.
#[cfg_attr(
    not(feature = "debug"),
    expect(unused_variables, reason = "other kernels print nothing")
)]
fn say(source: &str, Frequency { hertz, error }: Frequency) {
    #[cfg(feature = "debug")]
    {
        use core::fmt::Write;
        let mut console = kernel::console::Console::<arch_x86_64::X86_64<crate::Pc99>>::new();
        let _ = writeln!(
            console,
            "the time stamp counter has {} kHz, up to {} kHz off, measured by the {source}",
            hertz / 1000,
            error.div_ceil(1000)
        );
    }
}
