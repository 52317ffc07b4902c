//! Access to model-specific registers that may not exist, for benchmarks.
//!
//! Reading or writing one that the processor does not have is a general protection exception (Intel SDM
//! vol. 2, RDMSR and WRMSR). The stub of exceptions in the kernel recognises the two instructions here and
//! continues after a failed one.

use core::arch::global_asm;

unsafe extern "C" {
    fn escapement_read_msr(register: u32, value: &mut u64) -> bool;
    fn escapement_write_msr(register: u32, value: u64) -> bool;
}

/// Reads a register; `None` if it does not exist.
pub fn read(register: u32) -> Option<u64> {
    let mut value = 0;
    // SAFETY: reading has no side effects, or the benchmark that named the register is responsible for them.
    let exists = unsafe { escapement_read_msr(register, &mut value) };
    exists.then_some(value)
}

/// Writes a register; returns whether it exists and takes the value.
///
/// # Safety
/// The kernel does not rely on the content of the register.
pub unsafe fn write(register: u32, value: u64) -> bool {
    // SAFETY: by contract.
    unsafe { escapement_write_msr(register, value) }
}

// The C calling convention: arguments in RDI and RSI, the result in RAX; RCX and RDX are free.
global_asm!(
    ".global escapement_read_msr",
    "escapement_read_msr:",
    "mov ecx, edi",
    ".global escapement_msr_read",
    "escapement_msr_read:",
    "rdmsr",
    "shl rdx, 32",
    "or rax, rdx",
    "mov [rsi], rax",
    "mov eax, 1",
    "ret",
    ".global escapement_write_msr",
    "escapement_write_msr:",
    "mov ecx, edi",
    "mov eax, esi",
    "mov rdx, rsi",
    "shr rdx, 32",
    ".global escapement_msr_written",
    "escapement_msr_written:",
    "wrmsr",
    "mov eax, 1",
    "ret",
    ".global escapement_msr_missing",
    "escapement_msr_missing:",
    "xor eax, eax",
    "ret",
);
