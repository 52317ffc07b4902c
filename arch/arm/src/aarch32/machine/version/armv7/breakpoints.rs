//! The debug registers of a core: breakpoints and watchpoints, by coprocessor 14 (ARM DDI 0406, part C).

use core::arch::asm;

use super::instruction_barrier;
use crate::breakpoints::{COUNT, DATA, INSTRUCTIONS, Registers};

/// Sets up the registers of this core, none in use. Returns whether the core has the ABI's number of them, and
/// lets the kernel use them: a pin of the processor can forbid it.
pub(crate) fn start() -> bool {
    /// The version from which on all debug registers are in the coprocessor (DBGDIDR.Version).
    const ALL_REGISTERS: u32 = 4;
    /// DBGDSCR.MDBGen: breakpoints and watchpoints raise exceptions.
    const ENABLED: u32 = 1 << 15;
    let identification: u32;
    // SAFETY: reads DBGDIDR, which all versions have.
    unsafe {
        asm!("mrc p14, 0, {}, c0, c0, 0", out(reg) identification, options(nomem, nostack, preserves_flags));
    }
    let field = |shift: u32| identification >> shift & 0xf;
    let (breakpoints, watchpoints) = (field(24) as usize + 1, field(28) as usize + 1);
    if field(16) < ALL_REGISTERS || breakpoints < INSTRUCTIONS || watchpoints < DATA {
        return false;
    }
    // SAFETY: DBGOSLAR: the OS lock, which suppresses debug exceptions, is only for power management (section
    // C7.3). DBGVCR: the kernel does not use vector catch.
    unsafe {
        asm!(
            "mcr p14, 0, {zero}, c1, c0, 4",
            "isb",
            "mcr p14, 0, {zero}, c0, c7, 0",
            zero = in(reg) 0,
            options(nomem, nostack, preserves_flags)
        );
    }
    (0..COUNT).for_each(|number| write(number, 0, 0));
    // SAFETY: DBGDSCR: with all of them clear, nothing is triggered.
    unsafe {
        asm!("mcr p14, 0, {}, c0, c2, 2", in(reg) status() | ENABLED, options(nomem, nostack, preserves_flags));
    }
    instruction_barrier();
    status() & ENABLED != 0
}

/// Whether the last debug event was the instruction `bkpt` (DBGDSCR.MOE).
pub(crate) fn is_software() -> bool {
    const INSTRUCTION: u32 = 0b0011;
    status() >> 2 & 0xf == INSTRUCTION
}

/// The status and control register (DBGDSCRext).
fn status() -> u32 {
    let status;
    // SAFETY: reading it by this name has no side effects.
    unsafe {
        asm!("mrc p14, 0, {}, c0, c2, 2", out(reg) status, options(nomem, nostack, preserves_flags));
    }
    status
}

/// Changes the registers from `before` to `wanted`. The return to the user makes the changes effective.
pub(crate) fn load(before: &Registers, wanted: &Registers) {
    for number in 0..COUNT {
        let of = |registers: &Registers| (registers.addresses[number], registers.controls[number]);
        let (address, control) = of(wanted);
        if of(before) != (address, control) {
            write(number, address, control);
        }
    }
}

/// Writes the pair of registers of a breakpoint (DBGBVR, DBGBCR) or watchpoint (DBGWVR, DBGWCR).
fn write(number: usize, address: usize, control: u32) {
    macro_rules! pairs {
        ($($number:literal: $crm:literal, $value:literal, $control:literal;)*) => {
            match number {
                // SAFETY: they concern only users.
                $($number => unsafe {
                    asm!(
                        concat!("mcr p14, 0, {}, c0, c", $crm, ", ", $value),
                        concat!("mcr p14, 0, {}, c0, c", $crm, ", ", $control),
                        in(reg) address, in(reg) control,
                        options(nomem, nostack, preserves_flags)
                    );
                },)*
                _ => {}
            }
        };
    }
    pairs! {
        0: 0, 4, 5;
        1: 1, 4, 5;
        2: 2, 4, 5;
        3: 3, 4, 5;
        4: 4, 4, 5;
        5: 5, 4, 5;
        6: 0, 6, 7;
        7: 1, 6, 7;
        8: 2, 6, 7;
        9: 3, 6, 7;
    }
}
