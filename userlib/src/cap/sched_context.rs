//! Scheduling contexts: the right to execute.

use super::{Capability, Endpoint, Notification, Reply, Tcb, capability};
use crate::invoke::{invoke, label, perform};
use crate::{Message, Microseconds, Received, Result, syscall};
use abi::sched_context_flags::{IDLING, SPORADIC};
use abi::yield_target;

capability! {
    /// A scheduling context. Its size argument is log2 of the size in bytes, which limits the number of its
    /// replenishments.
    SchedContext = (SchedContext, bits -> bits)
}

capability! {
    /// The right to configure scheduling contexts for one core.
    SchedControl
}

/// Parameters of a scheduling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedParameters {
    /// Execution time per period.
    pub budget: Microseconds,
    /// The period. If equal to the budget: round robin.
    pub period: Microseconds,
    /// Replenishments beyond the two that always exist.
    pub extra_refills: usize,
    /// Identifies the context in timeout fault messages.
    pub badge: usize,
    /// Whether replenishments follow wake-ups (sporadic server) instead of switches.
    pub sporadic: bool,
    /// Whether the context is charged while its thread waits at an endpoint.
    pub idling: bool,
}

impl SchedParameters {
    /// `budget` in every `period`.
    pub const fn new(budget: Microseconds, period: Microseconds) -> Self {
        Self {
            budget,
            period,
            extra_refills: 0,
            badge: 0,
            sporadic: false,
            idling: false,
        }
    }

    /// Round robin among threads of equal priority, with timeslices of `slice`.
    pub const fn round_robin(slice: Microseconds) -> Self {
        Self::new(slice, slice)
    }

    /// The same with a badge for timeout faults.
    pub const fn with_badge(self, badge: usize) -> Self {
        Self { badge, ..self }
    }

    /// The same with space for more replenishments.
    pub const fn with_extra_refills(self, extra_refills: usize) -> Self {
        Self {
            extra_refills,
            ..self
        }
    }

    /// log2 of the size in bytes of a scheduling context with space for these replenishments.
    pub const fn size_bits(&self) -> usize {
        let mut bits = abi::sizes::MIN_SCHED_CONTEXT_BITS;
        while abi::sizes::refill_capacity(bits) < self.extra_refills + 2 {
            bits += 1;
        }
        bits
    }

    /// The same as a sporadic server.
    pub const fn sporadic(self) -> Self {
        Self {
            sporadic: true,
            ..self
        }
    }

    /// The same as an idling context: it is charged while its thread waits at an endpoint.
    pub const fn idling(self) -> Self {
        Self {
            idling: true,
            ..self
        }
    }
}

/// State of the thread of a scheduling context that was yielded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YieldTarget {
    /// It is runnable: it was preempted, its timeslice has ended, or it waits for the processor.
    Runnable,
    /// It is blocked on a message, a reply or a signal.
    Blocked,
    /// It waits for budget.
    OutOfTime,
    /// It is suspended, or there is no thread.
    Stopped,
    /// Its timeout fault has not been replied to yet.
    TimedOut,
}

impl From<usize> for YieldTarget {
    fn from(word: usize) -> Self {
        match word {
            yield_target::RUNNABLE => Self::Runnable,
            yield_target::BLOCKED => Self::Blocked,
            yield_target::OUT_OF_TIME => Self::OutOfTime,
            yield_target::TIMED_OUT => Self::TimedOut,
            _ => Self::Stopped,
        }
    }
}

/// The result of [`SchedContext::yield_to_timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yielded {
    /// Time that the context has used since it was last queried.
    pub consumed: Microseconds,
    /// State of its thread.
    pub target: YieldTarget,
    /// The time of the kernel's clock.
    pub now: Microseconds,
}

impl SchedControl {
    /// Sets the parameters of a scheduling context.
    pub fn configure(self, context: SchedContext, parameters: &SchedParameters) -> Result {
        let flag = |set: bool, flag: usize| if set { flag } else { 0 };
        let flags = flag(parameters.sporadic, SPORADIC) | flag(parameters.idling, IDLING);
        self.configure_flags(context, parameters, flags)
    }

    /// Sets the criticality level of this core: from now on threads of that criticality and above run before
    /// all others. At level 0, the initial one, it decides only among preempted threads of one priority. (Escapement)
    pub fn set_criticality_level(self, level: u8) -> Result {
        perform(
            self.0,
            label!(SchedControlSetCriticalityLevel),
            &[level as usize],
            &[],
        )
    }

