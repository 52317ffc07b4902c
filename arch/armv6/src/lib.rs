//! ARMv6: the parts that are specific to this version of the 32-bit architecture. Everything else is in
//! [`arch_arm::aarch32::machine`].
//!
//! The core is an ARM1136 from revision r1 on, which has the thread-local registers of ARMv6K. The
//! floating-point unit VFP11 has half the registers of later ones. For the rare operations that it
//! leaves to software (ARM DDI 0274, section 6.3) a thread gets an undefined-instruction fault, unless
//! it selects the unit's RunFast mode.
#![no_std]

mod cache;
mod cp15;

use core::ops::Range;

use aarch32_cpu::register::Sctlr;
use arch_arm::aarch32::machine::{CoreLocal, FATAL_STACK_SIZE, Version};
use arch_arm::aarch32::{CacheOperation, Context};

core::arch::global_asm!(
    include_str!("version.s"),
    include_str!("../../arm/src/aarch32/machine/start.s"),
    include_str!("../../arm/src/aarch32/machine/trap.s"),
    include_str!("../../arm/src/aarch32/machine/fpu.s"),
    walk = const Armv6::WALK,
    return_state = const Context::RETURN_STATE,
    restart_pc = const Context::RESTART_PC,
    thread_local = const Context::THREAD_LOCAL,
    fatal_stack_size = const FATAL_STACK_SIZE,
    stack = const CoreLocal::STACK,
    fatal_stack = const CoreLocal::FATAL_STACK,
    several_cores = const 0,
);

/// Makes the kernel image of a platform with ARMv6 cores.
#[macro_export]
macro_rules! kernel_image {
    ($platform:ty) => {
        ::arch_arm::aarch32_image!($crate::Armv6, $platform);
    };
}

/// ARMv6.
#[derive(Debug)]
pub enum Armv6 {}

impl Version for Armv6 {
    /// The high vectors (ARM DDI 0211, section 2.12.15).
    const FIXED_VECTORS: Option<usize> = Some(0xffff_0000);
    /// Outer non-cacheable: the outer cache is disabled.
    const WALK: usize = 0;
    const OLD_BARRIERS: bool = true;
    const SHARED_PREDICTIONS: bool = true;

    fn set_vectors(_vectors: usize) {
        // Interrupts are masked, so no exception is taken before the vectors are mapped there.
        Sctlr::modify(|control| control.set_v(true));
    }

    fn data_barrier() {
        cache::data_barrier();
    }

    fn instruction_barrier() {
        cache::instruction_barrier();
    }

    /// A pending interrupt ends the wait although it is masked.
    fn wait_for_interrupt() {
        cache::data_barrier();
        // SAFETY: the instruction only waits.
        unsafe { cp15::wait_for_interrupt(0) };
    }

    /// The counters are accessible to the kernel only (ARM DDI 0211, section 3.3.33). The debug communication
    /// channel is left as firmware configured it: the register that controls it (DSCR) is undefined if there
    /// is no debug unit, as in QEMU, and its presence cannot be detected beforehand.
    fn limit_users() {}

    unsafe fn enable_caches() {
        // SAFETY: by contract.
        unsafe { cache::enable() };
    }

    fn clean_table(range: Range<usize>) {
        cache::clean(range);
    }

    fn clean(range: Range<usize>) {
        cache::clean(range);
    }

    fn maintain(operation: CacheOperation, range: Range<usize>) {
        cache::maintain(operation, range);
    }

    fn flush(data: bool, instructions: bool) {
        cache::flush(data, instructions);
    }
}
