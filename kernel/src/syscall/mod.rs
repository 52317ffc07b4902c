//! The ways into the kernel: system calls, faults, interrupts.
//!
//! The architecture's trap handlers save the registers of the current thread into its context and
//! call one of the `handle_` functions, with interrupts disabled. When it returns, the thread to
//! return to is chosen and its address space is in place.

mod debug;
mod dispatch;

use abi::Syscall;
use abi::registers::{CAP, SYSCALL};

use crate::Kernel;
use crate::arch::{Arch, Irq, UserContext};
use crate::object::Fault;
use crate::sched::Standing;
use crate::trace::trace;

/// What interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupt {
    /// The core's timer.
    Timer,
    /// A line that belongs to users.
    Line(Irq),
    /// Nothing that anybody waits for.
    Spurious,
}

impl<A: Arch> Kernel<A> {
    /// A system call of the current thread, whose number is in its context.
    pub fn handle_syscall(&mut self) {
        let Some(thread) = self.core.current else {
            return;
        };
        let number = self[thread].context.get(SYSCALL);
        trace!(
            "system call {=isize} of {:#x}",
            number as isize,
            thread.address()
        );
        let call = Syscall::from_number(number);
        // Calls for people who debug or measure are outside of time.
        if let Some(call) = call
            && self.handle_debug_syscall(call)
        {
            return;
        }
        self.measure_entry();
        self.update_time();
        let standing = self.check_budget();
        if standing != Standing::Over {
            match call {
                Some(Syscall::SetTlsBase) => {
                    let base = self[thread].context.get(CAP);
                    self[thread].context.set_tls_base(base);
                    self.core.reload = true;
                }
                Some(call) if call.number() >= Syscall::Yield.number() => match standing {
                    Standing::Limited => self.dispatch_limited(thread, call),
                    _ => self.dispatch(thread, call),
                },
                _ => self.raise(thread, Fault::UnknownSyscall { number }),
            }
        }
        self.leave();
    }

    /// A fault of the current thread.
    pub fn handle_fault(&mut self, fault: Fault) {
        self.measure_entry();
        self.update_time();
        if let Some(thread) = self.core.current
            && self.check_budget() != Standing::Over
        {
            self.raise(thread, fault);
        }
        self.leave();
    }

    /// An interrupt, from user mode or from the idle loop.
    pub fn handle_interrupt(&mut self, interrupt: Interrupt) {
        self.measure_entry();
        self.update_time();
        self.check_budget();
        match interrupt {
            // Whatever is due is found on the way out; the timer wants to be armed again.
            Interrupt::Timer => self.core.reprogram = true,
            Interrupt::Line(irq) => self.deliver_interrupt(irq),
            Interrupt::Spurious => {}
        }
        self.leave();
    }
}
