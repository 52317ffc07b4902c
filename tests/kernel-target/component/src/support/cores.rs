//! Threads on several cores.

use core::ops::Range;

use super::protocol::names;
use super::{Outcome, SLICE, Test, ms};
use userlib::cap::{SchedContext, SchedControl, SchedParameters};
use userlib::{Result, Thread};

/// How often a test checks whether another core has done something; before each check it sleeps for [`NAP`].
const LOOKS: usize = 200;
const NAP: userlib::Microseconds = ms(2);

impl Test {
    /// The cores other than the first, on which the test itself runs; no more than tests need.
    pub fn secondary_cores(&self) -> Range<usize> {
        1..self.boot_info().nodes.min(names::SCHED_CONTROLS.len() + 1)
    }

    /// Whether there are four cores, which some tests need.
    pub fn has_four_cores(&self) -> bool {
        self.boot_info().nodes >= 4
    }

    /// The capability to configure scheduling contexts of a core.
    pub fn control_of(&self, core: usize) -> SchedControl {
        match core.checked_sub(1) {
            None => self.sched_control,
            Some(secondary) => self.startup.capability(names::SCHED_CONTROLS[secondary]),
        }
    }

    /// A new scheduling context of a core.
    pub fn time_on(&mut self, core: usize, time: &SchedParameters) -> Result<SchedContext> {
        let context = self.create_sched_context(time)?;
        self.control_of(core).configure(context, time)?;
        Ok(context)
    }

    /// Makes a thread of a core, with the given scheduling parameters.
    pub fn timed_on<F: FnOnce() + Send + 'static>(
        &mut self,
        core: usize,
        priority: u8,
        time: SchedParameters,
        work: F,
    ) -> Result<Thread> {
        let thread = self.timed(priority, time, work)?;
        self.control_of(core)
            .configure(thread.sched_context, &time)?;
        Ok(thread)
    }

    /// Makes a thread of a core and starts it.
    pub fn spawn_on<F: FnOnce() + Send + 'static>(
        &mut self,
        core: usize,
        priority: u8,
        work: F,
    ) -> Result<Thread> {
        let thread = self.timed_on(core, priority, SLICE, work)?;
        thread.start()?;
        Ok(thread)
    }

    /// Makes a passive thread that waits; see [`Test::spawn_passive`]. Its first scheduling context is of
    /// `core`.
    pub fn spawn_passive_on<F: FnOnce() + Send + 'static>(
        &mut self,
        core: usize,
        priority: u8,
        work: F,
    ) -> Outcome<Thread> {
        let thread = self.passive(priority, work)?;
        let time = self.time_on(core, &SLICE)?;
        time.bind(thread.tcb)?;
        thread.start()?;
        self.sleep(ms(5))?;
        time.unbind_object(thread.tcb)?;
        Ok(thread)
    }

    /// Whether a condition becomes true within `LOOKS` checks.
    pub fn comes_true(&mut self, mut what: impl FnMut() -> bool) -> Result<bool> {
        for _ in 0..LOOKS {
            if what() {
                return Ok(true);
            }
            self.sleep(NAP)?;
        }
        Ok(what())
    }
}
