//! 64-bit Arm: the cycle counter, which QEMU advances by one for each instruction.

use crate::measure::Stamps;
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

/// The cycle counter, PMCCNTR_EL0 (Arm ARM, section D13).
#[derive(Clone, Copy, Debug)]
pub struct Counter;

impl Counter {
    /// The counter; it has no state.
    pub fn new(_: &'static Startup) -> Self {
        Self
    }

    /// Whether all cores read the same count, so that readings of two cores can be compared.
    pub fn is_common(self) -> bool {
        false
    }

    /// A reading that can be compared with one of another core: of the generic timer's counter, in nanoseconds, since each
    /// core counts its own cycles. With QEMU's `-icount shift=0` an instruction takes a nanosecond; the counter advances by
    /// several at once.
    pub fn common(self) -> Option<usize> {
        let nanoseconds = 1_000_000_000 / userlib::arch::timer_frequency();
        Some((userlib::arch::timer_count() * nanoseconds) as usize)
    }

    /// The number of instructions between two readings.
    pub fn between(self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from)
    }

    /// A single reading.
    #[inline(always)]
    pub fn now(self) -> usize {
        let count;
        // SAFETY: kernels of kind `bench` let users read it.
        unsafe {
            asm!("mrs {}, pmccntr_el0", out(reg) count, options(nostack, preserves_flags));
        }
        count
    }

    /// A system call between two stamps.
    pub fn timed(self, call: abi::Syscall, registers: &mut Registers) -> Stamps {
        let mut stamps = Stamps::default();
        // SAFETY: a system call changes only registers and the IPC buffer, as for `userlib::arch::syscall`.
        unsafe { system_call(call.number(), registers, &mut stamps) };
        stamps
    }

    /// Two stamps with no instruction between them.
    pub fn nothing(self) -> Stamps {
        let mut stamps = Stamps::default();
        // SAFETY: the function writes only to its arguments.
        unsafe { nothing(0, &mut Registers::default(), &mut stamps) };
        stamps
    }

    /// A faulting instruction between two stamps. The handler must continue the thread after it.
    pub fn fault(self) -> Stamps {
        let mut stamps = Stamps::default();
        // SAFETY: the handler changes only the program counter.
        unsafe { undefined(0, &mut Registers::default(), &mut stamps) };
        stamps
    }

    /// Takes a stamp, then runs an endless loop that counts its iterations.
    pub fn spin(self, stamp: &AtomicUsize) -> ! {
        // SAFETY: the function writes only to its arguments.
        unsafe { spin(stamp.as_ptr()) }
    }

    /// The address at which such a thread can be restarted.
    pub fn spin_again(self) -> usize {
        spin as *const () as usize
    }

    /// The counter's value when the loop of [`spin`](Self::spin) was interrupted.
    pub fn interrupted(self, stamp: usize, registers: &userlib::cap::Registers) -> usize {
        /// Index of x2.
        const TURNS: usize = 5;
        /// Instructions from the stamp to the loop, the stamp included.
        const BEFORE: usize = 3;
        let offset = registers.0[abi::registers::PC] - (spin as *const () as usize);
        let half = usize::from(offset == SPIN_JUMP);
        stamp + BEFORE + 2 * registers.0[TURNS] - half
    }
}

/// Defines a function that takes stamps around an instruction, with the registers of a system call; its
/// number is the first argument.
macro_rules! stamped {
    ($name:ident, $instruction:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(number: usize, registers: *mut Registers, stamps: *mut Stamps) {
            naked_asm!(
                "stp x29, x30, [sp, #-48]!",
                "stp x19, x20, [sp, #16]",
                "stp x1, x2, [sp, #32]",
                "mov x7, x0",
                "mov x9, x1",
                "ldr x0, [x9, {cap}]",
                "ldr x1, [x9, {info}]",
                "ldr x2, [x9, {words}]",
                "ldr x3, [x9, {words} + 8]",
                "ldr x4, [x9, {words} + 16]",
                "ldr x5, [x9, {words} + 24]",
                "ldr x6, [x9, {reply}]",
                "ldr x8, [x9, {destination}]",
                "mrs x19, pmccntr_el0",
                $instruction,
                "mrs x20, pmccntr_el0",
                "ldp x9, x10, [sp, #32]",
                "str x0, [x9, {cap}]",
                "str x1, [x9, {info}]",
                "str x2, [x9, {words}]",
                "str x3, [x9, {words} + 8]",
                "str x4, [x9, {words} + 16]",
                "str x5, [x9, {words} + 24]",
                "str x19, [x10, {before}]",
                "str x20, [x10, {after}]",
                "ldp x19, x20, [sp, #16]",
                "ldp x29, x30, [sp], #48",
                "ret",
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

stamped!(system_call, "svc #0");
stamped!(nothing, "");
stamped!(undefined, "udf #0");

/// Offset of the jump in [`spin`].
const SPIN_JUMP: usize = 16;

#[unsafe(naked)]
unsafe extern "C" fn spin(stamp: *mut usize) -> ! {
    naked_asm!(
        "mrs x1, pmccntr_el0",
        "str x1, [x0]",
        "mov x2, #0",
        "2:",
        "add x2, x2, #1",
        "b 2b",
    )
}

/// Changes a floating-point register.
pub fn use_fpu(value: usize) {
    // SAFETY: the program is compiled without floating point, so the compiler does not use these registers.
    unsafe {
        asm!(".arch_extension fp", "fmov d0, {}", ".arch_extension nofp", in(reg) value,
            options(nomem, nostack, preserves_flags))
    }
}
