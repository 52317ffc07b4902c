//! The scheduler.
//!
//! Threads that can run now are in the ready queues (`ready`). Threads that wait for a replenishment are in
//! the release queues (`release`), and stay there when it is due, until the scheduler picks them. The current
//! thread is in neither. While the kernel works it only notes what should happen ([`Decision`]); the choice
//! is made once, at the end of the kernel entry (`decide`). Time is charged at entry and at the choice
//! (`charge`). The timer is programmed for events that can change which thread runs (`timer_deadline`). What
//! follows from the end of a budget, a limit or a timer is in the module `entry`.

mod charge;
mod criticality;
mod decide;
mod defer;
mod domain;
mod entry_log;
mod exclusive;
mod idle;
mod limit;
mod lookup;
mod membership;
mod ready;
mod release;
mod remote;
mod scheduler;
mod timer;
mod timer_deadline;
mod usage;
pub mod work;

use crate::arch::Arch;
use crate::config::QUEUES_SIZE;
use crate::object::{SchedContext, Thread};
use crate::time::Ticks;
use crate::token::Ptr;

pub(crate) use charge::{Budget, Spent};
#[cfg(any(test, feature = "invariants"))]
pub(crate) use criticality::band;
pub(crate) use defer::Funding;
use domain::DomainTime;
pub(crate) use membership::Readiness;
pub(crate) use ready::ReadyQueues;
use release::ReleaseQueues;
pub use scheduler::Scheduler;
pub(crate) use timer_deadline::{PreemptionRank, TimerDeadline};
pub(crate) use usage::EntryReason;
use usage::Measurement;

pub use crate::config::{BIG_LOCK, CORES};
pub use exclusive::Exclusive;

/// The decision that is left for the end of the kernel entry.
pub enum Decision<A: Arch> {
    /// Continue with the current thread.
    Resume,
    /// A possible switch to one thread, which is compared with the current one. It is in no queue.
    Candidate(Ptr<Thread<A>>),
    /// Choose among all threads.
    Choose,
}

copyable!([A: Arch] Decision<A>);

/// The scheduling state of one core. The fields that fast paths in assembly use come first, and the queues
/// after all small fields, because the immediate offsets of Arm's loads and stores are short.
#[repr(C)]
pub struct Core<A: Arch> {
    /// The budget check threshold, compared with `consumed`.
    pub(crate) check_threshold: Ticks,
    /// The time of this kernel entry.
    pub now: Ticks,
    pub(crate) timer_deadline: TimerDeadline,
    /// The thread that this core runs; `None` while it idles.
    pub current: Option<Ptr<Thread<A>>>,
    /// The current scheduling context: the one that is charged.
    pub current_context: Option<Ptr<SchedContext<A>>>,
    /// Time consumed by the current context and not charged yet.
    pub consumed: Ticks,
    /// The number of this core.
    pub id: usize,
    /// If the current thread repeats a deferred send: the total consumed of its context when it was deferred.
    pub again: Option<u64>,
    /// The decision for the end of this entry.
    pub decision: Decision<A>,
    /// Whether the timer must be programmed again, because the current context or its budget changed, the
    /// domain changed, or the timer fired.
    pub reprogram: bool,
    /// Whether the address space or registers of the current thread were changed, so that the architecture
    /// must load them again.
    pub reload: bool,
    /// The criticality level; see `criticality`.
    pub level: u8,
    /// Whether any thread has stopped with a fault that no handler received.
    pub unhandled_fault: bool,
    /// Whether a timeout message is being sent. The timeout of a handler that it wakes is not reported as well:
    /// handlers may have handlers, in a chain of any length.
    pub(crate) reports_timeout: bool,
    /// Whether a fault is being sent that its thread will not raise again, so that no endpoint threshold defers it.
    pub(crate) raises_once: bool,
    /// Whether entries are measured or traced; see `usage`.
    is_observed: bool,
    /// How many badge cancellations have begun; see `invoke::cancel_badged`.
    pub(crate) cancels: u64,
    domain: DomainTime,
    pub(crate) ready: ReadyQueues<A>,
    pub(crate) release: ReleaseQueues<A>,
    measurement: Measurement,
}

impl<A: Arch> Core<A> {
    /// Makes an idle core in place, field by field: the queues are too large for the kernel stack.
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
                check_threshold: Ticks::NEVER,
                again: None,
                decision: Decision::Resume,
                reprogram: true,
                reload: true,
                level: 0,
                unhandled_fault: false,
                reports_timeout: false,
                raises_once: false,
                is_observed: false,
                cancels: 0,
                timer_deadline: TimerDeadline::NONE,
                domain: DomainTime::new(),
                measurement: Measurement::default(),
            } and ready, release);
            const {
                let size = size_of::<ReadyQueues<A>>() + size_of::<ReleaseQueues<A>>();
                assert!(CORES * size <= QUEUES_SIZE);
            }
            ReadyQueues::make_at(&raw mut (*place).ready);
            ReleaseQueues::make_at(&raw mut (*place).release);
        }
    }

    /// The current domain.
    pub fn current_domain(&self) -> u8 {
        self.domain.current()
    }
}
