//! The saved registers of a thread.

use abi::registers::{CAP, COUNT, FLAGS, PC, SP};
use kernel::arch::UserContext;

use super::KnownSpace;
use crate::breakpoints::{self, Debug};
use crate::user_timer::{InContext, SavedTimer};

/// Program status register: the condition flags, which the user controls.
const CONDITIONS: usize = 0xf800_0000;
/// Program status register: user mode, fast interrupts masked (ARM DDI 0406, section B1.3.3).
const USER_MODE: usize = 0x10 | 1 << 6;
/// Program status register: asynchronous aborts masked.
const ABORTS_MASKED: usize = if cfg!(feature = "debug") { 0 } else { 1 << 8 };
const USER_STATUS: usize = USER_MODE | ABORTS_MASKED;

/// The floating-point and vector registers.
#[derive(Clone, Debug)]
#[repr(C, align(8))]
pub struct FpuContext {
    /// d0 to d31.
    pub registers: [u64; 32],
    /// Status and control.
    pub status: u32,
}

/// The registers of a thread. The trap entry saves them and relies on the order: the general registers,
/// then program counter and status in the order of the instructions `srs` and `rfe`.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Context {
    /// r0 to r14.
    general: [usize; 15],
    /// Where the thread continues.
    next_pc: usize,
    /// Its program status register.
    status: usize,
    /// The instruction that entered the kernel.
    restart_pc: usize,
    /// The thread-local register that users can write (TPIDRURW).
    thread_local: usize,
    /// The thread-local register that users can only read (TPIDRURO).
    thread_local_read_only: usize,
    /// The result of the last lookup of its address space.
    pub space: KnownSpace,
    /// Floating-point registers, while no core has them loaded.
    pub fpu: FpuContext,
    /// The user timer, while no core has it loaded.
    pub(crate) timer: InContext,
    /// Breakpoints and single stepping.
    pub(crate) debug: breakpoints::InContext,
}

/// Offsets for the trap entry.
impl Context {
    /// Offset of the program counter, which the status follows.
    pub const RETURN_STATE: usize = core::mem::offset_of!(Self, next_pc);
    /// Offset of the restart address.
    pub const RESTART_PC: usize = core::mem::offset_of!(Self, restart_pc);
    /// Offset of TPIDRURW.
    pub const THREAD_LOCAL: usize = core::mem::offset_of!(Self, thread_local);

    /// Offset of TPIDRURO.
    pub const THREAD_LOCAL_READ_ONLY: usize = core::mem::offset_of!(Self, thread_local_read_only);
    /// Offset of r0; the others follow.
    pub const GENERAL: usize = core::mem::offset_of!(Self, general);
    /// Offset of the state of breakpoints, if there is one.
    pub(crate) const DEBUG: usize = core::mem::offset_of!(Self, debug);
    /// Offset of the last address space lookup.
    pub const SPACE: usize = core::mem::offset_of!(Self, space);

    /// If the thread is single-stepped, the step begins at its next instruction.
    #[inline(always)]
    pub(crate) fn begin_step(&mut self) {
        /// CPSR.T: Thumb instructions.
        const THUMB: usize = 1 << 5;
        let (pc, short) = (self.next_pc, self.status & THUMB != 0);
        self.debug
            .iter_mut()
            .for_each(|it| it.begin_step(pc, short));
    }

    /// The thread-local registers: the writable and the read-only one.
    pub const fn thread_local(&self) -> (usize, usize) {
        (self.thread_local, self.thread_local_read_only)
    }
}

const _: () = assert!(Context::RETURN_STATE == 15 * 4);

/// The field that holds a register of the user interface.
enum Field {
    General(usize),
    RestartPc,
    Status,
    ThreadLocal,
    ThreadLocalReadOnly,
}

/// The order of the user interface; see [`abi::registers::NAMES`].
const ORDER: [Field; COUNT] = {
    use Field::*;
    [
        RestartPc,
        General(13),
        Status,
        General(0),
        General(1),
        General(8),
        General(9),
        General(10),
        General(11),
        General(12),
        General(2),
        General(3),
        General(4),
        General(5),
        General(6),
        General(7),
        General(14),
        ThreadLocal,
        ThreadLocalReadOnly,
    ]
};
const _: () = assert!(PC == 0 && SP == 1 && FLAGS == 2 && CAP == 3);

impl UserContext for Context {
    fn new() -> Self {
        Self {
            general: [0; 15],
            next_pc: 0,
            status: USER_STATUS,
            restart_pc: 0,
            thread_local: 0,
            thread_local_read_only: 0,
            space: KnownSpace::NONE,
            fpu: FpuContext {
                registers: [0; 32],
                status: 0,
            },
            timer: [SavedTimer::OFF; _],
            debug: [const { Debug::NONE }; _],
        }
    }

    #[inline]
    fn get(&self, index: usize) -> usize {
        match ORDER[index] {
            Field::General(number) => self.general[number],
            Field::RestartPc => self.restart_pc,
            Field::Status => self.status,
            Field::ThreadLocal => self.thread_local,
            Field::ThreadLocalReadOnly => self.thread_local_read_only,
        }
    }

    #[inline]
    fn set(&mut self, index: usize, value: usize) {
        match ORDER[index] {
            Field::General(number) => self.general[number] = value,
            Field::RestartPc => {
                self.restart_pc = value;
                self.next_pc = value;
                self.begin_step();
            }
            Field::Status => {
                self.status = value & CONDITIONS | USER_STATUS;
                self.begin_step();
            }
            Field::ThreadLocal => self.thread_local = value,
            Field::ThreadLocalReadOnly => self.thread_local_read_only = value,
        }
    }

    /// Programs find their thread-local storage by either register, depending on the options with which their
    /// seL4 was built. A program does not use the other one, so both get the base.
    fn set_tls_base(&mut self, base: usize) {
        self.thread_local = base;
        self.thread_local_read_only = base;
    }

    #[inline]
    fn set_result(&mut self, index: usize, value: usize) {
        if let Field::General(number) = ORDER[index] {
            self.general[number] = value;
        }
    }

    fn next_pc(&self) -> usize {
        self.next_pc
    }

    fn restart(&mut self) {
        // A repeated system call is a new step. Otherwise a step that is not counted yet may be under way.
        if self.next_pc != self.restart_pc {
            self.next_pc = self.restart_pc;
            self.begin_step();
        }
    }

    fn set_next_pc(&mut self, address: usize) {
        self.next_pc = address;
    }

    fn complete_system_call(&mut self) {
        self.restart_pc = self.next_pc;
    }
}
