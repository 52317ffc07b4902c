//! The kernel entries: system calls, faults, interrupts.
//!
//! The architecture's trap handlers save the registers of the current thread into its register context
//! and call one of the `handle_` functions of [`CoreHandle`] or [`Local`], with interrupts disabled. When it returns, the
//! thread to run is chosen and its address space is active.

mod debug;
mod dispatch;
mod receive;

use abi::Syscall;
use abi::registers::SYSCALL;

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cores::{CoreHandle, Local};
use crate::entry::BudgetCheck;
use crate::log::trace;
use crate::object::{Fault, Progress, Thread};
use crate::sched::EntryReason;
use crate::token::Ptr;

pub use crate::arch::Interrupt;

impl<A: Arch> CoreHandle<A> {
    /// Handles a fault of the current thread.
    #[inline(always)]
    pub fn handle_fault(&mut self, fault: Fault) {
        self.handle_exception(|_| Some(fault));
    }

    /// Handles an exception of the current thread. `examine` returns the fault that it is; `None` if it has
    /// removed the cause, so that the thread continues.
    #[inline(always)]
    pub fn handle_exception(&mut self, examine: impl FnOnce(&mut Kernel<A>) -> Option<Fault>) {
        let mut kernel = self.enter();
        if kernel.enter_for_thread(|_| true) {
            let Some(fault) = examine(&mut kernel) else {
                return kernel.end_if_late();
            };
            if kernel.enter_for_thread(Kernel::is_fault_local) {
                kernel.handle_fault_locked(fault);
            }
        }
    }

    /// The same for an exception that the thread will not raise again: the instruction has been executed, or
    /// `examine` counts it. So neither the end of its budget nor a remote access prevents this entry from
    /// sending the fault, unless the access stopped the thread.
    pub fn handle_debug_exception(
        &mut self,
        examine: impl FnOnce(&mut Kernel<A>) -> Option<Fault>,
    ) {
        let mut kernel = self.enter();
        let is_modified = !kernel.make_exclusive();
        if is_modified {
            kernel.recompute_deadlines();
            kernel.account_before_remote_access();
        }
        let fault = match kernel.is_current_running() {
            true => examine(&mut kernel),
            false => None,
        };
        match fault {
            Some(fault) => kernel.send_debug_fault(fault),
            None if is_modified => kernel.trace_remote_access(),
            None => return,
        }
        kernel.end_exhausted_slice();
        kernel.leave();
    }
}

impl<A: Arch> Local<'_, A> {
    /// Handles a system call of the current thread, with the registers in its register context: on a fast path if
    /// `take_fast_path` finds one eligible, such as [`Kernel::take_fast_path`]. Then returns the thread to run.
    #[inline(always)]
    pub fn handle_syscall(
        &mut self,
        take_fast_path: impl FnOnce(&mut Kernel<A>) -> Option<Ptr<Thread<A>>>,
    ) -> Option<Ptr<Thread<A>>> {
        let next = take_fast_path(self);
        if next.is_none() && self.enter_for_thread(Kernel::is_system_call_local) {
            self.handle_syscall_locked();
        }
        next
    }

    /// Handles an interrupt from user mode or from the idle loop.
    #[inline(always)]
    pub fn handle_interrupt(&mut self, interrupt: Interrupt) {
        let is_local = |kernel: &mut Kernel<A>| kernel.is_interrupt_local(interrupt);
        let mut is_unmodified = true;
        while !self.make_exclusive_unless(is_local) {
            // After remote modifications, the interrupt still has to be handled.
            self.apply_remote_changes();
            is_unmodified = false;
        }
        self.handle_interrupt_locked(interrupt, is_unmodified);
    }
}

