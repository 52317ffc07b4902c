//! The floating-point unit. While it is disabled, its instructions are undefined (ARM DDI 0406, section B1.11).

use super::version;
use crate::aarch32::{FpuContext, cp15};

// See `fpu.s`.
unsafe extern "C" {
    pub(super) safe fn fpu_set_enabled(enabled: bool);
    /// The unit must be enabled.
    pub(super) fn fpu_save(context: *mut FpuContext);
    /// The unit must be enabled.
    pub(super) fn fpu_load(context: *const FpuContext);
}

/// Sets up the unit, disabled.
pub(super) fn start() {
    /// Coprocessors 10 and 11, which are the unit, for users and kernel (section B4.1.40).
    const FULL_ACCESS: usize = 0xf << 20;
    // SAFETY: kernel code does not use the unit.
    unsafe { cp15::set_coprocessor_access(cp15::coprocessor_access() | FULL_ACCESS) };
    version::instruction_barrier();
    fpu_set_enabled(false);
}
