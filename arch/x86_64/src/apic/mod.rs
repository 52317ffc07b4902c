//! The interrupt controllers: one local APIC per core, and I/O APICs for the lines of devices.

mod io;
mod local;

pub use io::{IoApic, Polarity, Route, Trigger};
pub use local::LocalApic;
#[cfg(feature = "smp")]
pub use local::Message;
