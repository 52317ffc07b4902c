//! Core-local data that the trap entry needs: TPIDR_EL1 points to it.

use core::cell::UnsafeCell;

#[cfg(feature = "smp")]
use aarch64_cpu::registers::Readable;
use aarch64_cpu::registers::{TPIDR_EL1, Writeable};
use arch_arm::core_local::OfCores;
use kernel::sched::CORES;

use crate::context::Context;

pub(crate) type CoreLocal = arch_arm::core_local::CoreLocal<Context>;

const FATAL_STACK_SIZE: usize = 8 * 1024;

#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Stack([u8; FATAL_STACK_SIZE]);

struct Stacks(UnsafeCell<[Stack; CORES]>);
// SAFETY: only the handler of fatal exceptions uses the element of its core, as its stack.
unsafe impl Sync for Stacks {}

static FATAL_STACKS: Stacks = Stacks(UnsafeCell::new([Stack([0; _]); CORES]));
static OF_CORES: OfCores<Context> = OfCores::new();

// Addresses in the image; see `kernel.ld`.
unsafe extern "C" {
    static stack_end: u8;
}

/// Sets up the boot core's data.
pub(crate) fn start() {
    start_core(0, &raw const stack_end as usize);
}

/// Sets up this core's data; `stack` is the end of the kernel's stack.
pub(crate) fn start_core(core: usize, stack: usize) {
    let fatal_stacks = FATAL_STACKS.0.get().cast::<Stack>();
    let fatal_stack = fatal_stacks.wrapping_add(core + 1) as usize;
    // SAFETY: called once for each core, before the core reads its data.
    let own = unsafe { OF_CORES.start(core, stack, fatal_stack) };
    TPIDR_EL1.set(own as u64);
}

/// The data of this core.
#[cfg(feature = "smp")]
#[inline(always)]
pub(crate) fn own() -> &'static CoreLocal {
    // SAFETY: `start_core` has set this address, which does not change.
    unsafe { &*core::ptr::with_exposed_provenance(TPIDR_EL1.get() as usize) }
}
