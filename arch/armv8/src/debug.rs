//! The debug registers of a core: breakpoints, watchpoints and single stepping (Arm ARM, chapter D2).

use core::arch::asm;

use aarch64_cpu::registers::{ID_AA64DFR0_EL1, MDSCR_EL1, Readable, Writeable};
use arch_arm::breakpoints::{COUNT, DATA, INSTRUCTIONS, Registers};

/// MDSCR_EL1.SS: stops after an instruction of a program whose status has the flag.
const STEPS: u64 = 1 << 0;
/// MDSCR_EL1.MDE: breakpoints and watchpoints raise exceptions.
const ENABLED: u64 = 1 << 15;

/// Sets up the registers of this core, none in use; returns whether the core has the ABI's number of them.
pub(crate) fn start() -> bool {
    let features = ID_AA64DFR0_EL1.get();
    // BRPs and WRPs: the numbers minus one. The registers are there from version 6 on, the first of ARMv8.
    let breakpoints = (features >> 12 & 0xf) as usize + 1;
    let watchpoints = (features >> 20 & 0xf) as usize + 1;
    if features & 0xf < 6 || breakpoints < INSTRUCTIONS || watchpoints < DATA {
        return false;
    }
    // SAFETY: the OS lock and the OS double lock, which suppress debug exceptions, are only for power
    // management (section H6.5).
    unsafe {
        asm!(
            "msr oslar_el1, xzr",
            "msr osdlr_el1, xzr",
            "isb",
            options(nomem, nostack, preserves_flags)
        );
    }
    (0..COUNT).for_each(|number| write(number, 0, 0));
    MDSCR_EL1.set(MDSCR_EL1.get() & !STEPS | ENABLED);
    true
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
    if before.steps != wanted.steps {
        let others = MDSCR_EL1.get() & !STEPS;
        MDSCR_EL1.set(others | if wanted.steps { STEPS } else { 0 });
    }
}

/// Writes the pair of registers of a breakpoint or watchpoint.
fn write(number: usize, address: usize, control: u32) {
    macro_rules! pairs {
        ($($number:literal: $value:literal, $control:literal;)*) => {
            match number {
                // SAFETY: they concern only users.
                $($number => unsafe {
                    asm!(
                        concat!("msr ", $value, ", {}"),
                        concat!("msr ", $control, ", {:x}"),
                        in(reg) address, in(reg) control,
                        options(nomem, nostack, preserves_flags)
                    );
                },)*
                _ => {}
            }
        };
    }
    pairs! {
        0: "dbgbvr0_el1", "dbgbcr0_el1";
        1: "dbgbvr1_el1", "dbgbcr1_el1";
        2: "dbgbvr2_el1", "dbgbcr2_el1";
        3: "dbgbvr3_el1", "dbgbcr3_el1";
        4: "dbgbvr4_el1", "dbgbcr4_el1";
        5: "dbgbvr5_el1", "dbgbcr5_el1";
        6: "dbgwvr0_el1", "dbgwcr0_el1";
        7: "dbgwvr1_el1", "dbgwcr1_el1";
        8: "dbgwvr2_el1", "dbgwcr2_el1";
        9: "dbgwvr3_el1", "dbgwcr3_el1";
    }
}
