//! Switching between address spaces, and forgetting translations.
//!
//! *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406), section B3.10.

use super::Version;
use crate::aarch32::{HardwareAsid, cp15};

/// Makes an address space the current one, by way of the kernel's own directory, so that no translation
/// of one address space is kept under the identifier of the other (section B3.10.4). The first barrier
/// is for the Cortex-A9's erratum 754322.
pub(super) fn install<V: Version>(base: usize, asid: HardwareAsid, without: usize) {
    // SAFETY: all directories map the kernel alike.
    unsafe {
        cp15::set_directory(without);
        V::data_barrier();
        V::instruction_barrier();
        cp15::set_asid(asid.0.into());
        V::instruction_barrier();
        cp15::set_directory(base);
        if V::SHARED_PREDICTIONS {
            cp15::forget_branches(0);
        }
        V::instruction_barrier();
    }
}

/// Forgets translations of the page at `address` in the address space `asid`.
pub(super) fn forget_page<V: Version>(asid: HardwareAsid, address: usize) {
    // SAFETY: only translations that are in the tables are found again.
    unsafe { cp15::forget_page(address & !0xfff | usize::from(asid.0)) };
    finish::<V>();
}

/// Forgets all translations of the address space `asid`.
pub(super) fn forget_space<V: Version>(asid: HardwareAsid) {
    // SAFETY: as above.
    unsafe { cp15::forget_space(asid.0.into()) };
    finish::<V>();
}

/// Forgets all translations of the address space `asid` on this core.
#[cfg(feature = "smp")]
pub(super) fn forget_space_here<V: Version>(asid: HardwareAsid) {
    // SAFETY: as above.
    unsafe { cp15::forget_space_here(asid.0.into()) };
    finish::<V>();
}

/// Forgets all translations.
pub(super) fn forget_all<V: Version>() {
    // SAFETY: as above.
    unsafe { cp15::forget_all(0) };
    finish::<V>();
}

fn finish<V: Version>() {
    // SAFETY: predictions are about speed.
    unsafe { cp15::forget_branches(0) };
    V::data_barrier();
    V::instruction_barrier();
}
