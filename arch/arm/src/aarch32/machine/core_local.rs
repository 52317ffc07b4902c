//! What belongs to one core, where there are several. The register TPIDRPRW points there (ARM DDI 0406,
//! section B4.1.150); users cannot read it.

use aarch32_cpu::register::{SysRegRead, Tpidrprw};

use crate::aarch32::{Context, cp15};
use crate::core_local::{CoreLocal, OfCores};

use super::trap;

static OF_CORES: OfCores<Context> = OfCores::new();

/// Gives this core its state; kernel entries start at `stack`.
pub(crate) fn start(core: usize, stack: usize) {
    // SAFETY: this happens once for each core, which looks behind this.
    unsafe {
        let own = OF_CORES.start(core, stack, trap::fatal_stack_end(core));
        cp15::set_core_local(own);
    }
}

/// What belongs to this core.
#[inline(always)]
pub(crate) fn own() -> &'static CoreLocal<Context> {
    let address = <Tpidrprw as SysRegRead>::read_raw();
    // SAFETY: `start` has written this, for good.
    unsafe { &*core::ptr::with_exposed_provenance(address as usize) }
}
