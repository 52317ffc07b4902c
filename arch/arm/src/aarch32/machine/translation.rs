//! Address space switches and TLB invalidation.
//!
//! *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406), section B3.10.

use super::Version;
use crate::aarch32::{HardwareAsid, cp15};

/// Switches to an address space by way of the kernel's own directory, so that no TLB entry of one address
/// space is tagged with the ASID of the other (section B3.10.4). The first barrier is for the Cortex-A9's
/// erratum 754322.
pub(super) fn install<V: Version>(base: usize, asid: HardwareAsid, without: usize) {
    // SAFETY: all directories have the same kernel mappings.
    unsafe {
        cp15::set_directory(without);
        V::data_barrier();
        V::instruction_barrier();
        cp15::set_asid(asid.0.into());
        V::instruction_barrier();
        cp15::set_directory(base);
        if V::SHARED_PREDICTIONS {
            cp15::invalidate_branch_predictor(0);
        }
        V::instruction_barrier();
    }
}

/// Invalidates the TLB entries of the page at `address` in the address space `asid`.
pub(super) fn invalidate_page<V: Version>(asid: HardwareAsid, address: usize) {
    // SAFETY: the TLB is refilled from the tables.
    unsafe { cp15::invalidate_page(address & !0xfff | usize::from(asid.0)) };
    finish::<V>();
}

/// Invalidates all TLB entries of the address space `asid`.
pub(super) fn invalidate_space<V: Version>(asid: HardwareAsid) {
    // SAFETY: as above.
    unsafe { cp15::invalidate_space(asid.0.into()) };
    finish::<V>();
}

/// Invalidates this core's TLB entries of the address space `asid`.
#[cfg(feature = "smp")]
pub(super) fn invalidate_space_locally<V: Version>(asid: HardwareAsid) {
    // SAFETY: as above.
    unsafe { cp15::invalidate_space_locally(asid.0.into()) };
    finish::<V>();
}

/// Invalidates all TLB entries.
pub(super) fn invalidate_all<V: Version>() {
    // SAFETY: as above.
    unsafe { cp15::invalidate_all(0) };
    finish::<V>();
}

fn finish<V: Version>() {
    // SAFETY: branch predictions affect only speed.
    unsafe { cp15::invalidate_branch_predictor(0) };
    V::data_barrier();
    V::instruction_barrier();
}
