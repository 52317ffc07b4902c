//! What services need that the example systems have as components: their protocols, and what they keep for their
//! clients. The components add the devices.

pub mod dates;
pub mod lines;
pub mod pins;
pub mod timers;
