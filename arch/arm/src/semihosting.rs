//! Ending an emulator's run by Arm semihosting.
//!
//! See *Semihosting for AArch32 and AArch64* (ARM IHI 0110), section "SYS_EXIT_EXTENDED".

use kernel::arch::Exit;

/// The operation.
const SYS_EXIT_EXTENDED: usize = 0x20;
/// The reason that comes with an exit code.
const ADP_STOPPED_APPLICATION_EXIT: usize = 0x20026;

/// Ends the run with exit code 0 or 1, if somebody listens; otherwise raises an undefined-instruction
/// exception.
pub fn exit(exit: Exit) {
    let code = match exit {
        Exit::Success => 0,
        Exit::Failure => 1,
    };
    let block = [ADP_STOPPED_APPLICATION_EXIT, code];
    // SAFETY: the operation reads the block and changes nothing. The instruction is `hlt #0xf000`,
    // which assemblers for older architectures do not know by name; unlike `svc` it cannot be mistaken
    // for a system call where nobody listens.
    unsafe {
        core::arch::asm!(
            ".inst 0xe10f0070",
            inout("r0") SYS_EXIT_EXTENDED => _,
            in("r1") block.as_ptr(),
            options(nostack),
        );
    }
}