    /// The same with an arbitrary word of flags.
    pub fn configure_flags(
        self,
        context: SchedContext,
        parameters: &SchedParameters,
        flags: usize,
    ) -> Result {
        const TIME: usize = crate::time::WORDS;
        let mut words = [0; 2 * TIME + 3];
        words[..TIME].copy_from_slice(&parameters.budget.words());
        words[TIME..2 * TIME].copy_from_slice(&parameters.period.words());
        words[2 * TIME] = parameters.extra_refills;
        words[2 * TIME + 1] = parameters.badge;
        words[2 * TIME + 2] = flags;
        perform(
            self.0,
            label!(SchedControlConfigureFlags),
            &words,
            &[context.cptr()],
        )
    }
}

impl SchedContext {
    /// Binds the context to a thread, which then runs on it.
    pub fn bind(self, thread: Tcb) -> Result {
        perform(self.0, label!(SchedContextBind), &[], &[thread.cptr()])
    }

    /// Binds the context to a notification, which lends it to passive threads that it wakes.
    pub fn bind_notification(self, notification: Notification) -> Result {
        perform(
            self.0,
            label!(SchedContextBind),
            &[],
            &[notification.cptr()],
        )
    }

    /// Unbinds the context from its thread and notification.
    pub fn unbind(self) -> Result {
        perform(self.0, label!(SchedContextUnbind), &[], &[])
    }

    /// Unbinds the context from a thread or notification.
    pub fn unbind_object(self, object: impl Capability) -> Result {
        perform(
            self.0,
            label!(SchedContextUnbindObject),
            &[],
            &[object.cptr()],
        )
    }

    /// Time used since it was last queried.
    pub fn consumed(self) -> Result<Microseconds> {
        let answer = invoke(self.0, label!(SchedContextConsumed), &[], &[])?;
        Ok(Microseconds::from_message(&answer, 0))
    }

    /// Makes the thread of this context run now, unless its priority is lower than the caller's; returns the
    /// time that the context has used since it was last queried.
    pub fn yield_to(self) -> Result<Microseconds> {
        Ok(self.yield_to_target()?.0)
    }

    /// The same, and returns the state of the thread, too, which is an extension of Escapement; seL4 leaves
    /// the message word unchanged.
    pub fn yield_to_target(self) -> Result<(Microseconds, YieldTarget)> {
        let answer = invoke(self.0, label!(SchedContextYieldTo), &[], &[])?;
        let consumed = Microseconds::from_message(&answer, 0);
        Ok((consumed, answer.raw_word(answer.length()).into()))
    }

    /// Makes the thread of this context run as [`SchedContext::yield_to`] does, until the time `instant` of
    /// the kernel's clock at the latest: then its timeout handler receives a message. (Escapement)
    ///
    /// If `reply` holds a call or a timeout fault of the thread, it is replied to first, a call with an empty message. With
    /// a time in the past, the call only returns the current time.
    pub fn yield_to_timeout(self, instant: Microseconds, reply: Option<Reply>) -> Result<Yielded> {
        let label = label!(SchedContextYieldToTimeout);
        let words = instant.words();
        let answer = match reply {
            Some(reply) => invoke(self.0, label, &words, &[reply.cptr()])?,
            None => invoke(self.0, label, &words, &[])?,
        };
        const TIME: usize = crate::time::WORDS;
        Ok(Yielded {
            consumed: Microseconds::from_message(&answer, 0),
            target: answer.word(TIME).into(),
            now: Microseconds::from_message(&answer, TIME + 1),
        })
    }

    /// The same in one system call with the receipt of the next message from `source`; a caller is stored in `inbox`.
    /// (Escapement)
    ///
    /// The thread must have a lower priority than the caller, and be able to run when `reply` is replied to: else there is
    /// no timeout message. With a time in the past, that message comes at once. What the context has used counts from now
    /// on. If the kernel refuses it, the call only receives.
    pub fn yield_and_receive(
        self,
        instant: Microseconds,
        reply: Reply,
        source: Endpoint,
        inbox: Reply,
    ) -> Received {
        let label = label!(SchedContextYieldToTimeout);
        let message = Message::new(label, &instant.words()).with_capabilities(&[reply.cptr()]);
        syscall::nb_send_recv(self.0, message, source.cptr(), inbox.cptr())
    }
}
