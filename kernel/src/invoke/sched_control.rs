//! Methods of `SchedControl`: configuring a scheduling context with time of a core
//! (`SchedControl_ConfigureFlags`), and the criticality level (`SchedControl_SetCriticalityLevel`).

use abi::sizes::refill_capacity;
use abi::{MAX_CRITICALITY, Method, WORD_BITS, sched_context_flags};

use super::{Answer, Error, Invocation, Outcome, ensure};
use crate::arch::Arch;
use crate::budget::MAX_REFILLS;
use crate::cap::Cap;
use crate::config::CORES;
use crate::object::{ContextFlags, SchedContext};
use crate::sched::{Readiness, work};
use crate::time::{MIN_BUDGET, Microseconds, Ticks};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// Replenishments that every scheduling context has.
const BASE_REFILLS: usize = 2;

/// The maximum number that an idling context uses, even if more are requested: all of them are processed each
/// time its thread has waited.
const MAX_IDLING_REFILLS: usize = 3;

struct Configure<A: Arch> {
    context: Ptr<SchedContext<A>>,
    budget: Ticks,
    /// Zero means round robin.
    period: Ticks,
    refills: usize,
    badge: usize,
    sporadic: bool,
    idling: bool,
}

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_sched_control(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        core: usize,
    ) -> Outcome {
        match self.method {
            Method::SchedControlConfigureFlags => self.configure_context(kernel, core),
            Method::SchedControlSetCriticalityLevel if cfg!(feature = "thresholds") => {
                self.require(1, 0)?;
                let level = self.number_up_to(kernel, 0, MAX_CRITICALITY)?;
                kernel.scheduler_of(core).set_level(level);
                Ok(Answer::Nothing)
            }
            _ => Err(Error::IllegalOperation.into()),
        }
    }

    fn configure_context(&self, kernel: &mut ExclusiveKernel<A>, core: usize) -> Outcome {
        let request = self.decode_configure(kernel)?;
        // Both the checks, with their conversions of times, and what follows are long.
        kernel.preempt_after(work::CHECKS)?;
        perform(kernel, &request, core);
        Ok(Answer::Nothing)
    }

    fn decode_configure(&self, kernel: &Kernel<A>) -> Result<Configure<A>, Error> {
        self.require(if WORD_BITS == 64 { 5 } else { 7 }, 1)?;
        let (budget, next) = self.time(kernel, 0);
        let (period, next) = self.time(kernel, next);
        let extra_refills = self.word(kernel, next);
        let badge = self.word(kernel, next + 1);
        let flags = self.word(kernel, next + 2);

        let clock = kernel.arch.clock();
        let longest = clock.max_period();
        for time in [budget, period] {
            if time > longest || time < MIN_BUDGET {
                return Err(range(MIN_BUDGET, longest));
            }
        }
        if budget > period {
            return Err(range(MIN_BUDGET, period));
        }
        let Cap::SchedContext {
            object: context,
            bits,
        } = self.extra_cap(kernel, 0)
        else {
            return Err(Error::InvalidCapability(1));
        };
        let most = refill_capacity(bits).min(MAX_REFILLS) - BASE_REFILLS;
        ensure(extra_refills <= most, Error::range(0, most))?;
        let round_robin = budget == period;
        let idling = flags & sched_context_flags::IDLING != 0;
        let refills = match BASE_REFILLS + extra_refills {
            _ if round_robin => BASE_REFILLS,
            refills if idling => refills.min(MAX_IDLING_REFILLS),
            refills => refills,
        };
        Ok(Configure {
            context,
            budget: clock.ticks(budget),
            period: if round_robin {
                Ticks::ZERO
            } else {
                clock.ticks(period)
            },
            refills,
            badge,
            sporadic: flags & sched_context_flags::SPORADIC != 0,
            idling,
        })
    }
}

fn range(minimum: Microseconds, maximum: Microseconds) -> Error {
    Error::range(minimum.word(), maximum.word())
}

fn perform<A: Arch>(kernel: &mut ExclusiveKernel<A>, request: &Configure<A>, core: usize) {
    let context = request.context;
    let thread = kernel[context].thread;
    let moves = CORES > 1 && usize::from(kernel[context].core) != core;
    let owner = kernel.owning_core_of_context(context);
    if let Some(thread) = thread {
        owner.leave_scheduler(thread);
    }
    if moves {
        owner.detach_current_context(context);
    } else if owner.core.current_context == Some(context) {
        owner.commit_time();
        owner.core.reprogram = true;
    }
    if let Some(thread) = thread {
        owner.stop_idling(thread);
    }
    if moves {
        kernel.finish_pending_yield(context);
        if let Some(thread) = thread {
            // As in `migrate_after_answer`.
            kernel.finish_yield_to(thread);
        }
        kernel.migrate_context(context, core as u8);
    }
    let kernel = kernel.scheduler_of(core);
    let now = kernel.core.now;
    let in_use = kernel[context].is_configured()
        && !moves
        && thread.is_some_and(|thread| kernel[thread].is_runnable());
    let object = &mut kernel[context];
    if in_use && request.period > Ticks::ZERO {
        object.update(request.refills, now, request.budget, request.period);
    } else {
        object.start(request.refills, now, request.budget, request.period);
    }
    object.badge = request.badge;
    object.flags.set(ContextFlags::SPORADIC, request.sporadic);
    object.flags.set(ContextFlags::IDLING, request.idling);
    if request.idling {
        object.flags.set(ContextFlags::NEEDS_CHECK, true);
    }
    kernel.trace_configured(context);

    let Some(thread) = thread else { return };
    kernel.start_idling(thread);
    if !kernel[thread].is_runnable() {
        return;
    }
    if kernel.core.current == Some(thread) {
        if kernel.readiness(thread) == Readiness::LacksBudget {
            kernel.postpone(thread);
        }
        kernel.choose_again();
    } else {
        kernel.possible_switch_to(thread);
    }
}
