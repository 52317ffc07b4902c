//! The floating-point and vector registers, switched lazily: they belong to the thread that used them last,
//! the owner, until another thread uses them. The unit is disabled for all other threads, and their first
//! instruction that needs it traps.

use kernel::object::Thread;
use kernel::sched::Scheduler;
use kernel::token::Ptr;

use super::{ExecutionState, Machine};
use crate::platform::Platform;

/// The unit of this core.
pub struct Fpu<V: ExecutionState, P: Platform> {
    /// The thread to which the register contents belong.
    pub(super) owner: Option<Ptr<Thread<Machine<V, P>>>>,
    enabled: bool,
}

impl<V: ExecutionState, P: Platform> Fpu<V, P> {
    /// Offset of the owner, for fast paths in assembly.
    pub const OWNER: usize = core::mem::offset_of!(Self, owner);
    /// Offset of the byte that indicates whether the unit is enabled.
    pub const ENABLED: usize = core::mem::offset_of!(Self, enabled);

    /// Sets up the unit, disabled and without an owner.
    pub(super) fn start() -> Self {
        V::start_fpu();
        Self {
            owner: None,
            enabled: false,
        }
    }

    fn set_enabled(&mut self, enabled: bool) {
        if self.enabled != enabled {
            self.enabled = enabled;
            V::set_fpu_enabled(enabled);
        }
    }
}

/// Enables the unit if the next thread is its owner, and disables it otherwise.
pub(super) fn switch_to<V: ExecutionState, P: Platform>(
    kernel: &mut Scheduler<Machine<V, P>>,
    next: Ptr<Thread<Machine<V, P>>>,
) {
    let fpu = &mut kernel.arch.fpu;
    fpu.set_enabled(Ptr::is_same(fpu.owner, Some(next)));
}

/// Handles an exception that may be due to the disabled unit. Makes the current thread its
/// owner, if it may use the unit and is not yet the owner; returns whether to execute the instruction
/// again.
pub fn acquire<V: ExecutionState, P: Platform>(kernel: &mut Scheduler<Machine<V, P>>) -> bool {
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if kernel[thread].fpu_disabled() || kernel.arch.fpu.owner == Some(thread) {
        return false;
    }
    write_back(kernel);
    kernel.arch.fpu.set_enabled(true);
    // SAFETY: the unit is enabled, and the context is the thread's own.
    unsafe { V::load_fpu(&kernel[thread].context) };
    kernel.arch.fpu.owner = Some(thread);
    true
}

/// Writes the registers back to the context of a thread, if it is their owner.
pub(super) fn release<V: ExecutionState, P: Platform>(
    kernel: &mut Scheduler<Machine<V, P>>,
    thread: Ptr<Thread<Machine<V, P>>>,
) {
    if kernel.arch.fpu.owner == Some(thread) {
        write_back(kernel);
        kernel.arch.fpu.set_enabled(false);
    }
}

/// Writes the registers back to the context of their owner.
#[cfg(feature = "smp")]
pub(super) fn release_owner<V: ExecutionState, P: Platform>(kernel: &mut Scheduler<Machine<V, P>>) {
    if let Some(owner) = kernel.arch.fpu.owner {
        release(kernel, owner);
    }
}

fn write_back<V: ExecutionState, P: Platform>(kernel: &mut Scheduler<Machine<V, P>>) {
    if let Some(owner) = kernel.arch.fpu.owner.take() {
        kernel.arch.fpu.set_enabled(true);
        // SAFETY: the unit is enabled, and its registers belong to this thread.
        unsafe { V::save_fpu(&mut kernel[owner].context) };
    }
}
