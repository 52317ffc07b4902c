//! Address space switches and TLB invalidation.
//!
//! *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406), section B3.10.

use super::version;
use crate::aarch32::{HardwareAsid, cp15};

/// Switches to an address space by way of the kernel's own directory, so that no TLB entry of one address
/// space is tagged with the ASID of the other (section B3.10.4). The first barrier is for the Cortex-A9's
/// erratum 754322.
pub(super) fn install(base: usize, asid: HardwareAsid, kernel_base: usize) {
    // SAFETY: all directories have the same kernel mappings.
    unsafe {
        cp15::set_directory(kernel_base);
        version::data_barrier();
        version::instruction_barrier();
        cp15::set_asid(asid.0.into());
        version::instruction_barrier();
        cp15::set_directory(base);
        if version::SHARED_PREDICTIONS {
            cp15::invalidate_branch_predictor(0);
        }
        version::instruction_barrier();
    }
}

/// Invalidates the TLB entries of the page at `address` in the address space `asid`.
pub(super) fn invalidate_page(asid: HardwareAsid, address: usize) {
    // SAFETY: the TLB is refilled from the tables.
    unsafe { cp15::invalidate_page(address & !0xfff | usize::from(asid.0)) };
    finish();
}

/// Invalidates all TLB entries of the address space `asid`.
pub(super) fn invalidate_space(asid: HardwareAsid) {
    // SAFETY: as above.
    unsafe { cp15::invalidate_space(asid.0.into()) };
    finish();
}

/// Invalidates this core's TLB entries of the address space `asid`.
#[cfg(feature = "smp")]
pub(super) fn invalidate_space_locally(asid: HardwareAsid) {
    // SAFETY: as above.
    unsafe { cp15::invalidate_space_locally(asid.0.into()) };
    finish();
}

/// Invalidates all TLB entries.
pub(super) fn invalidate_all() {
    // SAFETY: as above.
    unsafe { cp15::invalidate_all(0) };
    finish();
}

fn finish() {
    // SAFETY: branch predictions affect only speed.
    unsafe { cp15::invalidate_branch_predictor(0) };
    version::data_barrier();
    version::instruction_barrier();
}