impl<A: Arch> Kernel<A> {
    #[inline(never)]
    fn handle_syscall_locked(&mut self) {
        // Interrupts were enabled until now, so no work since the last preemption point counts.
        self.work = 0;
        let Some(thread) = self.core.current else {
            return;
        };
        let number = self[thread].context.get(SYSCALL);
        trace!(
            "core {}: system call {=isize} of {:#x}",
            self.core.id,
            number as isize,
            thread.address()
        );
        // Other cores may have modified this one, for which no fast path is prepared.
        let is_late = self.is_late();
        if !is_late
            && number == Syscall::Call.number()
            && let Some(_) = self.try_fast_path(|kernel| kernel.fast_invocation(thread))
        {
            return;
        }
        if !is_late
            && (number == Syscall::Call.number() || number == Syscall::ReplyRecv.number())
            && let Some(_) = self.take_fast_path_with_capability(thread, number)
        {
            return;
        }
        let call = Syscall::from_number(number);
        // Debug and benchmark calls need no budget check.
        if let Some(call) = call
            && self.handle_debug_syscall(call)
        {
            return self.end_if_late();
        }
        self.measure_entry(EntryReason::Syscall(call));
        self.update_time();
        let (check, late) = self.check_request(|kernel| kernel.trace_syscall(number));
        match check {
            BudgetCheck::Passed => self.dispatch(thread, call),
            BudgetCheck::NeedsCheck => {
                self.with_check(thread, |kernel| kernel.dispatch_with_check(thread, call));
            }
            BudgetCheck::Exhausted => {}
        }
        if let Some(context) = late {
            self.end_late_slice(thread, context);
        }
        self.leave();
    }

    /// Performs a request of a thread with a scheduling context that needs a budget check at each entry. Ends the
    /// deferral of the thread's message, if it was deferred.
    #[cold]
    fn with_check(&mut self, thread: Ptr<Thread<A>>, perform: impl FnOnce(&mut Self)) {
        if let Progress::Deferred { since } = self[thread].progress {
            self[thread].progress = Progress::None;
            self.core.again = Some(since);
        }
        perform(self);
        self.core.again = None;
        self.start_idling(thread);
    }

    fn handle_fault_locked(&mut self, fault: Fault) {
        if !self.is_late()
            && let Some(thread) = self.core.current
            && let Some(_) = self.try_fast_path(|kernel| kernel.fast_fault(thread, fault))
        {
            return;
        }
        self.measure_entry(EntryReason::Fault(fault));
        self.update_time();
        if let Some(thread) = self.core.current {
            let (check, late) = self.check_request(|kernel| kernel.trace_fault_entry(&fault));
            match check {
                BudgetCheck::Passed => self.raise(thread, fault),
                BudgetCheck::NeedsCheck => {
                    self.with_check(thread, |kernel| kernel.raise(thread, fault));
                }
                BudgetCheck::Exhausted => {}
            }
            if let Some(context) = late {
                self.end_late_slice(thread, context);
            }
        }
        self.leave();
    }

    /// Sends a fault, with or without budget: if that is used up, the timeslice ends with the fault.
    fn send_debug_fault(&mut self, fault: Fault) {
        self.measure_entry(EntryReason::Fault(fault));
        self.update_time();
        self.trace_fault_entry(&fault);
        let late = self.begin_late();
        if let Some(context) = self.core.current_context {
            self.charge_used_up(context);
        }
        if let Some(thread) = self.core.current {
            self.leave_scheduler(thread);
            self.core.raises_once = true;
            self.with_check(thread, |kernel| kernel.raise(thread, fault));
            self.core.raises_once = false;
            if let Some(context) = late {
                self.end_late_slice(thread, context);
            }
        }
    }

    /// Handles an interrupt. After a remote modification no fast path is eligible: their conditions do not include a
    /// decision that is pending since then.
    fn handle_interrupt_locked(&mut self, interrupt: Interrupt, is_unmodified: bool) {
        if is_unmodified
            && let Interrupt::Line(irq) = interrupt
            && let Some(_) = self.try_fast_path(|kernel| kernel.fast_interrupt(irq))
        {
            return;
        }
        self.measure_entry(EntryReason::Interrupt(interrupt));
        self.update_time();
        // Whichever path it takes, a timer interrupt reads the clock.
        if is_unmodified
            && let Interrupt::Timer = interrupt
            && let Some(_) = self.try_fast_path(Self::fast_timer)
        {
            return;
        }
        self.handle_interrupt_slowly(interrupt);
    }

    /// Handles an interrupt after the clock was read. A function of its own, so that the fast paths save fewer registers.
    #[inline(never)]
    fn handle_interrupt_slowly(&mut self, interrupt: Interrupt) {
        self.check_budget_at_entry(|kernel| kernel.trace_interrupt(interrupt));
        match interrupt {
            // Due threads are found at kernel exit. The timer must be programmed again.
            Interrupt::Timer => self.core.reprogram = true,
            Interrupt::Line(irq) => self.deliver_interrupt(irq),
            Interrupt::Core | Interrupt::Spurious => {}
        }
        self.leave();
    }
}
