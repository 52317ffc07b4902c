//! 64-bit Arm.

use core::arch::{asm, naked_asm};
use userlib::arch::Registers;

/// Bytes of the first instruction of [`load`].
pub const LOAD_BYTES: usize = 4;
/// Bytes of the first instruction of [`store`].
pub const STORE_BYTES: usize = 4;
/// Bytes of the first instruction of [`undefined`].
pub const UNDEFINED_BYTES: usize = 4;
/// Offset of the system call instruction in [`system_call`].
pub const SYSTEM_CALL_OFFSET: usize = 4;
/// Register indices of number and capability of the second system call of [`call_twice`]: x9, x10.
pub const SECOND_CALL: (usize, usize) = (17, 18);
/// The fault number of an undefined instruction: a syndrome of unknown reason, with an instruction of 32
/// bits.
pub const UNDEFINED_NUMBER: usize = 1 << 25;
/// The fault number of disabled floating point: class 7, condition code 14, which is valid.
pub const DENIED_NUMBER: usize = 0x7 << 26 | 1 << 25 | 1 << 24 | 0xe << 20;
/// Status of a read fault where nothing is mapped, not even a page table: class 0x24, an instruction of 32
/// bits, translation fault, level 2.
pub const STATUS_READ: usize = 0x24 << 26 | 1 << 25 | 0x6;
/// The same for a write.
pub const STATUS_WRITE: usize = STATUS_READ | 1 << 6;
/// Status of a write fault at a read-only page: permission fault, level 3, write.
pub const STATUS_WRITE_PROTECTED: usize = 0x24 << 26 | 1 << 25 | 1 << 6 | 0xf;

/// Reads a word.
///
/// # Safety
/// No Rust object is there, or it may be read.
#[unsafe(naked)]
pub unsafe extern "C" fn load(address: usize) -> usize {
    naked_asm!("ldr x0, [x0]", "ret")
}

/// Writes a word.
///
/// # Safety
/// No Rust object is there, or it may be changed.
#[unsafe(naked)]
pub unsafe extern "C" fn store(address: usize, value: usize) {
    naked_asm!("str x1, [x0]", "ret")
}

/// Executes an undefined instruction.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn undefined() {
    naked_asm!("udf #0", "ret")
}

/// Makes a system call by number, with capability and message information; returns the capability register.
///
/// # Safety
/// Those of the system call.
#[unsafe(naked)]
pub unsafe extern "C" fn system_call(cap: usize, info: usize, number: usize) -> usize {
    naked_asm!("mov x7, x2", "svc #0", "ret")
}

/// Makes a system call by number, with all registers that the ABI uses.
///
/// # Safety
/// Those of the system call.
pub unsafe fn raw_system_call(number: usize, registers: &mut Registers) {
    // SAFETY: as in userlib: all registers that the kernel changes are declared; the caller guarantees the
    // rest.
    unsafe {
        asm!(
            "svc #0",
            in("x7") number,
            inout("x0") registers.cap,
            inout("x1") registers.info,
            inout("x2") registers.words[0],
            inout("x3") registers.words[1],
            inout("x4") registers.words[2],
            inout("x5") registers.words[3],
            in("x6") registers.reply,
            in("x8") registers.destination,
        );
    }
}

/// A program: runs for ever.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn spin() {
    naked_asm!("2:", "b 2b")
}

/// A program: makes one system call, then runs for ever.
///
/// # Safety
/// Those of the system call.
#[unsafe(naked)]
pub unsafe extern "C" fn call_once() {
    naked_asm!("svc #0", "2:", "b 2b")
}

/// A program: makes two system calls, then runs for ever.
///
/// # Safety
/// Those of the system calls.
#[unsafe(naked)]
pub unsafe extern "C" fn call_twice() {
    naked_asm!(
        "svc #0",
        "mov x7, x9",
        "mov x0, x10",
        "svc #0",
        "2:",
        "b 2b"
    )
}

/// A program: increments the word at the address in the first argument register.
///
/// # Safety
/// The word is a counter.
#[unsafe(naked)]
pub unsafe extern "C" fn count_up() {
    naked_asm!(
        "2:",
        "ldr x1, [x0]",
        "add x1, x1, #1",
        "str x1, [x0]",
        "b 2b"
    )
}

/// Fills the floating-point registers.
pub fn fill_fpu(value: u64) {
    // SAFETY: the program is compiled without floating point, so the registers are unused.
    unsafe {
        asm!(
            ".arch_extension fp",
            ".arch_extension simd",
            "dup v0.2d, {0}", "dup v1.2d, {0}", "dup v2.2d, {0}", "dup v3.2d, {0}",
            "dup v4.2d, {0}", "dup v5.2d, {0}", "dup v6.2d, {0}", "dup v7.2d, {0}",
            "dup v8.2d, {0}", "dup v9.2d, {0}", "dup v10.2d, {0}", "dup v11.2d, {0}",
            "dup v12.2d, {0}", "dup v13.2d, {0}", "dup v14.2d, {0}", "dup v15.2d, {0}",
            "dup v16.2d, {0}", "dup v17.2d, {0}", "dup v18.2d, {0}", "dup v19.2d, {0}",
            "dup v20.2d, {0}", "dup v21.2d, {0}", "dup v22.2d, {0}", "dup v23.2d, {0}",
            "dup v24.2d, {0}", "dup v25.2d, {0}", "dup v26.2d, {0}", "dup v27.2d, {0}",
            "dup v28.2d, {0}", "dup v29.2d, {0}", "dup v30.2d, {0}", "dup v31.2d, {0}",
            ".arch_extension nosimd",
            ".arch_extension nofp",
            in(reg) value,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// Whether all floating-point registers hold a value.
pub fn fpu_holds(value: u64) -> bool {
    let mut registers = [0u64; 64];
    // SAFETY: as above; the array has room for all registers.
    unsafe {
        asm!(
            ".arch_extension fp",
            ".arch_extension simd",
            "stp q0, q1, [{0}], #32", "stp q2, q3, [{0}], #32",
            "stp q4, q5, [{0}], #32", "stp q6, q7, [{0}], #32",
            "stp q8, q9, [{0}], #32", "stp q10, q11, [{0}], #32",
            "stp q12, q13, [{0}], #32", "stp q14, q15, [{0}], #32",
            "stp q16, q17, [{0}], #32", "stp q18, q19, [{0}], #32",
            "stp q20, q21, [{0}], #32", "stp q22, q23, [{0}], #32",
            "stp q24, q25, [{0}], #32", "stp q26, q27, [{0}], #32",
            "stp q28, q29, [{0}], #32", "stp q30, q31, [{0}], #32",
            ".arch_extension nosimd",
            ".arch_extension nofp",
            inout(reg) registers.as_mut_ptr() => _,
            options(nostack, preserves_flags)
        );
    }
    registers.iter().all(|&register| register == value)
}
