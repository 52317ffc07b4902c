//! The kernel entries: system calls, faults, interrupts.
//!
//! The architecture's trap handlers save the registers of the current thread into its register context
//! and call one of the `handle_` functions, with interrupts disabled. When it returns, the thread to run
//! is chosen and its address space is active.

mod debug;
mod dispatch;
mod receive;
mod yield_until;

use abi::registers::{CAP, INFO, SYSCALL};
use abi::{MessageInfo, Syscall};

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::entry::BudgetCheck;
use crate::fastpath::SystemCall;
use crate::object::{Fault, Progress, Thread};
use crate::sched::Entry;
use crate::token::Ptr;
use crate::trace::trace;

pub use crate::arch::Interrupt;

/// Whether it is one of the eleven system calls that [`Kernel::dispatch`] performs.
fn is_dispatched(call: &Syscall) -> bool {
    call.number() >= Syscall::Yield.number()
}

impl<A: Arch> Kernel<A> {
    /// Handles a system call of the current thread, with the registers in its register context.
    #[inline(always)]
    pub fn handle_syscall(&mut self) {
        let Some(thread) = self.core.current else {
            return;
        };
        let register = |register| self[thread].context.get(register);
        let call = SystemCall {
            thread,
            number: register(SYSCALL),
            cap: register(CAP),
            info: MessageInfo(register(INFO)),
        };
        if self.take_fast_path(&call).is_none() {
            self.handle_syscall_in_general();
        }
    }

    /// Handles a system call of the current thread on the slow path.
    #[inline(never)]
    pub fn handle_syscall_in_general(&mut self) {
        self.core.begin_work();
        if self.enter_for_thread(Self::is_system_call_local) {
            self.handle_syscall_inside();
        }
        self.exit_kernel();
    }

    #[inline(always)]
    fn handle_syscall_inside(&mut self) {
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
        if number == Syscall::Call.number() && self.take_fast_path_of_invocation(thread) {
            return;
        }
        let call = Syscall::from_number(number);
        // Debug and benchmark calls need no budget check.
        if let Some(call) = call
            && self.handle_debug_syscall(call)
        {
            return;
        }
        self.handle_syscall_in_time(thread, call, number);
    }

    /// Handles a system call that needs a budget check.
    #[inline(never)]
    fn handle_syscall_in_time(
        &mut self,
        thread: Ptr<Thread<A>>,
        call: Option<Syscall>,
        number: usize,
    ) {
        self.measure_entry(Entry::Syscall(call));
        self.update_time();
        match self.check_budget() {
            BudgetCheck::Passed => self.handle(thread, call, number),
            BudgetCheck::NeedsCheck => self.handle_with_check(thread, call, number),
            BudgetCheck::Exhausted => {}
        }
        self.leave();
    }

    /// Performs a system call of the current thread after a passed budget check.
    #[inline(always)]
    fn handle(&mut self, thread: Ptr<Thread<A>>, call: Option<Syscall>, number: usize) {
        match call.filter(is_dispatched) {
            Some(call) => self.dispatch(thread, call),
            None => self.handle_other_call(thread, call, number),
        }
    }

    /// Performs a system call that [`Kernel::dispatch`] does not; an unknown number is a fault.
    #[inline(never)]
    fn handle_other_call(&mut self, thread: Ptr<Thread<A>>, call: Option<Syscall>, number: usize) {
        match call {
            Some(Syscall::SetTlsBase) => {
                let base = self[thread].context.get(CAP);
                self[thread].context.set_tls_base(base);
                self.core.reload = true;
            }
            Some(Syscall::YieldUntilBudget) if cfg!(feature = "thresholds") => {
                self.yield_until_budget(thread);
            }
            _ => self.raise(thread, Fault::UnknownSyscall { number }),
        }
    }

    /// [`Kernel::handle`] for a thread with a scheduling context that needs a budget check at each entry.
    #[cold]
    fn handle_with_check(&mut self, thread: Ptr<Thread<A>>, call: Option<Syscall>, number: usize) {
        self.core.again = self.tries_again(thread);
        match call.filter(is_dispatched) {
            Some(call) if self.has_limit(thread) => self.dispatch_limited(thread, call),
            Some(call) => self.dispatch_specially(thread, call),
            None => self.handle_other_call(thread, call, number),
        }
        self.core.again = None;
        self.start_idling(thread);
    }

    /// Ends the deferral of the thread's message, if it was deferred, and returns what the total consumed
    /// of its context was at the start of the deferral.
    fn tries_again(&mut self, thread: Ptr<Thread<A>>) -> Option<u64> {
        let Progress::Deferred { since } = self[thread].progress else {
            return None;
        };
        self[thread].progress = Progress::None;
        Some(since)
    }

    fn has_limit(&self, thread: Ptr<Thread<A>>) -> bool {
        let context = self[thread].sched_context;
        context.is_some_and(|context| self[context].limit.is_some())
    }

    /// Handles the use of a processor unit that is disabled for the current thread. `give` enables it if the
    /// thread may have it; otherwise the thread gets `fault`. Needs shared mode, because the unit may be
    /// taken from a thread that another core is about to migrate.
    pub fn handle_unit_off(&mut self, give: impl FnOnce(&mut Self) -> bool, fault: Fault) {
        if self.enter_for_thread(|_| true) && !give(self) {
            return self.handle_fault(fault);
        }
        self.exit_kernel();
    }

    /// Handles a fault of the current thread.
    pub fn handle_fault(&mut self, fault: Fault) {
        if self.enter_for_thread(Self::is_fault_local) {
            self.handle_fault_inside(fault);
        }
        self.exit_kernel();
    }

    #[inline(always)]
    fn handle_fault_inside(&mut self, fault: Fault) {
        if let Some(thread) = self.core.current
            && self.take_fast_path_of_fault(thread, fault).is_some()
        {
            return;
        }
        self.measure_entry(Entry::Fault(fault));
        self.update_time();
        if let Some(thread) = self.core.current {
            match self.check_budget() {
                BudgetCheck::Passed => self.raise(thread, fault),
                BudgetCheck::NeedsCheck => {
                    self.core.again = self.tries_again(thread);
                    self.raise(thread, fault);
                    self.core.again = None;
                    self.start_idling(thread);
                }
                BudgetCheck::Exhausted => {}
            }
        }
        self.leave();
    }

    /// Handles an interrupt from user mode or from the idle loop.
    pub fn handle_interrupt(&mut self, interrupt: Interrupt) {
        let mut is_as_usual = true;
        // After remote modifications, the interrupt still has to be handled.
        while !self.enter_as_needed(|kernel| kernel.is_interrupt_local(interrupt)) {
            self.apply_remote_changes();
            is_as_usual = false;
        }
        self.handle_interrupt_inside(interrupt, is_as_usual);
        self.exit_kernel();
    }

    #[inline(always)]
    fn handle_interrupt_inside(&mut self, interrupt: Interrupt, is_as_usual: bool) {
        if let Interrupt::Line(irq) = interrupt
            && is_as_usual
            && self.take_fast_path_of_interrupt(irq).is_some()
        {
            return;
        }
        self.measure_entry(Entry::Interrupt(interrupt));
        self.update_time();
        self.check_budget();
        match interrupt {
            // Due threads are found at kernel exit. The timer must be programmed again.
            Interrupt::Timer => self.core.reprogram = true,
            Interrupt::Line(irq) => self.deliver_interrupt(irq),
            #[cfg(feature = "smp")]
            Interrupt::Core => {}
            Interrupt::Spurious => {}
        }
        self.leave();
    }
}
