//! Threads.

use super::{Capability, Frame, Notification, VSpace, capability};
use crate::Result;
use crate::invoke::{invoke, label, optional_label, perform, request};
use crate::message::Message;
use abi::registers::{COUNT, FLAGS, PC, SP};

capability! {
    /// A thread.
    Tcb = (Tcb, abi::sizes::TCB_BITS)
}

/// The registers of a thread, in the order of [`abi::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers(pub [usize; COUNT]);

impl Default for Registers {
    fn default() -> Self {
        Self([0; COUNT])
    }
}

impl Registers {
    /// The program counter.
    pub fn pc(&mut self) -> &mut usize {
        &mut self.0[PC]
    }

    /// The stack pointer.
    pub fn sp(&mut self) -> &mut usize {
        &mut self.0[SP]
    }

    /// The flags.
    pub fn flags(&mut self) -> &mut usize {
        &mut self.0[FLAGS]
    }

    /// The reply to a timeout fault that continues the thread with these registers.
    pub fn timeout_reply(&self) -> Message {
        let words = abi::registers::TIMEOUT_REPLY.map(|register| self.0[register]);
        Message::new(0, &words)
    }
}

/// Options of [`Tcb::copy_registers`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyRegisters {
    /// Suspend the source first.
    pub suspend_source: bool,
    /// Resume the target.
    pub resume_target: bool,
    /// Copy the frame registers, pc and sp among them.
    pub frame: bool,
    /// Copy the other registers.
    pub integer: bool,
}

impl Tcb {
    /// Reads the registers of another thread.
    pub fn read_registers(self, suspend: bool) -> Result<Registers> {
        let answer = invoke(
            self.0,
            label!(TcbReadRegisters),
            &[suspend as usize, COUNT],
            &[],
        )?;
        let mut registers = Registers::default();
        for (index, register) in registers.0.iter_mut().enumerate() {
            *register = answer.word(index);
        }
        Ok(registers)
    }

    /// Writes the registers of another thread and, if `resume`, resumes it.
    pub fn write_registers(self, resume: bool, registers: &Registers) -> Result {
        self.write_first_registers(resume, &registers.0)
    }

    /// Writes the first registers, as many as there are values.
    pub fn write_first_registers(self, resume: bool, registers: &[usize]) -> Result {
        let registers = &registers[..registers.len().min(COUNT)];
        let head = [resume as usize, registers.len()];
        let message = Message::new(label!(TcbWriteRegisters), &head).followed_by(registers);
        request(self.0, message).map(drop)
    }

    /// Copies registers of `source` to this thread.
    pub fn copy_registers(self, source: Tcb, what: CopyRegisters) -> Result {
        let flags = what.suspend_source as usize
            | (what.resume_target as usize) << 1
            | (what.frame as usize) << 2
            | (what.integer as usize) << 3;
        perform(self.0, label!(TcbCopyRegisters), &[flags], &[source.0])
    }

    /// Sets CSpace, VSpace and IPC buffer. `guard` is the guard word of the CSpace root, or 0 to keep its
    /// guard.
    pub fn configure(
        self,
        cspace: impl Capability,
        guard: usize,
        vspace: VSpace,
        buffer_address: usize,
        buffer: Frame,
    ) -> Result {
        perform(
            self.0,
            label!(TcbConfigure),
            &[guard, 0, buffer_address],
            &[cspace.cptr(), vspace.cptr(), buffer.cptr()],
        )
    }

    /// Sets fault endpoint (or null), CSpace and VSpace.
    pub fn set_space(
        self,
        fault_endpoint: impl Capability,
        cspace: impl Capability,
        guard: usize,
        vspace: VSpace,
    ) -> Result {
        perform(
            self.0,
            label!(TcbSetSpace),
            &[guard, 0],
            &[fault_endpoint.cptr(), cspace.cptr(), vspace.cptr()],
        )
    }

    /// Sets the IPC buffer; address 0 removes it.
    pub fn set_ipc_buffer(self, address: usize, frame: Frame) -> Result {
        perform(self.0, label!(TcbSetIpcBuffer), &[address], &[frame.cptr()])
    }

    /// Sets the priority, up to the maximum controlled priority of `authority`.
    pub fn set_priority(self, authority: Tcb, priority: u8) -> Result {
        perform(
            self.0,
            label!(TcbSetPriority),
            &[priority as usize],
            &[authority.0],
        )
    }

