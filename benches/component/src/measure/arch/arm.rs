//! 32-bit Arm: the cycle counter, which QEMU advances by one for each instruction; or, if QEMU does not
//! emulate it, a timer; or, if users can access neither, the emulator's own count.
//!
//! A timer that ticks once in ten instructions can resolve single instructions, too. For an integer *t*, the
//! ten quotients ⌊(*t* + *i*) / 10⌋ for *i* = 0…9 add up to *t* plus a constant (Hermite's identity). So a
//! stamp is the sum of ten readings, each at another remainder.
//!
//! The emulator's plugin (`xtask/plugin`) reports its count on a mark, an instruction without effect: it
//! writes the count into the word after the two instructions that follow.

use crate::measure::Stamps;
use crate::protocol::names;
use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::AtomicUsize;
use userlib::arch::Registers;
use userlib::{Startup, abi};

/// Bytes of an undefined instruction.
pub const UNDEFINED_BYTES: usize = 4;

/// Labels of the methods of frames.
pub mod page {
    use userlib::abi::Method;
    /// Maps a frame, or changes its rights.
    pub const MAP: usize = Method::ArmPageMap.number();
    /// Unmaps a frame.
    pub const UNMAP: usize = Method::ArmPageUnmap.number();
}

/// The counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counter {
    /// The processor's cycle counter.
    Cycles,
    /// A timer; the address of its counter.
    Timer(usize),
    /// The emulator's count.
    Emulator,
}

/// A function that takes stamps around an instruction.
type Stamped = unsafe extern "C" fn(usize, *mut Registers, *mut Stamps, usize);

impl Counter {
    /// The counter that the runner chose.
    pub fn new(startup: &'static Startup) -> Self {
        match startup.find_memory(names::COUNTER) {
            Some((address, _)) => Self::Timer(address + startup.number(names::COUNTER_OFFSET)),
            None if !userlib::board::HAS_CYCLE_COUNTER => Self::Emulator,
            None => Self::Cycles,
        }
    }

    /// Whether it advances.
    pub fn counts(self) -> bool {
        let stamps = self.nothing();
        stamps.before != stamps.after
    }

    /// Whether all cores read the same count, so that readings of two cores can be compared.
    pub fn is_common(self) -> bool {
        !matches!(self, Self::Cycles)
    }

    /// A reading that can be compared with one of another core, if there is such a counter.
    pub fn common(self) -> Option<usize> {
        self.is_common().then(|| self.now())
    }

    /// The number of instructions between two readings.
    pub fn between(self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from)
    }

    /// A single reading.
    pub fn now(self) -> usize {
        self.nothing().before
    }

    /// A system call between two stamps.
    pub fn timed(self, call: abi::Syscall, registers: &mut Registers) -> Stamps {
        self.stamped(call.number(), registers, self.functions().system_call)
    }

    /// Two stamps with no instruction between them.
    pub fn nothing(self) -> Stamps {
        self.stamped(0, &mut Registers::default(), self.functions().nothing)
    }

    /// A faulting instruction between two stamps. The handler must continue the thread after it.
    pub fn fault(self) -> Stamps {
        self.stamped(0, &mut Registers::default(), self.functions().undefined)
    }

    fn stamped(self, number: usize, registers: &mut Registers, function: Stamped) -> Stamps {
        let mut stamps = Stamps::default();
        // SAFETY: a system call changes only registers and the IPC buffer, as for `userlib::arch::syscall`; a
        // timer is mapped.
        unsafe { function(number, registers, &mut stamps, self.timer()) };
        stamps
    }

    /// The address of the timer's counter; 0 if there is no timer.
    fn timer(self) -> usize {
        match self {
            Self::Timer(address) => address,
            Self::Cycles | Self::Emulator => 0,
        }
    }

    fn functions(self) -> &'static Functions {
        match self {
            Self::Cycles => &cycles::FUNCTIONS,
            Self::Timer(_) => &timer::FUNCTIONS,
            Self::Emulator => &emulator::FUNCTIONS,
        }
    }

    /// Takes a stamp, then runs an endless loop that counts its iterations.
    pub fn spin(self, stamp: &AtomicUsize) -> ! {
        // SAFETY: the function writes only to its arguments; a timer is mapped.
        unsafe { (self.functions().spin)(stamp.as_ptr(), self.timer()) }
    }

    /// The address at which such a thread can be restarted: after the first instruction, as the register with
    /// the address of the timer is set.
    pub fn spin_again(self) -> usize {
        self.functions().spin as usize + 4
    }

    /// The counter's value when the loop of [`spin`](Self::spin) was interrupted.
    pub fn interrupted(self, stamp: usize, registers: &userlib::cap::Registers) -> usize {
        /// Index of r2.
        const TURNS: usize = 10;
        /// Instructions from the end of the stamp to the loop.
        const BEFORE: usize = 2;
        /// The first byte of a jump.
        const JUMP: u8 = 0xea;
        let [.., first] = instruction(registers.0[abi::registers::PC]);
        let half = usize::from(first == JUMP);
        stamp + self.cost() + BEFORE + 2 * registers.0[TURNS] - half
    }
}

