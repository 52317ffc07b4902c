//! Methods of threads: registers, priorities, bindings, suspend and resume.

use abi::registers::{COUNT, FRAME_COUNT};
use abi::{Method, Rights, thread_flags};

use super::thread_spaces::{Source, insert_if_unchanged};
use super::{Answer, Error, Failure, Invocation, Outcome, breakpoint, thread_spaces};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::object::{
    Membership, NotificationState, Progress, SchedContext, Thread, ThreadSlot, thread_slot,
};
use crate::token::Ptr;

pub(super) fn invoke<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Outcome {
    kernel.exclusive().stall_remote_thread(thread);
    match invocation.method {
        Method::TcbReadRegisters => return read_registers(kernel, invocation, thread),
        Method::TcbWriteRegisters => write_registers(kernel, invocation, thread)?,
        Method::TcbCopyRegisters => copy_registers(kernel, invocation, thread)?,
        Method::TcbConfigure => thread_spaces::configure(kernel, invocation, thread)?,
        Method::TcbSetSpace => thread_spaces::set_space(kernel, invocation, thread)?,
        Method::TcbSetIpcBuffer => thread_spaces::set_buffer(kernel, invocation, thread)?,
        Method::TcbSetPriority => {
            invocation.require(1, 1)?;
            let priority = controlled_priority(kernel, invocation, 0)?;
            set_priority(kernel, thread, priority);
        }
        Method::TcbSetMcPriority => {
            invocation.require(1, 1)?;
            kernel[thread].max_controlled_priority = controlled_priority(kernel, invocation, 0)?;
        }
        Method::TcbSetCriticality => {
            let criticality = controlled_criticality(kernel, invocation)?;
            kernel.set_criticality(thread, criticality);
        }
        Method::TcbSetMcCriticality => {
            let criticality = controlled_criticality(kernel, invocation)?;
            kernel[thread].max_controlled_criticality = criticality;
        }
        Method::TcbSetSchedParams => set_sched_params(kernel, invocation, thread)?,
        Method::TcbSetTimeoutEndpoint => {
            invocation.require(0, 1)?;
            check_handler(kernel, invocation, 0, 1)?;
            install(kernel, invocation, thread, ThreadSlot::TimeoutHandler, 0)?;
        }
        Method::TcbSuspend => kernel.suspend(thread),
        Method::TcbResume => kernel.resume(thread),
        Method::TcbBindNotification => bind_notification(kernel, invocation, thread)?,
        Method::TcbUnbindNotification => {
            let notification = kernel[thread].bound_notification.take();
            kernel[notification.ok_or(Error::IllegalOperation)?].bound_thread = None;
        }
        Method::TcbSetTlsBase => {
            invocation.require(1, 0)?;
            let base = invocation.word(kernel, 0);
            kernel[thread].context.set_tls_base(base);
            reload_if_current(kernel, thread);
        }
        Method::TcbSetFlags => return set_flags(kernel, invocation, thread),
        Method::TcbSetBreakpoint
        | Method::TcbGetBreakpoint
        | Method::TcbUnsetBreakpoint
        | Method::TcbConfigureSingleStepping => {
            return breakpoint::invoke(kernel, invocation, thread);
        }
        _ => return Err(Error::IllegalOperation.into()),
    }
    Ok(Answer::Nothing)
}

/// If the thread is current on its core, makes that core load the changed registers at kernel exit.
pub(super) fn reload_if_current<A: Arch>(kernel: &mut Kernel<A>, thread: Ptr<Thread<A>>) {
    let owner = kernel.owning_core(thread);
    owner.core.reload |= owner.core.current == Some(thread);
}

fn read_registers<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Outcome {
    invocation.require(2, 0)?;
    let suspend = invocation.word(kernel, 0) & 1 != 0;
    let count = invocation.word(kernel, 1);
    if !(1..=COUNT).contains(&count) {
        return Err(Error::range(1, COUNT).into());
    }
    if thread == invocation.caller {
        return Err(Error::IllegalOperation.into());
    }
    if suspend {
        kernel.suspend(thread);
    }
    if !invocation.is_call {
        return Ok(Answer::Nothing);
    }
    let mut words = [0; COUNT];
    for (register, word) in words.iter_mut().enumerate() {
        *word = kernel[thread].context.get(register);
    }
    kernel.answer_call(invocation.caller, 0, &words[..count]);
    Ok(Answer::Written)
}