    /// Sets the maximum controlled priority, up to that of `authority`.
    pub fn set_mc_priority(self, authority: Tcb, priority: u8) -> Result {
        perform(
            self.0,
            label!(TcbSetMcPriority),
            &[priority as usize],
            &[authority.0],
        )
    }

    /// Sets the criticality, up to the maximum controlled criticality of `authority`. The scheduling context
    /// that is bound to the thread takes it, even while donated. (Escapement)
    pub fn set_criticality(self, authority: Tcb, criticality: u8) -> Result {
        perform(
            self.0,
            label!(TcbSetCriticality),
            &[criticality as usize],
            &[authority.0],
        )
    }

    /// Sets the maximum controlled criticality, up to that of `authority`. (Escapement)
    pub fn set_mc_criticality(self, authority: Tcb, criticality: u8) -> Result {
        perform(
            self.0,
            label!(TcbSetMcCriticality),
            &[criticality as usize],
            &[authority.0],
        )
    }

    /// Sets maximum controlled priority, priority, scheduling context (or null) and fault endpoint (or
    /// null).
    pub fn set_sched_params(
        self,
        authority: Tcb,
        mc_priority: u8,
        priority: u8,
        context: impl Capability,
        fault_endpoint: impl Capability,
    ) -> Result {
        perform(
            self.0,
            label!(TcbSetSchedParams),
            &[mc_priority as usize, priority as usize],
            &[authority.0, context.cptr(), fault_endpoint.cptr()],
        )
    }

    /// Sets the endpoint (or null) that receives the thread's timeout faults.
    pub fn set_timeout_endpoint(self, endpoint: impl Capability) -> Result {
        perform(
            self.0,
            label!(TcbSetTimeoutEndpoint),
            &[],
            &[endpoint.cptr()],
        )
    }

    /// Names the thread for messages of debug kernels. Kernels without a console do not store names.
    pub fn set_name(self, name: &str) {
        if cfg!(feature = "debug-console") {
            crate::syscall::debug_name_thread(self, name);
        }
    }

    /// Suspends the thread and cancels the operation that it is blocked on.
    pub fn suspend(self) -> Result {
        perform(self.0, label!(TcbSuspend), &[], &[])
    }

    /// Resumes a suspended thread.
    pub fn resume(self) -> Result {
        perform(self.0, label!(TcbResume), &[], &[])
    }

    /// Binds a notification: its signals are delivered to this thread while it receives.
    pub fn bind_notification(self, notification: Notification) -> Result {
        perform(
            self.0,
            label!(TcbBindNotification),
            &[],
            &[notification.cptr()],
        )
    }

    /// Unbinds the notification.
    pub fn unbind_notification(self) -> Result {
        perform(self.0, label!(TcbUnbindNotification), &[], &[])
    }

    /// Sets the thread-local storage base register, where this library keeps the address of the IPC buffer.
    pub fn set_tls_base(self, base: usize) -> Result {
        perform(self.0, label!(TcbSetTlsBase), &[base], &[])
    }

    /// Clears and sets thread flags ([`abi::thread_flags`]); returns the new flags.
    pub fn set_flags(self, clear: usize, set: usize) -> Result<usize> {
        let answer = invoke(self.0, label!(TcbSetFlags), &[clear, set], &[])?;
        Ok(answer.word(0))
    }

    /// Sets breakpoint `number` at `address`, with kind, size and direction as in [`abi::breakpoint`].
    pub fn set_breakpoint(
        self,
        number: usize,
        address: usize,
        kind: usize,
        size: usize,
        direction: usize,
    ) -> Result {
        let words = [number, address, kind, size, direction];
        perform(self.0, optional_label!(TcbSetBreakpoint), &words, &[])
    }

    /// The state of breakpoint `number`: address, kind, size, direction, and whether it is set.
    pub fn breakpoint(self, number: usize) -> Result<[usize; 5]> {
        let answer = invoke(self.0, optional_label!(TcbGetBreakpoint), &[number], &[])?;
        Ok([0, 1, 2, 3, 4].map(|index| answer.word(index)))
    }

    /// Clears breakpoint `number`.
    pub fn unset_breakpoint(self, number: usize) -> Result {
        perform(self.0, optional_label!(TcbUnsetBreakpoint), &[number], &[])
    }

    /// Makes the thread raise a debug fault after each so many instructions; 0 ends this. Returns whether it
    /// uses breakpoint `number`.
    pub fn step(self, number: usize, instructions: usize) -> Result<bool> {
        let label = optional_label!(TcbConfigureSingleStepping);
        let answer = invoke(self.0, label, &[number, instructions], &[])?;
        Ok(answer.word(0) != 0)
    }
}
