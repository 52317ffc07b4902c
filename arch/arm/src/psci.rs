//! The *Arm Power State Coordination Interface* (PSCI; DEN 0022, issue D.b, version 1.1): services of the firmware for a
//! kernel. A function has a section of its name; the numbers of sections differ between issues.

use core::arch::asm;

use kernel::arch::Exit;

use crate::semihosting;

/// The instruction that calls the firmware. It depends on what runs below the kernel: a monitor (`smc`) or
/// a hypervisor (`hvc`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conduit {
    /// `smc #0`.
    Monitor,
    /// `hvc #0`.
    Hypervisor,
}

/// SYSTEM_OFF: switches the machine off.
const SYSTEM_OFF: usize = 0x8400_0008;

/// CPU_ON: powers a core on.
#[cfg(feature = "smp")]
const CPU_ON: usize = if cfg!(target_pointer_width = "64") {
    0xc400_0003
} else {
    0x8400_0003
};

/// Starts the core with the given affinity at a physical address, with `context` in its first register.
/// Returns whether the core exists.
#[cfg(feature = "smp")]
pub fn cpu_on(conduit: Conduit, affinity: usize, entry: usize, context: usize) -> bool {
    call(conduit, CPU_ON, [affinity, entry, context]) == 0
}

/// Ends the run: after success the firmware switches the machine off, if it can. Firmware cannot report a failure; an
/// emulator or debugger does.
pub fn exit(conduit: Conduit, exit: Exit) {
    if exit == Exit::Success {
        call(conduit, SYSTEM_OFF, [0; 3]);
    }
    semihosting::exit(exit);
}

/// Calls the monitor, which must exist, with the values of eight registers, and returns their values after the
/// call. What it does to the machine is up to the caller: the capability to call it confers that right.
#[cfg(target_arch = "aarch64")]
pub fn call_monitor(mut words: [usize; 8]) -> [usize; 8] {
    let [x0, x1, x2, x3, x4, x5, x6, x7] = &mut words;
    // SAFETY: monitors change no other registers than these (DEN 0028, on registers in AArch64 calls), and no memory of the
    // kernel unless a holder of the capability requests it.
    unsafe {
        asm!(
            "smc #0",
            inout("x0") *x0, inout("x1") *x1, inout("x2") *x2, inout("x3") *x3,
            inout("x4") *x4, inout("x5") *x5, inout("x6") *x6, inout("x7") *x7,
            out("x8") _, out("x9") _, out("x10") _, out("x11") _, out("x12") _, out("x13") _,
            out("x14") _, out("x15") _, out("x16") _, out("x17") _,
            options(nostack)
        );
    }
    words
}

/// A call with arguments as in the *SMC Calling Convention* (DEN 0028); the firmware may change the other
/// registers that carry arguments and results.
fn call(conduit: Conduit, function: usize, arguments: [usize; 3]) -> usize {
    match conduit {
        Conduit::Monitor => monitor(function, arguments),
        Conduit::Hypervisor => hypervisor(function, arguments),
    }
}

#[cfg(target_arch = "aarch64")]
macro_rules! instruction {
    ($(#[$doc:meta])* $name:ident: $instruction:literal) => {
        $(#[$doc])*
        fn $name(function: usize, [one, two, three]: [usize; 3]) -> usize {
            let answer;
            // SAFETY: the functions that this module calls change no memory of the kernel.
            unsafe {
                asm!(
                    $instruction,
                    inout("x0") function => answer, inout("x1") one => _,
                    inout("x2") two => _, inout("x3") three => _,
                    out("x4") _, out("x5") _, out("x6") _, out("x7") _, out("x8") _, out("x9") _,
                    out("x10") _, out("x11") _, out("x12") _, out("x13") _, out("x14") _,
                    out("x15") _, out("x16") _, out("x17") _,
                    options(nostack)
                );
            }
            answer
        }
    };
}

#[cfg(target_arch = "arm")]
macro_rules! instruction {
    ($(#[$doc:meta])* $name:ident: $instruction:literal) => {
        $(#[$doc])*
        fn $name(function: usize, [one, two, three]: [usize; 3]) -> usize {
            let answer;
            // SAFETY: the functions that this module calls change no memory of the kernel.
            unsafe {
                asm!(
                    ".arch_extension sec", ".arch_extension virt",
                    $instruction,
                    inout("r0") function => answer, inout("r1") one => _,
                    inout("r2") two => _, inout("r3") three => _,
                    options(nostack)
                );
            }
            answer
        }
    };
}

instruction! {
    /// Calls a monitor.
    monitor: "smc #0"
}
instruction! {
    /// Calls a hypervisor.
    hypervisor: "hvc #0"
}
