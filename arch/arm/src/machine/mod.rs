//! The kernel's architecture on Arm, for both execution states: what differs is in [`ExecutionState`], what is
//! the board's in [`Platform`]. An image is made by [`kernel_image_of`](crate::kernel_image_of).

mod arch;
mod asid;
pub mod debug;
pub mod fpu;
mod image;
mod invoke;
mod pages;
mod panic;
mod state;
mod vspace;

pub use image::{IrqTable, KernelCell};
pub use panic::panic;
pub use state::{Booted, ExecutionState};

use crate::lines::Lines;
use crate::platform::Platform;
use crate::user_timer::UserTimer;
use fpu::Fpu;

/// The architecture's state on one core of a platform.
pub struct Machine<V: ExecutionState, P: Platform> {
    /// The interrupt lines.
    pub lines: Lines<P::Controller>,
    /// The timer.
    pub timer: P::Timer,
    /// The address spaces.
    pub spaces: V::Spaces<P>,
    /// The floating-point unit.
    pub fpu: Fpu<V, P>,
    /// The timer that the kernel leaves to users.
    pub user_timer: UserTimer<Self>,
    /// The debug registers.
    pub debug: debug::InMachine,
}

impl<V: ExecutionState, P: Platform> Machine<V, P> {
    /// The state of the boot core.
    pub fn new((controller, timer): (P::Controller, P::Timer)) -> Self {
        Self::with(0, Lines::new(controller, P::DATA.timer_interrupt), timer)
    }

    /// The state of a secondary core.
    #[cfg(feature = "smp")]
    pub fn of(core: usize, (controller, timer): (P::Controller, P::Timer)) -> Self {
        Self::with(
            core,
            Lines::of(core, controller, P::DATA.timer_interrupt),
            timer,
        )
    }

    fn with(core: usize, lines: Lines<P::Controller>, timer: P::Timer) -> Self {
        Self {
            lines,
            timer,
            spaces: V::new_spaces(core),
            fpu: Fpu::start(),
            user_timer: UserTimer::new(),
            debug: debug::Unit::start::<V>(),
        }
    }
}
