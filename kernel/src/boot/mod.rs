//! Creation of the initial thread and its capabilities.
//!
//! The architecture calls [`start`] once the machine is initialised. Memory for the initial thread is taken
//! from RAM; all of the remaining RAM becomes untyped memory. Layout and order are those of the user
//! interface (seL4 reference manual, chapter "System Bootstrapping").

mod allocator;
mod image;
mod initial_thread;
mod ranges;
mod startup;
mod untypeds;

pub use allocator::BootAllocator;
use allocator::sort;
pub use image::RootTaskImage;
pub use initial_thread::{BootParameters, start};
pub use ranges::Ranges;
pub use startup::Startup;