fn write_registers<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Result<(), Failure> {
    invocation.require(2, 0)?;
    let resume = invocation.word(kernel, 0) & 1 != 0;
    let count = invocation.word(kernel, 1);
    if invocation.length - 2 < count {
        return Err(Error::Truncated.into());
    }
    if thread == invocation.caller {
        return Err(Error::IllegalOperation.into());
    }
    kernel.exclusive().drop_remote_entry(thread);
    for register in 0..count.min(COUNT) {
        let word = invocation.word(kernel, register + 2);
        kernel[thread].context.set(register, word);
    }
    // The thread continues at exactly its program counter, not after a system call.
    kernel[thread].context.continue_at_pc();
    kernel[thread].progress = Progress::None;
    if resume {
        kernel.resume(thread);
    }
    Ok(())
}

fn copy_registers<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Result<(), Failure> {
    invocation.require(1, 1)?;
    let flags = invocation.word(kernel, 0);
    let Cap::Thread(source) = invocation.extra_cap(kernel, 0) else {
        return Err(Error::InvalidCapability(1).into());
    };
    kernel.exclusive().stall_remote_thread(source);
    if flags & 1 != 0 {
        kernel.suspend(source);
    }
    if flags & 2 != 0 {
        kernel.resume(thread);
    }
    kernel.exclusive().drop_remote_entry(thread);
    let mut copy = |registers: core::ops::Range<usize>| {
        for register in registers {
            let word = kernel[source].context.get(register);
            kernel[thread].context.set(register, word);
        }
    };
    if flags & 4 != 0 {
        copy(0..FRAME_COUNT);
    }
    if flags & 8 != 0 {
        copy(FRAME_COUNT..COUNT);
    }
    if flags & 4 != 0 {
        kernel[thread].context.continue_at_pc();
    }
    kernel[thread].progress = Progress::None;
    reload_if_current(kernel, thread);
    Ok(())
}

/// The thread in the first extra capability; its authority limits the values that can be set.
fn authority<'a, A: Arch>(
    kernel: &'a Kernel<A>,
    invocation: &Invocation<A>,
) -> Result<&'a Thread<A>, Error> {
    match invocation.extra_cap(kernel, 0) {
        Cap::Thread(authority) => Ok(&kernel[authority]),
        _ => Err(Error::InvalidCapability(1)),
    }
}

/// A priority argument, limited by the authority.
#[inline(always)]
fn controlled_priority<A: Arch>(
    kernel: &Kernel<A>,
    invocation: &Invocation<A>,
    index: usize,
) -> Result<u8, Error> {
    let limit = authority(kernel, invocation)?.max_controlled_priority;
    invocation.number_up_to(kernel, index, limit)
}

/// A criticality argument, limited by the authority.
fn controlled_criticality<A: Arch>(
    kernel: &Kernel<A>,
    invocation: &Invocation<A>,
) -> Result<u8, Error> {
    invocation.require(1, 1)?;
    let limit = authority(kernel, invocation)?.max_controlled_criticality;
    invocation.number_up_to(kernel, 0, limit)
}

fn set_priority<A: Arch>(kernel: &mut Kernel<A>, thread: Ptr<Thread<A>>, priority: u8) {
    match kernel[thread].membership {
        Membership::Ready | Membership::Release => {
            kernel.change_queue_position(thread, |kernel| kernel[thread].priority = priority);
        }
        Membership::Waiting => kernel.requeue_waiting(thread, priority),
        Membership::None => {
            kernel[thread].priority = priority;
            if kernel.is_schedulable(thread) {
                kernel.owning_core(thread).choose_again();
            }
        }
    }
}

/// Checks that extra capability `extra` can be a handler; `number` is its number in the ABI's error.
pub(super) fn check_handler<A: Arch>(
    kernel: &Kernel<A>,
    invocation: &Invocation<A>,
    extra: usize,
    number: usize,
) -> Result<(), Error> {
    match invocation.extra_cap(kernel, extra) {
        Cap::Null => Ok(()),
        Cap::Endpoint(cap) if crate::ipc::is_handler(&cap) => Ok(()),
        _ => Err(Error::InvalidCapability(number)),
    }
}

