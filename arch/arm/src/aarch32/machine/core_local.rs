//! Core-local data on several cores. The register TPIDRPRW points to it (ARM DDI 0406, section B4.1.150);
//! users cannot read it.

use crate::aarch32::{Context, cp15};
use crate::core_local::{CoreLocal, OfCores};

use super::trap;

static OF_CORES: OfCores<Context> = OfCores::new();

/// Sets up this core's data; kernel entries start at `stack`.
pub(crate) fn start(core: usize, stack: usize) {
    // SAFETY: called once for each core, before the core reads its data.
    unsafe {
        let own = OF_CORES.start(core, stack, trap::fatal_stack_end(core));
        cp15::set_core_local(own);
    }
}

/// The data of this core.
#[inline(always)]
pub(crate) fn own() -> &'static CoreLocal<Context> {
    // SAFETY: `start` has set this address, which does not change.
    unsafe { &*core::ptr::with_exposed_provenance(cp15::core_local()) }
}
