//! The floating-point and vector registers, switched lazily: they belong to the thread that used them last,
//! the owner, until another thread uses them. The unit is disabled for all other threads, and their first
//! instruction that needs it is undefined (ARM DDI 0406, section B1.11).

use aarch32_cpu::register::Cpacr;
use kernel::Kernel;
use kernel::object::Thread;
use kernel::token::Ptr;

use super::{Machine, Version};
use crate::aarch32::FpuContext;
use crate::platform::Platform;

// See `fpu.s`.
unsafe extern "C" {
    safe fn fpu_set_enabled(enabled: bool);
    /// The unit must be enabled.
    fn fpu_save(context: *mut FpuContext);
    /// The unit must be enabled.
    fn fpu_load(context: *const FpuContext);
}

/// The unit of this core.
pub struct Fpu<V: Version, P: Platform> {
    /// The thread to which the register contents belong.
    owner: Option<Ptr<Thread<Machine<V, P>>>>,
    enabled: bool,
}

impl<V: Version, P: Platform> Fpu<V, P> {
    /// Offset of the owner, for fast paths in assembly.
    pub(super) const OWNER: usize = core::mem::offset_of!(Self, owner);
    /// Offset of the byte that says whether the unit is enabled.
    pub(super) const ENABLED: usize = core::mem::offset_of!(Self, enabled);

    /// Sets up the unit, disabled and without an owner.
    pub(crate) fn start() -> Self {
        /// Coprocessors 10 and 11, which are the unit, for users and kernel (section B4.1.40).
        const FULL_ACCESS: u32 = 0xf << 20;
        // SAFETY: kernel code does not use the unit.
        unsafe { Cpacr::write(Cpacr(Cpacr::read().0 | FULL_ACCESS)) };
        V::instruction_barrier();
        fpu_set_enabled(false);
        Self {
            owner: None,
            enabled: false,
        }
    }

    /// The thread to which the register contents belong.
    #[cfg(feature = "smp")]
    pub(crate) fn owner(&self) -> Option<Ptr<Thread<Machine<V, P>>>> {
        self.owner
    }

    fn set_enabled(&mut self, enabled: bool) {
        if self.enabled != enabled {
            self.enabled = enabled;
            fpu_set_enabled(enabled);
        }
    }
}

/// Enables the unit if the next thread is its owner, and disables it otherwise.
pub(crate) fn switch_to<V: Version, P: Platform>(
    kernel: &mut Kernel<Machine<V, P>>,
    next: Ptr<Thread<Machine<V, P>>>,
) {
    let fpu = &mut kernel.arch.fpu;
    fpu.set_enabled(Ptr::is_same(fpu.owner, Some(next)));
}

/// Handles an undefined instruction, which may be due to the disabled unit. Makes the current thread its
/// owner, if it may use the unit and is not yet the owner; returns whether to execute the instruction
/// again.
pub(crate) fn acquire<V: Version, P: Platform>(kernel: &mut Kernel<Machine<V, P>>) -> bool {
    debug_assert!(kernel.holds_entry_lock());
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if kernel[thread].fpu_disabled() || kernel.arch.fpu.owner == Some(thread) {
        return false;
    }
    write_back(kernel);
    kernel.arch.fpu.set_enabled(true);
    // SAFETY: the unit is enabled, and the context is the thread's own.
    unsafe { fpu_load(&raw const kernel[thread].context.fpu) };
    kernel.arch.fpu.owner = Some(thread);
    true
}

/// Writes the registers back to the context of a thread, if it is their owner.
pub(crate) fn release<V: Version, P: Platform>(
    kernel: &mut Kernel<Machine<V, P>>,
    thread: Ptr<Thread<Machine<V, P>>>,
) {
    if kernel.arch.fpu.owner == Some(thread) {
        write_back(kernel);
        kernel.arch.fpu.set_enabled(false);
    }
}

/// Writes the registers back to the context of their owner.
#[cfg(feature = "smp")]
pub(crate) fn release_owner<V: Version, P: Platform>(kernel: &mut Kernel<Machine<V, P>>) {
    if let Some(owner) = kernel.arch.fpu.owner {
        release(kernel, owner);
    }
}

fn write_back<V: Version, P: Platform>(kernel: &mut Kernel<Machine<V, P>>) {
    if let Some(owner) = kernel.arch.fpu.owner.take() {
        kernel.arch.fpu.set_enabled(true);
        // SAFETY: the unit is enabled, and its registers belong to this thread.
        unsafe { fpu_save(&raw mut kernel[owner].context.fpu) };
    }
}
