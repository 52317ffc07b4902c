//! Who runs.
//!
//! Threads that could run now stand in the ready queues (`ready`), those that wait for time in the
//! release queues (`release`), where they stay when it has come until the processor turns to them; the
//! current thread stands in neither. While the kernel works it only notes what should happen
//! ([`Decision`]); the choice is made once, at the end of the kernel entry (`decide`), and time is
//! accounted for at entry and at the choice (`charge`). The timer is armed for what can change who
//! runs (`alarm`).

mod alarm;
mod charge;
mod criticality;
mod decide;
mod defer;
mod domain;
#[cfg(feature = "bench")]
mod entry_log;
mod idle;
mod membership;
mod ready;
mod release;
mod usage;
pub mod work;

use crate::arch::Arch;
use crate::ipc::Parcels;
use crate::object::{SchedContext, Thread};
use crate::time::Ticks;
use crate::token::Ptr;

pub(crate) use alarm::Alarm;
pub(crate) use alarm::level;
pub(crate) use charge::Standing;
#[cfg(any(test, feature = "invariants"))]
pub(crate) use criticality::band;
pub(crate) use defer::Funding;
use domain::DomainTime;
pub(crate) use ready::ReadyQueues;
use release::ReleaseQueues;
pub(crate) use usage::Entry;
use usage::Measurement;
pub use usage::Usage;

pub use crate::cores::{BIG_LOCK, CORES};

/// What the end of the kernel entry shall do.
pub enum Decision<A: Arch> {
    /// Go on with the current thread.
    Resume,
    /// One thread was offered: it is compared with the current one. It is in no queue.
    Candidate(Ptr<Thread<A>>),
    /// Choose among all.
    Choose,
}

impl<A: Arch> Clone for Decision<A> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A: Arch> Copy for Decision<A> {}

/// What belongs to one core. What fast paths in assembly look at stands first.
#[repr(C)]
pub struct Core<A: Arch> {
    /// What it may use, counted like `consumed`, without being looked at.
    pub(crate) allowance: Ticks,
    /// The time of this kernel entry.
    pub now: Ticks,
    pub(crate) alarm: Alarm,
    /// The thread that it runs; `None`: it idles.
    pub current: Option<Ptr<Thread<A>>>,
    /// The scheduling context that pays.
    pub current_context: Option<Ptr<SchedContext<A>>>,
    pub(crate) ready: ReadyQueues<A>,
    /// Its number.
    pub id: usize,
    /// What the current context has used and was not charged for yet.
    pub consumed: Ticks,
    /// If the current thread sends again what it had too little time for: the odometer of its context when
    /// it began to wait.
    pub again: Option<u64>,
    /// What the end of this entry shall do.
    pub decision: Decision<A>,
    /// Whether the timer must be armed anew, because another context pays or its budget changed, the
    /// domain's turn changed, or the timer fired.
    pub reprogram: bool,
    /// Whether the address space or registers of the current thread were changed under it, so that
    /// the architecture must load them again.
    pub reload: bool,
    /// The level of criticality; see `criticality`.
    pub level: u8,
    /// Whether any thread stopped with a fault that nobody handles.
    pub unhandled_fault: bool,
    /// Work since somebody looked last at what else waits, and levels of capability spaces walked
    /// through, which are work, too; see [`work`].
    work: usize,
    levels: core::cell::Cell<usize>,
    /// What was found for the messages that are about to be transferred.
    pub(crate) parcels: Parcels<A>,
    /// How many ways through the senders of endpoints have begun; see `ipc::sweep`.
    pub(crate) sweeps: u64,
    pub(crate) release: ReleaseQueues<A>,
    domain: DomainTime,
    measurement: Measurement,
}

impl<A: Arch> Core<A> {
    /// Makes a core that idles and has nothing to run, piece by piece where it shall be: the queues are too
    /// large for the stack of a kernel.
    ///
    /// # Safety
    /// `place` can be written to.
    pub(crate) unsafe fn make_at(place: *mut Self, id: usize) {
        // SAFETY: the caller's promise, for each field.
        unsafe {
            make_fields!(place, {
                id: id,
                current: None,
                current_context: None,
                now: Ticks::ZERO,
                consumed: Ticks::ZERO,
                allowance: Ticks::NEVER,
                again: None,
                decision: Decision::Resume,
                reprogram: true,
                reload: true,
                level: 0,
                unhandled_fault: false,
                work: 0,
                levels: core::cell::Cell::new(0),
                parcels: Parcels::NONE,
                sweeps: 0,
                alarm: Alarm::NONE,
                domain: DomainTime::new(),
                measurement: Measurement::new(),
            } and ready, release);
            ReadyQueues::make_at(&raw mut (*place).ready);
            ReleaseQueues::make_at(&raw mut (*place).release);
        }
    }

    /// The domain whose turn it is.
    pub fn current_domain(&self) -> u8 {
        self.domain.current()
    }
}
