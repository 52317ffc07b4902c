//! Scheduling contexts: their bindings and their replenishments.

use super::{Check, Reach, require};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{Above, ContextFlags, SchedContext};
use crate::time::Ticks;
use crate::token::Ptr;

/// Checks a scheduling context; `bits` is log2 of its size, if known.
///
/// # Errors
/// The first violation found.
pub fn check_context<A: Arch>(
    kernel: &Kernel<A>,
    context: Ptr<SchedContext<A>>,
    bits: Option<usize>,
    reach: Reach,
) -> Check {
    let require = |holds, rule| require(holds, context.address(), rule);
    let object = &kernel[context];
    rules! { require;
        "the thread of a scheduling context knows the context":
            object.thread.is_none_or(|thread| kernel[thread].sched_context == Some(context));
        "the owner of a scheduling context knows the context":
            object.owner.is_none_or(|owner| kernel[owner].own_context == Some(context));
        "a scheduling context has the criticality of its owner":
            object.owner.is_none_or(|owner| kernel[owner].criticality == object.criticality());
        "the notification of a scheduling context knows the context":
            object
                .notification
                .is_none_or(|notification| kernel[notification].sched_context == Some(context));
        "the thread that yielded to a context knows the context":
            object.yielded_from.is_none_or(|thread| kernel[thread].yielding_to == Some(context));
    }
    let top = object.reply.map(|reply| kernel[reply].above);
    rules! { require;
        "the top of a call chain knows its context":
            match top {
                None => true,
                Some(Above::Context(above) | Above::Limited(above)) => above == context,
                Some(_) => false,
            };
        "a limit belongs to the call that set it":
            match top {
                Some(Above::Limited(_)) => object.limit.is_some(),
                Some(_) => object.limit.is_none(),
                None => true,
            };
        "a context with a limit needs a budget check":
            object.limit.is_none() || object.flags.contains(ContextFlags::NEEDS_CHECK);
    }
    if !object.is_configured() {
        return Ok(());
    }
    if let Some(bits) = bits {
        rules! { require;
            "replenishments fit into the object":
                object.refill_capacity() <= abi::sizes::refill_capacity(bits);
        }
    }
    check_refills(kernel, context, reach)
}

/// Checks the rules of [`crate::budget`].
fn check_refills<A: Arch>(
    kernel: &Kernel<A>,
    context: Ptr<SchedContext<A>>,
    reach: Reach,
) -> Check {
    let require = |holds, rule| require(holds, context.address(), rule);
    let object = &kernel[context];
    let (mut count, mut sum, mut end) = (0, Ticks::ZERO, Ticks::ZERO);
    let mut ordered = true;
    for refill in object.replenishments().take(reach.refills) {
        ordered &= end <= refill.time;
        end = refill.time.saturating_add(refill.amount);
        sum = sum.saturating_add(refill.amount);
        count += 1;
    }
    let is_all = count < reach.refills;
    rules! { require;
        "a configured context has replenishments, no more than it may":
            (1..=object.refill_capacity()).contains(&count);
        "the replenishments add up to the budget":
            sum == object.budget || !is_all && sum < object.budget;
        "the head replenishment holds the smallest budget": object.head().amount >= kernel.min_budget();
    }
    if object.is_round_robin() {
        require(count == 2, "a timeslice has a remaining and a used part")
    } else {
        require(ordered, "replenishments are in order and do not overlap")
    }
}
