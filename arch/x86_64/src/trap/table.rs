//! The interrupt descriptor table (Intel SDM vol. 3, sections 7.10 and 7.14.1).

use x86_64::VirtAddr;
use x86_64::instructions::tables::lidt;
use x86_64::structures::DescriptorTablePointer;

use super::{entry, vectors};
use crate::isolation::Visible;
use crate::segments::{DEBUG_STACK, FATAL_STACK, KERNEL_CODE};

const COUNT: usize = 256;

/// An interrupt gate: interrupts are disabled on entry.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Gate([u64; 2]);

impl Gate {
    const ABSENT: Self = Self([0; 2]);

    /// A gate to `handler`. `software`: whether users may enter it by the `int` instruction; `stack` is the
    /// index of a stack in the interrupt stack table.
    fn new(handler: usize, software: bool, stack: Option<u16>) -> Self {
        const PRESENT: u64 = 1 << 47;
        const INTERRUPT_GATE: u64 = 0xe << 40;
        let handler = handler as u64;
        let privilege = if software { 3 << 45 } else { 0 };
        let stack = stack.map_or(0, |index| u64::from(index + 1) << 32);
        let low =
            handler & 0xffff | (handler >> 16 & 0xffff) << 48 | u64::from(KERNEL_CODE.0) << 16;
        Self([
            low | PRESENT | INTERRUPT_GATE | privilege | stack,
            handler >> 32,
        ])
    }
}

static mut TABLE: Visible<[Gate; COUNT]> = Visible([Gate::ABSENT; COUNT]);

/// The part of the table that is mapped in user mode.
#[cfg(feature = "harden-meltdown")]
pub fn visible() -> core::ops::Range<usize> {
    Visible::range(&raw const TABLE)
}

/// Fills the table of exceptions and interrupts, which is the same for all cores.
///
/// # Safety
/// Called once at boot.
#[cfg_attr(target_os = "none", optimize(size))]
pub unsafe fn fill() {
    use vectors::exception::{BREAKPOINT, DEBUG, DOUBLE_FAULT, MACHINE_CHECK, NON_MASKABLE};
    let table = &raw mut TABLE;
    // SAFETY: there is no other reference to the table, and this runs once.
    let table = unsafe { &mut *table };
    for (vector, gate) in (0..).zip(table.0.iter_mut()) {
        let software = vector == BREAKPOINT
            || (vectors::FIRST_SOFTWARE..=vectors::LAST_SOFTWARE).contains(&vector);
        let stack = match vector {
            DEBUG => Some(DEBUG_STACK),
            NON_MASKABLE | DOUBLE_FAULT | MACHINE_CHECK => Some(FATAL_STACK),
            _ => None,
        };
        *gate = Gate::new(entry::stub(vector), software, stack);
    }
}

/// Loads the table, which is filled, on this core.
///
/// # Safety
/// The core's segments are loaded.
pub unsafe fn load() {
    let pointer = DescriptorTablePointer {
        limit: (size_of::<[Gate; COUNT]>() - 1) as u16,
        base: VirtAddr::from_ptr(&raw const TABLE),
    };
    // SAFETY: every gate refers to a stub, and the table is static.
    unsafe { lidt(&pointer) };
}