/// The instruction at an address of this program's code.
fn instruction(address: usize) -> [u8; 4] {
    // SAFETY: code is readable and does not change.
    unsafe { core::ptr::with_exposed_provenance::<[u8; 4]>(address).read() }
}

/// The functions for one kind of stamp.
struct Functions {
    system_call: Stamped,
    nothing: Stamped,
    undefined: Stamped,
    spin: unsafe extern "C" fn(*mut usize, usize) -> !,
}

/// Defines the functions for one kind of stamp: `stamp!(register)`, which may use r11 and has the address of
/// the timer's counter in r9.
macro_rules! counter {
    ($(#[$attribute:meta])* $module:ident, $stamp:ident) => {
        $(#[$attribute])*
        mod $module {
            use super::*;

            pub const FUNCTIONS: Functions = Functions { system_call, nothing, undefined, spin };

            stamped!(system_call, $stamp, "svc #0");
            stamped!(nothing, $stamp, "");
            stamped!(undefined, $stamp, "udf #0");

            #[unsafe(naked)]
            unsafe extern "C" fn spin(stamp: *mut usize, timer: usize) -> ! {
                naked_asm!(
                    "mov r9, r1",
                    in_one_page!(),
                    $stamp!("r10"),
                    "str r10, [r0]",
                    "mov r2, #0",
                    "2:", "add r2, r2, #1",
                    "b 2b",
                )
            }
        }
    };
}

/// Defines a function that takes stamps around an instruction, with the registers of a system call; its
/// number is the first argument.
macro_rules! stamped {
    ($name:ident, $stamp:ident, $instruction:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(
            number: usize,
            registers: *mut Registers,
            stamps: *mut Stamps,
            timer: usize,
        ) {
            naked_asm!(
                "push {{r4-r11, lr}}",
                "push {{r1, r2}}",
                "mov r7, r0",
                "mov r12, r1",
                "mov r9, r3",
                "ldr r0, [r12, {cap}]",
                "ldr r1, [r12, {info}]",
                "ldr r2, [r12, {words}]",
                "ldr r3, [r12, {words} + 4]",
                "ldr r4, [r12, {words} + 8]",
                "ldr r5, [r12, {words} + 12]",
                "ldr r6, [r12, {reply}]",
                "ldr r8, [r12, {destination}]",
                in_one_page!(),
                $stamp!("r10"),
                $instruction,
                $stamp!("r12"),
                "pop {{r9, r11}}",
                "str r0, [r9, {cap}]",
                "str r1, [r9, {info}]",
                "str r2, [r9, {words}]",
                "str r3, [r9, {words} + 4]",
                "str r4, [r9, {words} + 8]",
                "str r5, [r9, {words} + 12]",
                "str r10, [r11, {before}]",
                "str r12, [r11, {after}]",
                "pop {{r4-r11, pc}}",
                cap = const offset_of!(Registers, cap),
                info = const offset_of!(Registers, info),
                words = const offset_of!(Registers, words),
                reply = const offset_of!(Registers, reply),
                destination = const offset_of!(Registers, destination),
                before = const offset_of!(Stamps, before),
                after = const offset_of!(Stamps, after),
            )
        }
    };
}

/// The word that the emulator writes must be in the same page as the mark. Two stamps with an instruction
/// between them take 36 bytes.
macro_rules! in_one_page {
    () => {
        ".p2align 6"
    };
}

/// PMCCNTR (ARM DDI 0406, section B4.1.113).
macro_rules! cycle_stamp {
    ($register:literal) => {
        concat!("mrc p15, 0, ", $register, ", c9, c13, 0")
    };
}

/// Ten readings at offsets of 0, 1, 3, 5, 7, 9, 12, 14, 16 and 18 instructions.
macro_rules! timer_stamp {
    ($register:literal) => {
        concat!(
            "ldr ",
            $register,
            ", [r9]\n",
            ".rept 5\n",
            "ldr r11, [r9]\n",
            "add ",
            $register,
            ", ",
            $register,
            ", r11\n",
            ".endr\n",
            "nop\n",
            ".rept 4\n",
            "ldr r11, [r9]\n",
            "add ",
            $register,
            ", ",
            $register,
            ", r11\n",
            ".endr\n",
        )
    };
}

/// The mark, the word for its result, and a branch around that word.
macro_rules! emulator_stamp {
    ($register:literal) => {
        concat!(
            ".inst 0xf55ff45f\n",
            "ldr ",
            $register,
            ", [pc]\n",
            "b 3f\n",
            ".word 0\n",
            "3:\n",
        )
    };
}

counter!(
    /// By the cycle counter.
    cycles, cycle_stamp
);
counter!(
    /// By a timer that ticks once in ten instructions.
    timer, timer_stamp
);
counter!(
    /// By the emulator's count.
    emulator, emulator_stamp
);

/// Changes a floating-point register.
pub fn use_fpu(value: usize) {
    // SAFETY: the program is compiled without floating point, so the compiler does not use these registers.
    unsafe {
        asm!(".fpu vfpv3", "vmov d0, {0}, {0}", in(reg) value,
            options(nomem, nostack, preserves_flags))
    }
}
