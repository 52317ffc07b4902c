//! Methods of scheduling contexts.

use abi::Method;

use super::thread::check_released;
use super::{Answer, Error, Invocation, Outcome};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::object::SchedContext;
use crate::token::Ptr;

pub(super) fn invoke<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    context: Ptr<SchedContext<A>>,
) -> Outcome {
    match invocation.method {
        Method::SchedContextBind => bind(kernel, invocation, context),
        Method::SchedContextUnbind => {
            if kernel[context].thread == Some(invocation.caller) {
                return Err(Error::IllegalOperation.into());
            }
            kernel.unbind_all(context);
            Ok(Answer::Nothing)
        }
        Method::SchedContextUnbindObject => unbind_object(kernel, invocation, context),
        Method::SchedContextConsumed => Ok(Answer::time(kernel.take_consumed(context))),
        Method::SchedContextYieldTo => yield_to(kernel, invocation, context),
        _ => Err(Error::IllegalOperation.into()),
    }
}

fn bind<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    context: Ptr<SchedContext<A>>,
) -> Outcome {
    invocation.require(0, 1)?;
    match invocation.extra_cap(kernel, 0) {
        Cap::Thread(thread) => {
            if kernel[context].thread.is_some() || kernel[thread].sched_context.is_some() {
                return Err(Error::IllegalOperation.into());
            }
            check_released(kernel, thread, context)?;
            kernel.bind_thread(context, thread);
        }
        Cap::Notification(cap) => {
            if kernel[context].notification.is_some() || kernel[cap.object].sched_context.is_some()
            {
                return Err(Error::IllegalOperation.into());
            }
            kernel.bind_lender(context, cap.object);
        }
        _ => return Err(Error::InvalidCapability(1).into()),
    }
    Ok(Answer::Nothing)
}

fn unbind_object<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    context: Ptr<SchedContext<A>>,
) -> Outcome {
    invocation.require(0, 1)?;
    match invocation.extra_cap(kernel, 0) {
        Cap::Thread(thread) => {
            if kernel[context].thread != Some(thread) || thread == invocation.caller {
                return Err(Error::IllegalOperation.into());
            }
            kernel.unbind_thread(context);
        }
        Cap::Notification(cap) => {
            if kernel[context].notification != Some(cap.object) {
                return Err(Error::IllegalOperation.into());
            }
            kernel[context].notification = None;
            kernel[cap.object].sched_context = None;
        }
        _ => return Err(Error::InvalidCapability(1).into()),
    }
    Ok(Answer::Nothing)
}

fn yield_to<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    context: Ptr<SchedContext<A>>,
) -> Outcome {
    let caller = invocation.caller;
    let target = kernel[context].thread.ok_or(Error::IllegalOperation)?;
    if target == caller || kernel[target].priority > kernel[caller].max_controlled_priority {
        return Err(Error::IllegalOperation.into());
    }
    kernel.finish_pending_yield(context);
    if kernel.is_schedulable(target) && !kernel.has_budget(target) {
        kernel.postpone(target);
    }
    if !kernel.is_schedulable(target) {
        return Ok(Answer::time(kernel.take_consumed(context)));
    }
    let elsewhere = kernel[target].core != kernel[caller].core
        || kernel[target].domain != kernel[caller].domain
        || kernel[target].priority < kernel[caller].priority;
    kernel.choose_again();
    if elsewhere {
        kernel.ready_front(target);
        return Ok(Answer::time(kernel.take_consumed(context)));
    }
    // The target runs first; the caller is next in line and learns the result when it runs again.
    kernel.begin_yield_to(caller, context);
    kernel.ready_front(caller);
    kernel.ready_front(target);
    Ok(Answer::Later)
}
