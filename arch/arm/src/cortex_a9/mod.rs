//! Devices that come with a Cortex-A9 MPCore, in the private memory region of its cores.

mod global_timer;

pub use global_timer::GlobalTimer;
