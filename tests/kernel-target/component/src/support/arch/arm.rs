//! 32-bit Arm.

use core::arch::{asm, naked_asm};
use userlib::arch::Registers;

/// Bytes of the first instruction of [`load`].
pub const LOAD_BYTES: usize = 4;
/// Bytes of the first instruction of [`store`].
pub const STORE_BYTES: usize = 4;
/// Bytes of the first instruction of [`undefined`].
pub const UNDEFINED_BYTES: usize = 4;
/// Offset of the system call instruction in [`system_call`].
pub const SYSTEM_CALL_OFFSET: usize = 8;
/// Register indices of number and capability of the second system call of [`call_twice`]: r9, r10.
pub const SECOND_CALL: (usize, usize) = (6, 7);
/// The fault number of an undefined instruction.
pub const UNDEFINED_NUMBER: usize = 0;
/// The fault number of disabled floating point: the same.
pub const DENIED_NUMBER: usize = 0;
/// Status of a read fault where nothing is mapped, not even a page table: translation fault, section.
pub const STATUS_READ: usize = 0x5;
/// The same for a write.
pub const STATUS_WRITE: usize = STATUS_READ | 0x800;
/// Status of a write fault at a read-only page: permission fault, page, write.
pub const STATUS_WRITE_PROTECTED: usize = 0x80f;

/// Reads a word.
///
/// # Safety
/// No Rust object is there, or it may be read.
#[unsafe(naked)]
pub unsafe extern "C" fn load(address: usize) -> usize {
    naked_asm!("ldr r0, [r0]", "bx lr")
}

/// Writes a word.
///
/// # Safety
/// No Rust object is there, or it may be changed.
#[unsafe(naked)]
pub unsafe extern "C" fn store(address: usize, value: usize) {
    naked_asm!("str r1, [r0]", "bx lr")
}

/// Executes an undefined instruction.
///
/// # Safety
/// No conditions.
#[unsafe(naked)]
pub unsafe extern "C" fn undefined() {
    naked_asm!("udf #0", "bx lr")
}

/// Makes a system call by number, with capability and message information; returns the capability register.
///
/// # Safety
/// Those of the system call.
#[unsafe(naked)]
pub unsafe extern "C" fn system_call(cap: usize, info: usize, number: usize) -> usize {
    naked_asm!(
        "push {{r4, r5, r7, lr}}",
        "mov r7, r2",
        "svc #0",
        "pop {{r4, r5, r7, pc}}"
    )
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
            "mov {saved}, r6",
            "mov r6, {reply}",
            "svc #0",
            "mov r6, {saved}",
            saved = out(reg) _,
            reply = in(reg) registers.reply,
            in("r7") number,
            inout("r0") registers.cap,
            inout("r1") registers.info,
            inout("r2") registers.words[0],
            inout("r3") registers.words[1],
            inout("r4") registers.words[2],
            inout("r5") registers.words[3],
            in("r8") registers.destination,
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
        "mov r7, r9",
        "mov r0, r10",
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
        "ldr r1, [r0]",
        "add r1, r1, #1",
        "str r1, [r0]",
        "b 2b"
    )
}

/// Fills the floating-point registers: all 16, or of 32 the first, some others and the last.
pub fn fill_fpu(value: u64) {
    // SAFETY: the program is compiled without floating point, so the registers are unused.
    unsafe {
        asm!(
            ".fpu vfpv2",
            "vmov d0, {0}, {1}", "vmov d1, {0}, {1}", "vmov d2, {0}, {1}", "vmov d3, {0}, {1}",
            "vmov d4, {0}, {1}", "vmov d5, {0}, {1}", "vmov d6, {0}, {1}", "vmov d7, {0}, {1}",
            "vmov d8, {0}, {1}", "vmov d9, {0}, {1}", "vmov d10, {0}, {1}", "vmov d11, {0}, {1}",
            "vmov d12, {0}, {1}", "vmov d13, {0}, {1}", "vmov d14, {0}, {1}", "vmov d15, {0}, {1}",
            in(reg) value as u32,
            in(reg) (value >> 32) as u32,
            options(nomem, nostack, preserves_flags)
        );
        #[cfg(target_feature = "d32")]
        asm!(
            ".fpu vfpv3",
            "vmov d16, {0}, {1}", "vmov d17, {0}, {1}", "vmov d18, {0}, {1}", "vmov d31, {0}, {1}",
            in(reg) value as u32,
            in(reg) (value >> 32) as u32,
            options(nomem, nostack, preserves_flags)
        );
    }
}

/// Whether the floating-point registers that [`fill_fpu`] fills hold a value.
pub fn fpu_holds(value: u64) -> bool {
    let mut registers = [value; 20];
    // SAFETY: as above; the array has room for all registers.
    unsafe {
        asm!(
            ".fpu vfpv2",
            "vstmia {0}, {{d0-d15}}",
            in(reg) registers.as_mut_ptr(),
            options(nostack, preserves_flags)
        );
        #[cfg(target_feature = "d32")]
        asm!(
            ".fpu vfpv3",
            "vstmia {0}!, {{d16-d18}}",
            "vstmia {0}!, {{d31}}",
            inout(reg) registers.as_mut_ptr().add(16) => _,
            options(nostack, preserves_flags)
        );
    }
    registers.iter().all(|&register| register == value)
}
