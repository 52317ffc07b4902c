//! Domains: time partitions.

use super::{Capability, Tcb, capability};
use crate::Result;
use crate::invoke::{label, perform};

capability! {
    /// The right to assign threads to domains and to change the domain schedule.
    DomainSet
}

impl DomainSet {
    /// Assigns a thread to a domain.
    pub fn set(self, domain: usize, thread: Tcb) -> Result {
        perform(self.0, label!(DomainSetSet), &[domain], &[thread.cptr()])
    }

    /// Sets entry `index` of the schedule: `ticks` of the kernel's clock for `domain`. An entry for domain 0
    /// with zero ticks marks the end.
    pub fn configure_schedule(self, index: usize, domain: usize, ticks: u64) -> Result {
        let ticks = crate::Microseconds(ticks).words();
        let words = [index, domain, ticks[0], *ticks.last().unwrap_or(&0)];
        let length = 2 + ticks.len();
        perform(
            self.0,
            label!(DomainScheduleConfigure),
            &words[..length],
            &[],
        )
    }

    /// Restarts the schedule at entry `index`, now and after each end.
    pub fn set_schedule_start(self, index: usize) -> Result {
        perform(self.0, label!(DomainScheduleSetStart), &[index], &[])
    }
}