/// Replaces the capability in one of a thread's slots by a copy of extra capability `extra`, if there is one.
pub(super) fn install<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
    which: ThreadSlot,
    extra: usize,
) -> Result<(), Failure> {
    let slot = thread_slot(thread, which);
    let cap = invocation.extra_cap(kernel, extra);
    kernel.delete(slot)?;
    if let Some(source) = invocation.extra[extra] {
        let source = Source {
            slot: source,
            before: cap,
            cap,
        };
        insert_if_unchanged(kernel, invocation, thread, slot, source);
    }
    Ok(())
}

fn set_sched_params<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Result<(), Failure> {
    invocation.require(2, 3)?;
    let max_priority = controlled_priority(kernel, invocation, 0)?;
    let priority = controlled_priority(kernel, invocation, 1)?;
    let binding = decode_binding(kernel, invocation, thread)?;
    check_handler(kernel, invocation, 2, 3)?;

    install(kernel, invocation, thread, ThreadSlot::FaultHandler, 2)?;
    kernel[thread].max_controlled_priority = max_priority;
    set_priority(kernel, thread, priority);
    match binding {
        Binding::Keep => {}
        Binding::Bind(context) => kernel.bind_thread(context, thread),
        Binding::Unbind => {
            if let Some(context) = kernel[thread].sched_context {
                kernel.unbind_thread(context);
            }
        }
    }
    Ok(())
}

enum Binding<A: Arch> {
    Keep,
    Bind(Ptr<SchedContext<A>>),
    Unbind,
}

fn decode_binding<A: Arch>(
    kernel: &Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Result<Binding<A>, Error> {
    match invocation.extra_cap(kernel, 1) {
        Cap::SchedContext { object, .. } => {
            let keep = kernel[thread].sched_context == Some(object);
            if !keep && (kernel[thread].sched_context.is_some() || kernel[object].thread.is_some())
            {
                return Err(Error::IllegalOperation);
            }
            check_released(kernel, thread, object)?;
            Ok(if keep {
                Binding::Keep
            } else {
                Binding::Bind(object)
            })
        }
        Cap::Null if thread == invocation.caller => Err(Error::IllegalOperation),
        Cap::Null => Ok(Binding::Unbind),
        _ => Err(Error::InvalidCapability(2)),
    }
}

/// A blocked thread can be bound only to a context with available budget: an IPC may wake and run it
/// directly.
pub(super) fn check_released<A: Arch>(
    kernel: &Kernel<A>,
    thread: Ptr<Thread<A>>,
    context: Ptr<SchedContext<A>>,
) -> Result<(), Error> {
    let released =
        kernel[context].is_configured() && kernel[context].head().time <= kernel.core.now;
    if kernel[thread].is_blocked() && !released {
        Err(Error::IllegalOperation)
    } else {
        Ok(())
    }
}

fn bind_notification<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Result<(), Failure> {
    invocation.require(0, 1)?;
    if kernel[thread].bound_notification.is_some() {
        return Err(Error::IllegalOperation.into());
    }
    let Cap::Notification(cap) = invocation.extra_cap(kernel, 0) else {
        return Err(Error::IllegalOperation.into());
    };
    let waiters = matches!(kernel[cap.object].state, NotificationState::Waiting(_));
    if !cap.rights.contains(Rights::READ) || waiters || kernel[cap.object].bound_thread.is_some() {
        return Err(Error::IllegalOperation.into());
    }
    kernel[thread].bound_notification = Some(cap.object);
    kernel[cap.object].bound_thread = Some(thread);
    Ok(())
}

fn set_flags<A: Arch>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    thread: Ptr<Thread<A>>,
) -> Outcome {
    invocation.require(2, 0)?;
    let clear = invocation.word(kernel, 0);
    let set = invocation.word(kernel, 1) & thread_flags::MASK;
    let flags = usize::from(kernel[thread].flags) & !clear | set;
    kernel[thread].flags = flags as u8;
    A::thread_flags_changed(kernel, thread);
    reload_if_current(kernel, thread);
    Ok(Answer::word(flags))
}
