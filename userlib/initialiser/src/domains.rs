//! The schedule of domains.

use system_table::{Table, Turn};
use userlib::time::ticks_per_second;
use userlib::{BootInfo, Error, Result, boot};

/// Sets the turns, lets the first one begin, and puts the supervisor into its domain. All components are in their
/// domains and have been started: each begins in the first turn of its domain.
pub fn start(boot: &'static BootInfo, table: &Table) -> Result {
    const UNKNOWN: Error = Error::BadProgram("the frequency of the kernel's clock is not known");
    let frequency = ticks_per_second(boot).ok_or(UNKNOWN)?;
    let mut end = 0;
    for (index, Turn { domain, duration }) in table.turns().enumerate() {
        // Turns end at whole ticks, of which none is lost or gained in a whole schedule.
        let begin = ticks(end, frequency);
        end += duration;
        let length = ticks(end, frequency) - begin;
        boot::DOMAIN.configure_schedule(index, domain.into(), length)?;
    }
    boot::DOMAIN.set_schedule_start(0)?;
    // Not before: its domain might have no turn yet.
    boot::DOMAIN.set(table.supervisor().domain.into(), boot::TCB)
}

/// The number of ticks in so many microseconds.
fn ticks(microseconds: u64, frequency: u64) -> u64 {
    let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
    seconds * frequency + rest * frequency / 1_000_000
}
