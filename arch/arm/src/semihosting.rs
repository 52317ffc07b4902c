//! Arm semihosting: services of an emulator or a debugger for the program that it runs.
//!
//! See *Semihosting for AArch32 and AArch64* (ARM IHI 0110). Without an emulator or debugger that supports
//! it, a call raises an undefined-instruction exception.

use kernel::arch::Exit;

/// Writes one character to the debugger's console (section "SYS_WRITEC").
const SYS_WRITEC: usize = 0x03;
/// Ends the run with a code (section "SYS_EXIT_EXTENDED").
const SYS_EXIT_EXTENDED: usize = 0x20;
/// The reason that comes with an exit code.
const ADP_STOPPED_APPLICATION_EXIT: usize = 0x20026;

/// The exit code of a failed run: not 1, by which emulators refuse their command lines.
const FAILURE: usize = 35;

/// Ends the run with exit code 0, or 35 if it has failed.
pub fn exit(exit: Exit) {
    let code = match exit {
        Exit::Success => 0,
        Exit::Failure => FAILURE,
    };
    let block = [ADP_STOPPED_APPLICATION_EXIT, code];
    call(SYS_EXIT_EXTENDED, block.as_ptr().cast());
}

/// Writes one byte to the emulator's own console.
pub fn put_byte(byte: u8) {
    call(SYS_WRITEC, &raw const byte);
}

/// The operations that this module calls read their parameters and change nothing.
#[cfg_attr(target_arch = "arm", instruction_set(arm::a32))]
fn call(operation: usize, parameters: *const u8) {
    // SAFETY: as above. The instruction is `hlt #0xf000`, encoded because assemblers for older architectures
    // do not know its name. Unlike `svc` it is not taken for a system call where semihosting is missing.
    #[cfg(target_arch = "arm")]
    unsafe {
        core::arch::asm!(
            ".inst 0xe10f0070",
            inout("r0") operation => _,
            in("r1") parameters,
            options(nostack),
        );
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!(
            "hlt #0xf000",
            inout("x0") operation => _,
            in("x1") parameters,
            options(nostack),
        );
    }
}
