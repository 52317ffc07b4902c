//! What belongs to one core and must be found by the trap entry: TPIDR_EL1 points at it.

use core::cell::UnsafeCell;
use core::mem::offset_of;

use aarch64_cpu::registers::{TPIDR_EL1, Writeable};

const FATAL_STACK_SIZE: usize = 8 * 1024;

/// The state of one core that assembly code uses.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CoreLocal {
    /// Top of the kernel's stack.
    stack: usize,
    /// Top of the stack on which the kernel reports an exception of its own: the usual one may be the
    /// reason.
    fatal_stack: usize,
}

impl CoreLocal {
    pub(crate) const STACK: usize = offset_of!(Self, stack);
    pub(crate) const FATAL_STACK: usize = offset_of!(Self, fatal_stack);
}

#[repr(C, align(16))]
struct Stack(UnsafeCell<[u8; FATAL_STACK_SIZE]>);
// SAFETY: only the handler of fatal exceptions uses it, as its stack.
unsafe impl Sync for Stack {}

struct Cell(UnsafeCell<CoreLocal>);
// SAFETY: written once, during boot; from then on assembly code reads it.
unsafe impl Sync for Cell {}

static FATAL_STACK: Stack = Stack(UnsafeCell::new([0; FATAL_STACK_SIZE]));
static BOOT_CORE: Cell = Cell(UnsafeCell::new(CoreLocal {
    stack: 0,
    fatal_stack: 0,
}));

// Places in the image; see `kernel.ld`.
unsafe extern "C" {
    static stack_end: u8;
}

/// Gives the boot core its state.
pub(crate) fn start() {
    let core = CoreLocal {
        stack: &raw const stack_end as usize,
        fatal_stack: FATAL_STACK.0.get() as usize + FATAL_STACK_SIZE,
    };
    // SAFETY: this happens once, and nobody else looks at it yet.
    unsafe { BOOT_CORE.0.get().write(core) };
    TPIDR_EL1.set(BOOT_CORE.0.get() as u64);
}
