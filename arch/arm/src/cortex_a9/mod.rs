//! Devices that come with a Cortex-A9 MPCore, in the private memory region of its cores.

mod global_timer;
#[cfg(all(feature = "smp", target_arch = "arm"))]
mod scu;

pub use global_timer::GlobalTimer;
#[cfg(all(feature = "smp", target_arch = "arm"))]
pub use scu::Scu;
