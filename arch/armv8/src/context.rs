//! The saved registers of a thread.

use abi::config::HARDWARE_DEBUG;
use abi::registers::{CAP, COUNT, FLAGS, PC, SP};
use arch_arm::breakpoints::{self, Debug};
use arch_arm::user_timer::{InContext, SavedTimer};
use kernel::arch::UserContext;

use crate::spaces::KnownSpace;

/// Saved program status: the condition flags, which the user controls.
const CONDITIONS: usize = 0xf000_0000;
/// Saved program status: level 0 in AArch64, fast interrupts masked (Arm ARM, section C5.2.19).
const USER_MODE: usize = 1 << 6;
/// Saved program status: asynchronous errors masked.
const ERRORS_MASKED: usize = if cfg!(feature = "debug") { 0 } else { 1 << 8 };
/// Saved program status: software step, if enabled (MDSCR_EL1.SS).
const STEPS: usize = 1 << 21;
const USER_STATUS: usize = USER_MODE | ERRORS_MASKED;

/// The floating-point and vector registers.
#[derive(Clone, Debug)]
#[repr(C, align(16))]
pub struct FpuContext {
    /// q0 to q31.
    registers: [u128; 32],
    /// Status and control.
    status: u64,
    control: u64,
}

/// The registers of a thread. The trap entry saves them and relies on the order. The stack pointer of level
/// 1 points here while the thread runs, hence the alignment.
#[derive(Clone, Debug)]
#[repr(C, align(16))]
pub struct Context {
    /// x0 to x30.
    general: [usize; 31],
    stack_pointer: usize,
    /// Where the thread continues.
    next_pc: usize,
    /// Its program status.
    status: usize,
    /// The instruction that entered the kernel.
    restart_pc: usize,
    /// The thread-local register that users can write (TPIDR_EL0).
    thread_local: usize,
    /// The thread-local register that users can only read (TPIDRRO_EL0).
    thread_local_read_only: usize,
    /// The result of the last lookup of its address space.
    pub(crate) space: KnownSpace,
    /// Floating-point registers, while no core has them loaded.
    pub(crate) fpu: FpuContext,
    /// The user timer, while no core has it loaded.
    pub(crate) timer: InContext,
    /// Breakpoints and single stepping.
    pub(crate) debug: breakpoints::InContext,
}

/// Offsets for the trap entry.
impl Context {
    /// Offset of the program counter, which the status follows.
    pub(crate) const NEXT_PC: usize = core::mem::offset_of!(Self, next_pc);
    /// Offset of the restart address, which TPIDR_EL0 follows.
    pub(crate) const RESTART_PC: usize = core::mem::offset_of!(Self, restart_pc);

    /// Offset of TPIDR_EL0, which TPIDRRO_EL0 follows.
    pub(crate) const THREAD_LOCAL: usize = core::mem::offset_of!(Self, thread_local);
    /// Offset of the state of breakpoints, if there is one.
    pub(crate) const DEBUG: usize = core::mem::offset_of!(Self, debug);
    /// Offset of the last address space lookup.
    pub(crate) const SPACE: usize = core::mem::offset_of!(Self, space);

    /// If the thread is single-stepped, the step begins at its next instruction: the processor clears the flag
    /// at its end (Arm ARM, section D2.11.3).
    #[inline(always)]
    pub(crate) fn begin_step(&mut self) {
        if self.debug.iter().any(Debug::is_stepping) {
            self.status |= STEPS;
        }
    }

    /// The thread-local registers: the writable and the read-only one.
    pub(crate) const fn thread_local(&self) -> (usize, usize) {
        (self.thread_local, self.thread_local_read_only)
    }
}

const _: () = {
    use core::mem::offset_of;
    assert!(offset_of!(Context, stack_pointer) == 31 * 8);
    assert!(offset_of!(Context, status) == Context::NEXT_PC + 8);
    assert!(offset_of!(Context, thread_local) == Context::RESTART_PC + 8);
    assert!(offset_of!(Context, thread_local_read_only) == Context::THREAD_LOCAL + 8);
};

/// The field that holds a register of the user interface.
enum Field {
    General(usize),
    StackPointer,
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
        StackPointer,
        Status,
        General(0),
        General(1),
        General(2),
        General(3),
        General(4),
        General(5),
        General(6),
        General(7),
        General(8),
        General(16),
        General(17),
        General(18),
        General(29),
        General(30),
        General(9),
        General(10),
        General(11),
        General(12),
        General(13),
        General(14),
        General(15),
        General(19),
        General(20),
        General(21),
        General(22),
        General(23),
        General(24),
        General(25),
        General(26),
        General(27),
        General(28),
        ThreadLocal,
        ThreadLocalReadOnly,
    ]
};
const _: () = assert!(PC == 0 && SP == 1 && FLAGS == 2 && CAP == 3);

impl UserContext for Context {
    fn new() -> Self {
        Self {
            general: [0; 31],
            stack_pointer: 0,
            next_pc: 0,
            status: USER_STATUS,
            restart_pc: 0,
            thread_local: 0,
            thread_local_read_only: 0,
            space: KnownSpace::NONE,
            fpu: FpuContext {
                registers: [0; 32],
                status: 0,
                control: 0,
            },
            timer: [SavedTimer::OFF; _],
            debug: [const { Debug::NONE }; _],
        }
    }

    // Inlined because nearly all callers pass a constant index.
    #[inline(always)]
    fn get(&self, index: usize) -> usize {
        match ORDER[index] {
            Field::General(number) => self.general[number],
            Field::StackPointer => self.stack_pointer,
            Field::RestartPc => self.restart_pc,
            // The kernel sets the flag on its own.
            Field::Status if HARDWARE_DEBUG => self.status & !STEPS,
            Field::Status => self.status,
            Field::ThreadLocal => self.thread_local,
            Field::ThreadLocalReadOnly => self.thread_local_read_only,
        }
    }

    #[inline]
    fn set(&mut self, index: usize, value: usize) {
        match ORDER[index] {
            Field::General(number) => self.general[number] = value,
            Field::StackPointer => self.stack_pointer = value,
            Field::RestartPc => {
                self.restart_pc = value;
                self.next_pc = value;
            }
            Field::Status => {
                self.status = value & CONDITIONS | USER_STATUS;
                self.begin_step();
            }
            Field::ThreadLocal => self.thread_local = value,
            Field::ThreadLocalReadOnly => self.thread_local_read_only = value,
        }
    }

    #[inline(always)]
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
        if HARDWARE_DEBUG && self.next_pc != self.restart_pc {
            self.begin_step();
        }
        self.next_pc = self.restart_pc;
    }

    fn set_next_pc(&mut self, address: usize) {
        self.next_pc = address;
        if HARDWARE_DEBUG && address != self.restart_pc {
            self.status &= !STEPS;
        }
    }

    fn complete_system_call(&mut self) {
        self.restart_pc = self.next_pc;
    }
}
