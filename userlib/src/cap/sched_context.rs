//! Scheduling contexts: the right to processor time.

use super::{Capability, Notification, Reply, Tcb, capability};
use crate::invoke::{invoke, label, perform};
use crate::{Microseconds, Result};
use abi::sched_context_flags::{IDLING, SPORADIC};
use abi::yield_target;

capability! {
    /// The right to processor time. Its size argument is log2 of the bytes, which decides how many
    /// replenishments it holds.
    SchedContext = (SchedContext, bits -> bits)
}

capability! {
    /// The right to say how much time a scheduling context stands for, on one core.
    SchedControl
}

/// What a scheduling context stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedParameters {
    /// Processor time per period.
    pub budget: Microseconds,
    /// The period. Equal to the budget: round robin.
    pub period: Microseconds,
    /// Replenishments beyond the two that always exist.
    pub extra_refills: usize,
    /// What timeout faults say about whose time ran out.
    pub badge: usize,
    /// Whether replenishments follow wake-ups (sporadic server) instead of switches.
    pub sporadic: bool,
    /// Whether budget is used while the thread waits at an endpoint.
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

    /// Round robin among equals, in turns of `slice`.
    pub const fn round_robin(slice: Microseconds) -> Self {
        Self::new(slice, slice)
    }

    /// The same with a badge for timeout faults.
    pub const fn with_badge(self, badge: usize) -> Self {
        Self { badge, ..self }
    }

    /// The same with room for more replenishments.
    pub const fn with_extra_refills(self, extra_refills: usize) -> Self {
        Self {
            extra_refills,
            ..self
        }
    }

    /// log2 of the bytes of a scheduling context that holds so many replenishments.
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

    /// The same as a context that idles: budget is used while the thread waits at an endpoint.
    pub const fn idling(self) -> Self {
        Self {
            idling: true,
            ..self
        }
    }
}

/// What the thread of a scheduling context that was yielded to is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum YieldTarget {
    /// It could run: it was preempted, its slice has ended, or it waits for its turn.
    Runnable,
    /// It waits for a message, a reply or a signal.
    Blocked,
    /// It waits for budget.
    OutOfTime,
    /// It is suspended, or there is none.
    Stopped,
    /// There is a timeout message of it that was not answered yet.
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

/// The answer to [`SchedContext::yield_to_timeout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Yielded {
    /// What the context has used since the last time that somebody asked.
    pub consumed: Microseconds,
    /// What its thread is doing.
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

    /// Sets the level of criticality of this core: from now on threads of that criticality and above run
    /// above all others. At level 0, where a system begins, all are equal. (Escapement)
    pub fn set_criticality_level(self, level: u8) -> Result {
        perform(
            self.0,
            label!(SchedControlSetCriticalityLevel),
            &[level as usize],
            &[],
        )
    }

    /// The same with the word of flags as it is.
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
    /// Lets a thread run on this context.
    pub fn bind(self, thread: Tcb) -> Result {
        perform(self.0, label!(SchedContextBind), &[], &[thread.cptr()])
    }

    /// Lends this context to passive threads that the notification wakes.
    pub fn bind_notification(self, notification: Notification) -> Result {
        perform(
            self.0,
            label!(SchedContextBind),
            &[],
            &[notification.cptr()],
        )
    }

    /// Takes this context from whatever it is bound to.
    pub fn unbind(self) -> Result {
        perform(self.0, label!(SchedContextUnbind), &[], &[])
    }

    /// Takes this context from a thread or notification.
    pub fn unbind_object(self, object: impl Capability) -> Result {
        perform(
            self.0,
            label!(SchedContextUnbindObject),
            &[],
            &[object.cptr()],
        )
    }

    /// Time used since the last time that somebody asked.
    pub fn consumed(self) -> Result<Microseconds> {
        let answer = invoke(self.0, label!(SchedContextConsumed), &[], &[])?;
        Ok(Microseconds::from_message(&answer, 0))
    }

    /// Lets the thread of this context run now, if it is not less urgent than the caller; says what
    /// it has used since the last time that somebody asked.
    pub fn yield_to(self) -> Result<Microseconds> {
        Ok(self.yield_to_target()?.0)
    }

    /// The same; says what the thread is doing, too. That is Escapement's own; seL4 leaves in this place
    /// what was there.
    pub fn yield_to_target(self) -> Result<(Microseconds, YieldTarget)> {
        let answer = invoke(self.0, label!(SchedContextYieldTo), &[], &[])?;
        let consumed = Microseconds::from_message(&answer, 0);
        Ok((consumed, answer.raw_word(answer.length()).into()))
    }

    /// Lets the thread of this context run as [`SchedContext::yield_to`] does, until `moment` of the
    /// kernel's clock at the latest: then its timeout handler gets a message. (Escapement)
    ///
    /// If `reply` stands for a timeout message of the thread, that is answered first. A moment that has
    /// passed is a way to learn the time.
    pub fn yield_to_timeout(self, moment: Microseconds, reply: Option<Reply>) -> Result<Yielded> {
        let label = label!(SchedContextYieldToTimeout);
        let words = moment.words();
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
}
