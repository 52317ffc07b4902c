//! x86-64.

use core::arch::{asm, naked_asm};
use userlib::arch::Registers;

/// Bytes of the first instruction of [`load`].
pub const LOAD_BYTES: usize = 3;
/// Bytes of the first instruction of [`store`].
pub const STORE_BYTES: usize = 3;
/// Bytes of the first instruction of [`undefined`].
pub const UNDEFINED_BYTES: usize = 2;
/// Where in [`system_call`] the system call is.
pub const SYSTEM_CALL_OFFSET: usize = 4;
/// Number and capability of the second system call of [`call_twice`]: r14, rbx.
pub const SECOND_CALL: (usize, usize) = (16, 4);
/// Vector of an undefined instruction, which the fault message tells.
pub const UNDEFINED_NUMBER: usize = 6;
/// Vector of a floating-point unit that is not available: what those hear whom it is denied.
pub const DENIED_NUMBER: usize = 7;
/// Status of a fault by reading where nothing is mapped: user.
pub const STATUS_READ: usize = 4;
/// The same by writing.
pub const STATUS_WRITE: usize = STATUS_READ | 2;
/// Status of a fault by writing to a page that is mapped for reading: user, write, present.
pub const STATUS_WRITE_PROTECTED: usize = 7;

/// Reads a word.
///
/// # Safety
/// Nothing of Rust's is there, or it may be read.
#[unsafe(naked)]
pub unsafe extern "C" fn load(address: usize) -> usize {
    naked_asm!("mov rax, [rdi]", "ret")
}

/// Writes a word.
///
/// # Safety
/// Nothing of Rust's is there, or it may be changed.
#[unsafe(naked)]
pub unsafe extern "C" fn store(address: usize, value: usize) {
    naked_asm!("mov [rdi], rsi", "ret")
}

/// Executes an undefined instruction.
///
/// # Safety
/// None needed.
#[unsafe(naked)]
pub unsafe extern "C" fn undefined() {
    naked_asm!("ud2", "ret")
}

/// A system call by number, with capability and message information; the capability register after.
///
/// # Safety
/// That of the system call.
#[unsafe(naked)]
pub unsafe extern "C" fn system_call(cap: usize, info: usize, number: usize) -> usize {
    naked_asm!(
        "push rbx",
        "mov rbx, rsp",
        "syscall",
        "mov rsp, rbx",
        "pop rbx",
        "mov rax, rdi",
        "ret"
    )
}

const _: () = assert!(
    abi::registers::CAP == 8 && abi::registers::INFO == 7 && abi::registers::SYSCALL == 6,
    "the C calling convention puts the arguments where the ABI wants them"
);

/// A system call by number, with all registers that count.
///
/// # Safety
/// That of the system call.
pub unsafe fn raw_system_call(number: usize, registers: &mut Registers) {
    // SAFETY: as in userlib: what the kernel changes is declared; the rest is the caller's promise.
    unsafe {
        asm!(
            "mov {saved}, rbx",
            "mov rbx, rsp",
            "syscall",
            "mov rsp, rbx",
            "mov rbx, {saved}",
            saved = out(reg) _,
            in("rdx") number,
            inout("rdi") registers.cap,
            inout("rsi") registers.info,
            inout("r10") registers.words[0],
            inout("r8") registers.words[1],
            inout("r9") registers.words[2],
            inout("r15") registers.words[3],
            in("r12") registers.reply,
            in("r13") registers.destination,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
}

/// A program: runs for ever.
///
/// # Safety
/// None needed.
#[unsafe(naked)]
pub unsafe extern "C" fn spin() {
    naked_asm!("2:", "jmp 2b")
}

/// A program: one system call, then runs for ever.
///
/// # Safety
/// That of the system call.
#[unsafe(naked)]
pub unsafe extern "C" fn call_once() {
    naked_asm!("syscall", "2:", "jmp 2b")
}

/// A program: two system calls, then runs for ever.
///
/// # Safety
/// That of the system calls.
#[unsafe(naked)]
pub unsafe extern "C" fn call_twice() {
    naked_asm!(
        "syscall",
        "mov rdx, r14",
        "mov rdi, rbx",
        "syscall",
        "2:",
        "jmp 2b"
    )
}

/// A program: counts in the word that the first argument register points at.
///
/// # Safety
/// The word is a counter.
#[unsafe(naked)]
pub unsafe extern "C" fn count_up() {
    naked_asm!("2:", "inc qword ptr [rdi]", "jmp 2b")
}

/// Fills the floating-point registers.
pub fn fill_fpu(value: u64) {
    // SAFETY: the program is compiled without floating point, so that the registers are free.
    unsafe {
        asm!(
            "movq xmm0, {0}", "movq xmm1, {0}", "movq xmm2, {0}", "movq xmm3, {0}",
            "movq xmm4, {0}", "movq xmm5, {0}", "movq xmm6, {0}", "movq xmm7, {0}",
            "movq xmm8, {0}", "movq xmm9, {0}", "movq xmm10, {0}", "movq xmm11, {0}",
            "movq xmm12, {0}", "movq xmm13, {0}", "movq xmm14, {0}", "movq xmm15, {0}",
            in(reg) value,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// Whether all floating-point registers hold a value.
pub fn fpu_holds(value: u64) -> bool {
    let mut registers = [0u64; 16];
    // SAFETY: as above; the array has room for all.
    unsafe {
        asm!(
            "movq [{0}], xmm0", "movq [{0} + 8], xmm1", "movq [{0} + 16], xmm2",
            "movq [{0} + 24], xmm3", "movq [{0} + 32], xmm4", "movq [{0} + 40], xmm5",
            "movq [{0} + 48], xmm6", "movq [{0} + 56], xmm7", "movq [{0} + 64], xmm8",
            "movq [{0} + 72], xmm9", "movq [{0} + 80], xmm10", "movq [{0} + 88], xmm11",
            "movq [{0} + 96], xmm12", "movq [{0} + 104], xmm13", "movq [{0} + 112], xmm14",
            "movq [{0} + 120], xmm15",
            in(reg) registers.as_mut_ptr(),
            options(nostack, preserves_flags)
        );
    }
    registers.iter().all(|&register| register == value)
}
