//! x86-64: the time stamp counter, which QEMU advances by one for each instruction.

use crate::measure::Stamps;
use core::arch::{asm, naked_asm};
use core::mem::offset_of;
use core::sync::atomic::AtomicUsize;
use userlib::arch::Registers;
use userlib::{Startup, abi};

/// Bytes of an undefined instruction.
pub const UNDEFINED_BYTES: usize = 2;

/// Labels of the methods of frames.
pub mod page {
    use userlib::abi::Method;
    /// Maps a frame, or changes its rights.
    pub const MAP: usize = Method::X86PageMap.number();
    /// Unmaps a frame.
    pub const UNMAP: usize = Method::X86PageUnmap.number();
}

/// The time stamp counter.
#[derive(Clone, Copy, Debug)]
pub struct Counter;

impl Counter {
    /// The counter; it has no state.
    pub fn new(_: &'static Startup) -> Self {
        Self
    }

    /// Whether all cores read the same count, so that readings of two cores can be compared.
    pub fn is_common(self) -> bool {
        true
    }

    /// A reading that can be compared with one of another core.
    pub fn common(self) -> Option<usize> {
        Some(self.now())
    }

    /// The number of instructions between two readings.
    pub fn between(self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from)
    }

    /// A single reading.
    #[inline(always)]
    pub fn now(self) -> usize {
        userlib::arch::time_stamp() as usize
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
        /// Index of rax.
        const TURNS: usize = 3;
        /// Instructions from the stamp to the loop.
        const BEFORE: usize = 5;
        let offset = registers.0[abi::registers::PC] - (spin as *const () as usize);
        let half = usize::from(offset == SPIN_JUMP);
        stamp + BEFORE + 2 * registers.0[TURNS] - half
    }
}

/// Defines a function that takes stamps around an instruction, with the registers of a system call; its
/// number is the first argument. The stack pointer is kept in rbx, the first stamp in r14.
macro_rules! stamped {
    ($name:ident, $instruction:literal) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(number: usize, registers: *mut Registers, stamps: *mut Stamps) {
            naked_asm!(
                "push rbx", "push rbp", "push r12", "push r13", "push r14", "push r15",
                "push rdx", "push rsi",
                "mov r11, rdi",
                "mov rax, rsi",
                "mov rdi, [rax + {cap}]",
                "mov rsi, [rax + {info}]",
                "mov r10, [rax + {words}]",
                "mov r8, [rax + {words} + 8]",
                "mov r9, [rax + {words} + 16]",
                "mov r15, [rax + {words} + 24]",
                "mov r12, [rax + {reply}]",
                "mov r13, [rax + {destination}]",
                "mov rbx, rsp",
                "rdtsc", "shl rdx, 32", "or rax, rdx", "mov r14, rax",
                "mov rdx, r11",
                $instruction,
                "rdtsc", "shl rdx, 32", "or rax, rdx",
                "mov rsp, rbx",
                "pop rcx", "pop rdx",
                "mov [rcx + {cap}], rdi",
                "mov [rcx + {info}], rsi",
                "mov [rcx + {words}], r10",
                "mov [rcx + {words} + 8], r8",
                "mov [rcx + {words} + 16], r9",
                "mov [rcx + {words} + 24], r15",
                "mov [rdx + {before}], r14",
                "mov [rdx + {after}], rax",
                "pop r15", "pop r14", "pop r13", "pop r12", "pop rbp", "pop rbx",
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

stamped!(system_call, "syscall");
stamped!(nothing, "");
stamped!(undefined, "ud2");

/// Offset of the jump in [`spin`].
const SPIN_JUMP: usize = 17;

#[unsafe(naked)]
unsafe extern "C" fn spin(stamp: *mut usize) -> ! {
    naked_asm!(
        "rdtsc",
        "shl rdx, 32",
        "or rax, rdx",
        "mov [rdi], rax",
        "xor eax, eax",
        "2:",
        "inc rax",
        "jmp 2b",
    )
}

/// Changes a floating-point register.
pub fn use_fpu(value: usize) {
    // SAFETY: the program is compiled without floating point, so the compiler does not use these registers.
    unsafe { asm!("movq xmm0, {}", in(reg) value, options(nomem, nostack, preserves_flags)) }
}
