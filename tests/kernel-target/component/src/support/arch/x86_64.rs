//! x86-64.

use core::arch::{asm, naked_asm};
use userlib::arch::Registers;

/// Bytes of the first instruction of [`load`].
pub const LOAD_BYTES: usize = 3;
/// Bytes of the first instruction of [`store`].
pub const STORE_BYTES: usize = 3;
/// Bytes of the first instruction of [`undefined`].
pub const UNDEFINED_BYTES: usize = 2;
/// Offset of the system call instruction in [`system_call`].
pub const SYSTEM_CALL_OFFSET: usize = 4;
/// Register indices of number and capability of the second system call of [`call_twice`]: r14, rbx.
pub const SECOND_CALL: (usize, usize) = (16, 4);
/// The fault number of an undefined instruction: its vector.
pub const UNDEFINED_NUMBER: usize = 6;
/// The fault number of disabled floating point: the vector "device not available".
pub const DENIED_NUMBER: usize = 7;
/// Status of a read fault where nothing is mapped: user.
pub const STATUS_READ: usize = 4;
/// The same for a write.
pub const STATUS_WRITE: usize = STATUS_READ | 2;
/// Status of a write fault at a read-only page: user, write, present.
pub const STATUS_WRITE_PROTECTED: usize = 7;

/// Reads a word.
///
/// # Safety
/// No Rust object is there, or it may be read.
#[unsafe(naked)]
pub unsafe extern "C" fn load(address: usize) -> usize {
    naked_asm!("mov rax, [rdi]", "ret")
}

/// Writes a word.
///
/// # Safety
/// No Rust object is there, or it may be changed.
#[unsafe(naked)]
pub unsafe extern "C" fn store(address: usize, value: usize) {
    naked_asm!("mov [rdi], rsi", "ret")
}

/// Executes an undefined instruction.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn undefined() {
    naked_asm!("ud2", "ret")
}

/// Makes a system call by number, with capability and message information; returns the capability register.
///
/// # Safety
/// Those of the system call.
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

/// Makes a system call by number, with all registers that the ABI uses.
///
/// # Safety
/// Those of the system call.
pub unsafe fn raw_system_call(number: usize, registers: &mut Registers) {
    // SAFETY: as in userlib: all registers that the kernel changes are declared; the caller guarantees the
    // rest.
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
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn spin() {
    naked_asm!("2:", "jmp 2b")
}

/// A program: makes one system call, then runs for ever.
///
/// # Safety
/// Those of the system call.
#[unsafe(naked)]
pub unsafe extern "C" fn call_once() {
    naked_asm!("syscall", "2:", "jmp 2b")
}

/// A program: makes two system calls, then runs for ever.
///
/// # Safety
/// Those of the system calls.
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

/// A program: increments the word at the address in the first argument register.
///
/// # Safety
/// The word is a counter.
#[unsafe(naked)]
pub unsafe extern "C" fn count_up() {
    naked_asm!("2:", "inc qword ptr [rdi]", "jmp 2b")
}

/// Fills the floating-point registers.
pub fn fill_fpu(value: u64) {
    // SAFETY: the program is compiled without floating point, so the registers are unused.
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
    // SAFETY: as above; the array has room for all registers.
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
