//! The schedule of domains.

use system_table::{Table, Turn};
use userlib::time::ticks_per_second;
use userlib::{BootInfo, Error, Result, boot};

/// Whether there is a schedule.
pub fn has_domains(table: &Table) -> bool {
    table.turns().next().is_some()
}

/// Starts the schedule, if there is one, and moves the initialiser to the supervisor's domain. Components are in their
/// domains, and not started yet: before, domain 0 has the whole of each core.
pub fn start(boot: &'static BootInfo, table: &Table) -> Result {
    const UNKNOWN: Error = Error::BadProgram("the frequency of the kernel's clock is not known");
    if !has_domains(table) {
        return Ok(());
    }
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
