//! The kernel's architecture on 32-bit Arm: exceptions, floating point, the kernel's own address
//! space, and the boot path up to the portable kernel. The trait [`Version`] has the parts that are
//! specific to an architecture version; a platform adds its devices and its memory map ([`Platform`]) and
//! makes the image ([`aarch32_image`](crate::aarch32_image)).
//!
//! The assembly of this folder is assembled by the crate of the architecture version, after that
//! version's macros.
//!
//! The kernel uses only the 32-bit instruction set. Users may execute Thumb code, but the restart address
//! of a system call assumes the longer instruction, as the interface specifies.

mod arch;
mod boot;
#[cfg(feature = "smp")]
mod core_local;
mod fastpath;
mod fpu;
mod image;
mod kernel_space;
mod panic;
mod translation;
mod trap;
mod undefined;
mod user_access;
mod version;

pub use fastpath::system_call_entry;
pub use image::{IrqTable, KernelCell};
pub use kernel_space::{DEVICE_BASE, KERNEL_BASE, WINDOW_SIZE, device_address};
pub use panic::panic;
pub use trap::{FATAL_STACK_SIZE, fatal};
pub use version::Version;

/// Core-local data.
pub type CoreLocal = crate::core_local::CoreLocal<super::Context>;

use super::Spaces;
use crate::lines::Lines;
use crate::platform::Platform;
use crate::user_timer::UserTimer;

/// The architecture's state on one core, for an architecture version and a platform.
pub struct Machine<V: Version, P: Platform> {
    lines: Lines<P::Controller>,
    timer: P::Timer,
    spaces: Spaces<Self>,
    fpu: fpu::Fpu<V, P>,
    user_timer: UserTimer<Self>,
}

impl<V: Version, P: Platform> Machine<V, P> {
    fn new((controller, timer): (P::Controller, P::Timer)) -> Self {
        Self::with(0, Lines::new(controller, P::TIMER_INTERRUPT), timer)
    }

    /// The state of a secondary core.
    #[cfg(feature = "smp")]
    fn of(core: usize, (controller, timer): (P::Controller, P::Timer)) -> Self {
        Self::with(core, Lines::of(core, controller, P::TIMER_INTERRUPT), timer)
    }

    fn with(core: usize, lines: Lines<P::Controller>, timer: P::Timer) -> Self {
        Self {
            lines,
            timer,
            spaces: Spaces::new(kernel_space::directory::<V, P>(), core),
            fpu: fpu::Fpu::start(),
            user_timer: UserTimer::new(),
        }
    }
}
