//! Methods of threads: registers, priorities, bindings, suspend and resume.

use abi::registers::{COUNT, FRAME_COUNT};
use abi::{Method, Rights};

use super::thread_spaces::Source;
use super::{Answer, Done, Error, Invocation, Outcome, allow, ensure};
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::object::{Membership, Progress, SchedContext, Thread, ThreadFlags, ThreadSlot};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_thread(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
    ) -> Outcome {
        kernel.exclusive().stall_remote_thread(thread);
        match self.method {
            Method::TcbReadRegisters => return self.read_registers(kernel, thread),
            Method::TcbWriteRegisters => self.write_registers(kernel, thread)?,
            Method::TcbCopyRegisters => self.copy_registers(kernel, thread)?,
            Method::TcbConfigure => self.configure_thread(kernel, thread)?,
            Method::TcbSetSpace => self.set_space(kernel, thread)?,
            Method::TcbSetIpcBuffer => self.set_buffer(kernel, thread)?,
            Method::TcbSetPriority => {
                self.require(1, 1)?;
                let priority = self.controlled_priority(kernel, 0)?;
                set_priority(kernel, thread, priority);
            }
            Method::TcbSetMcPriority => {
                self.require(1, 1)?;
                kernel[thread].max_controlled_priority = self.controlled_priority(kernel, 0)?;
            }
            Method::TcbSetCriticality => {
                let criticality = self.controlled_criticality(kernel)?;
                kernel.set_criticality(thread, criticality);
            }
            Method::TcbSetMcCriticality => {
                let criticality = self.controlled_criticality(kernel)?;
                kernel[thread].max_controlled_criticality = criticality;
            }
            Method::TcbSetSchedParams => self.set_sched_params(kernel, thread)?,
            Method::TcbSetTimeoutEndpoint => {
                self.require(0, 1)?;
                self.check_handler(kernel, 0)?;
                self.install(kernel, thread, ThreadSlot::TimeoutHandler, 0)?;
            }
            Method::TcbSuspend => kernel.suspend(thread),
            Method::TcbResume => kernel.resume(thread),
            Method::TcbBindNotification => self.bind_notification(kernel, thread)?,
            Method::TcbUnbindNotification => {
                let notification = kernel[thread].bound_notification.take();
                kernel[notification.ok_or(Error::IllegalOperation)?].bound_thread = None;
            }
            Method::TcbSetTlsBase => {
                self.require(1, 0)?;
                let base = self.word(kernel, 0);
                kernel[thread].context.set_tls_base(base);
                reload_if_current(kernel, thread);
            }
            Method::TcbSetFlags => return self.set_flags(kernel, thread),
            Method::TcbSetBreakpoint
            | Method::TcbGetBreakpoint
            | Method::TcbUnsetBreakpoint
            | Method::TcbConfigureSingleStepping => {
                return self.invoke_breakpoint(kernel, thread);
            }
            _ => return Err(Error::IllegalOperation.into()),
        }
        Ok(Answer::Nothing)
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn read_registers(&self, kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>) -> Outcome {
        self.require(2, 0)?;
        let suspend = self.word(kernel, 0) & 1 != 0;
        let count = self.number_in(kernel, 1, 1..=COUNT)?;
        allow(thread != self.caller)?;
        if suspend {
            kernel.suspend(thread);
        }
        if !self.is_call {
            return Ok(Answer::Nothing);
        }
        let mut words = [0; COUNT];
        for (register, word) in words.iter_mut().enumerate() {
            *word = kernel[thread].context.get(register);
        }
        kernel.answer_call(self.caller, 0, &words[..count]);
        Ok(Answer::Written)
    }

    fn write_registers(&self, kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>) -> Done {
        self.require(2, 0)?;
        let resume = self.word(kernel, 0) & 1 != 0;
        let count = self.word(kernel, 1);
        ensure(self.length - 2 >= count, Error::Truncated)?;
        allow(thread != self.caller)?;
        kernel.exclusive().drop_remote_entry(thread);
        for register in 0..count.min(COUNT) {
            let word = self.word(kernel, register + 2);
            kernel[thread].context.set(register, word);
        }
        // The thread continues at exactly its program counter, not after a system call.
        kernel[thread].context.restart();
        kernel[thread].progress = Progress::None;
        if resume {
            kernel.resume(thread);
        }
        Ok(())
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn copy_registers(&self, kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>) -> Done {
        self.require(1, 1)?;
        let flags = self.word(kernel, 0);
        let source = self.first_thread(kernel)?;
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
            kernel[thread].context.restart();
        }
        kernel[thread].progress = Progress::None;
        reload_if_current(kernel, thread);
        Ok(())
    }

    /// The thread in the first extra capability.
    fn first_thread(&self, kernel: &Kernel<A>) -> Result<Ptr<Thread<A>>, Error> {
        match self.extra_cap(kernel, 0) {
            Cap::Thread(thread) => Ok(thread),
            _ => Err(Error::InvalidCapability(1)),
        }
    }

    /// A priority argument, limited by the maximum controlled priority of that thread.
    #[inline(always)]
    fn controlled_priority(&self, kernel: &Kernel<A>, index: usize) -> Result<u8, Error> {
        let limit = kernel[self.first_thread(kernel)?].max_controlled_priority;
        self.number_up_to(kernel, index, limit)
    }

    /// A criticality argument, limited likewise.
    fn controlled_criticality(&self, kernel: &Kernel<A>) -> Result<u8, Error> {
        self.require(1, 1)?;
        let limit = kernel[self.first_thread(kernel)?].max_controlled_criticality;
        self.number_up_to(kernel, 0, limit)
    }

    /// Checks that extra capability `extra` can be a handler. The invoked capability is number 0 in the ABI's errors.
    pub(super) fn check_handler(&self, kernel: &Kernel<A>, extra: usize) -> Result<(), Error> {
        match self.extra_cap(kernel, extra) {
            Cap::Null => Ok(()),
            Cap::Endpoint(cap) if crate::ipc::is_handler(&cap) => Ok(()),
            _ => Err(Error::InvalidCapability(extra + 1)),
        }
    }

    /// Replaces the capability in one of a thread's slots by a copy of extra capability `extra`, if there is one.
    pub(super) fn install(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
        which: ThreadSlot,
        extra: usize,
    ) -> Done {
        let source = self.extra[extra].map(|slot| Source {
            slot,
            before: kernel[slot].raw(),
            cap: kernel[slot].unpack(),
        });
        self.replace(kernel, thread, which, source)
    }

    fn set_sched_params(&self, kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>) -> Done {
        self.require(2, 3)?;
        let max_priority = self.controlled_priority(kernel, 0)?;
        let priority = self.controlled_priority(kernel, 1)?;
        let context = self.decode_context(kernel, thread)?;
        self.check_handler(kernel, 2)?;

        self.install(kernel, thread, ThreadSlot::FaultHandler, 2)?;
        kernel[thread].max_controlled_priority = max_priority;
        set_priority(kernel, thread, priority);
        match (kernel[thread].sched_context, context) {
            (None, Some(context)) => kernel.bind_thread(context, thread),
            (Some(context), None) => kernel.unbind_thread(context),
            _ => {}
        }
        Ok(())
    }

    /// The scheduling context that the thread is to have: its own, a free one, or none.
    fn decode_context(
        &self,
        kernel: &Kernel<A>,
        thread: Ptr<Thread<A>>,
    ) -> Result<Option<Ptr<SchedContext<A>>>, Error> {
        match self.extra_cap(kernel, 1) {
            Cap::SchedContext { object, .. } => {
                let own = kernel[thread].sched_context;
                let is_free = own.is_none() && kernel[object].thread.is_none();
                allow(is_free || own == Some(object))?;
                check_released(kernel, thread, object)?;
                Ok(Some(object))
            }
            Cap::Null => allow(thread != self.caller).map(|()| None),
            _ => Err(Error::InvalidCapability(2)),
        }
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn bind_notification(&self, kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>) -> Done {
        self.require(0, 1)?;
        allow(kernel[thread].bound_notification.is_none())?;
        let Cap::Notification(cap) = self.extra_cap(kernel, 0) else {
            return Err(Error::IllegalOperation.into());
        };
        allow(cap.rights.contains(Rights::READ))?;
        allow(kernel[cap.object].waiters().is_empty())?;
        allow(kernel[cap.object].bound_thread.is_none())?;
        kernel[thread].bound_notification = Some(cap.object);
        kernel[cap.object].bound_thread = Some(thread);
        Ok(())
    }

    #[cfg_attr(target_os = "none", optimize(size))]
    fn set_flags(&self, kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>) -> Outcome {
        self.require(2, 0)?;
        let clear = ThreadFlags::from_bits_truncate(self.word(kernel, 0) as u8);
        let set = ThreadFlags::from_bits_truncate(self.word(kernel, 1) as u8);
        let flags = kernel[thread].flags.difference(clear).union(set);
        kernel[thread].flags = flags;
        A::thread_flags_changed(kernel, thread);
        reload_if_current(kernel, thread);
        Ok(Answer::word(flags.bits().into()))
    }
}

/// If the thread is current on its core, makes that core load the changed registers at kernel exit.
pub(super) fn reload_if_current<A: Arch>(kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>) {
    let owner = kernel.owning_core(thread);
    owner.core.reload |= owner.core.current == Some(thread);
}

fn set_priority<A: Arch>(kernel: &mut ExclusiveKernel<A>, thread: Ptr<Thread<A>>, priority: u8) {
    kernel.trace_priority(thread, priority);
    match kernel[thread].membership {
        Membership::Waiting => kernel.requeue_waiting(thread, priority),
        _ => kernel.change_rank(thread, |kernel| kernel[thread].priority = priority),
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
    allow(released || !kernel[thread].is_blocked())
}
