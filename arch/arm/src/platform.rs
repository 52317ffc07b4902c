//! What a board tells its architecture: a list to fill in.

use core::ops::Range;

use kernel::arch::{Exit, Irq, PhysAddr};

use crate::interrupt::InterruptController;
use crate::lines;
use crate::timer::Timer;

/// A board with Arm cores.
pub trait Platform: Sized + 'static {
    /// Its interrupt controller.
    type Controller: InterruptController;
    /// Its timer.
    type Timer: Timer;

    /// Where RAM is. 32-bit kernels are loaded at its start, and look for its end, which lies at this one
    /// or before. 64-bit kernels are told by the loader, and take this where they are not.
    const RAM: Range<PhysAddr>;
    /// Blocks of device registers that the kernel sees, of 1 MiB each, or of 2 MiB in 64-bit kernels.
    const DEVICES: &'static [PhysAddr];
    /// Device registers that users do not get.
    const RESERVED: &'static [Range<PhysAddr>];
    /// The timer's interrupt.
    const TIMER_INTERRUPT: Irq;
    /// The description of the board for users, as a flattened device tree, where the loader brings none.
    const DEVICE_TREE: &'static [u8] = &[];
    /// Where 64-bit kernels find the loader's device tree if it does not say.
    const LOADED_DEVICE_TREE: Option<PhysAddr> = None;

    /// Starts the devices. [`Platform::DEVICES`] are mapped.
    fn start() -> (Self::Controller, Self::Timer);

    /// Makes the caches of this core agree with those of others, before they are switched on. Nothing,
    /// where firmware has done it.
    #[cfg(feature = "smp")]
    fn join_caches() {}

    /// Starts the devices of another core, by itself.
    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer);

    /// Lets another core begin at `entry`, with `core` in its first register. Returns whether there is
    /// such a core.
    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool;

    /// Writes one byte to the console, which is usable from [`Platform::start`] on.
    fn put_byte(byte: u8);

    /// Ends the run, if there is a way.
    fn exit(exit: Exit);
}

/// Number of interrupt lines of a platform.
pub const fn interrupts<P: Platform>() -> usize {
    lines::count::<P::Controller>()
}
