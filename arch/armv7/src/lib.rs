//! ARMv7-A: the parts that are specific to this version of the 32-bit architecture. Everything else is in
//! [`arch_arm::aarch32::machine`].
//!
//! Also valid for ARMv8 cores in AArch32 state, which keeps all features used here.
#![no_std]

mod cache;
mod cp15;
mod debug;
mod pmu;

use core::ops::Range;

use aarch32_cpu::asm::{dsb, isb, wfi};
use aarch32_cpu::register::Vbar;
use arch_arm::aarch32::machine::{CoreLocal, FATAL_STACK_SIZE, Version};
use arch_arm::aarch32::{CacheOperation, Context};

core::arch::global_asm!(
    include_str!("version.s"),
    include_str!("../../arm/src/aarch32/machine/start.s"),
    include_str!("../../arm/src/aarch32/machine/trap.s"),
    include_str!("../../arm/src/aarch32/machine/fpu.s"),
    walk = const Armv7::WALK,
    return_state = const Context::RETURN_STATE,
    restart_pc = const Context::RESTART_PC,
    thread_local = const Context::THREAD_LOCAL,
    fatal_stack_size = const FATAL_STACK_SIZE,
    stack = const CoreLocal::STACK,
    fatal_stack = const CoreLocal::FATAL_STACK,
    several_cores = const cfg!(feature = "smp") as usize,
);

/// Makes the kernel image of a platform with ARMv7 cores.
#[macro_export]
macro_rules! kernel_image {
    ($platform:ty) => {
        ::arch_arm::aarch32_image!($crate::Armv7, $platform);

        /// The entry point of secondary cores from boot code.
        #[cfg(feature = "smp")]
        #[unsafe(no_mangle)]
        extern "C" fn core_main() -> *const ::arch_arm::aarch32::Context {
            // SAFETY: boot code calls this once on each secondary core.
            unsafe { KERNEL.boot_core(::arch_arm::smp::starting()) }
        }
    };
}

/// ARMv7-A.
#[derive(Debug)]
pub enum Armv7 {}

impl Version for Armv7 {
    const FIXED_VECTORS: Option<usize> = None;
    /// Write-back, write-allocate (TTBR0 of cores with the Multiprocessing Extensions; ARM DDI 0406, section
    /// B4.1.154); on several cores also shareable, so that walks are coherent with the caches of all.
    const WALK: usize = if cfg!(feature = "smp") { 0x4a } else { 0x48 };
    const OLD_BARRIERS: bool = false;
    const SHARED_PREDICTIONS: bool = false;

    fn set_vectors(vectors: usize) {
        // SAFETY: the vectors are code, aligned as the register requires.
        unsafe { Vbar::write(Vbar(vectors as u32)) };
    }

    fn data_barrier() {
        dsb();
    }

    fn instruction_barrier() {
        isb();
    }

    fn limit_users() {
        debug::keep_from_users();
        if cfg!(feature = "bench") {
            pmu::give_to_users();
        } else {
            pmu::keep_from_users();
        }
    }

    /// A pending interrupt ends the wait although it is masked (section B1.8.14).
    fn wait_for_interrupt() {
        dsb();
        wfi();
    }

    unsafe fn enable_caches() {
        // SAFETY: by contract.
        unsafe { cache::enable() };
    }

    fn clean_table(range: Range<usize>) {
        cache::clean_to_unification(range);
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
