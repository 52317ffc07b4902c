//! The first thread: what it gets, and in which order.
//!
//! The architecture calls [`start`] once the machine is ready. Everything that the initial thread
//! needs is taken from RAM; all that is left becomes untyped memory. Layout and order are those of the
//! user interface (seL4 reference manual, chapter "System Bootstrapping").

mod allocator;
mod image;
mod initial_thread;
mod untypeds;

pub use allocator::BootAllocator;
pub use image::RootTaskImage;
pub use initial_thread::{BootParameters, start};
