//! The trait that a board implements for its architecture.

use core::ops::Range;

use kernel::arch::{Exit, Irq, PhysAddr};

use crate::interrupt::InterruptController;
use crate::lines;
use crate::timer::Timer;

/// The data in which boards differ.
#[derive(Clone, Debug)]
pub struct BoardData {
    /// RAM. 32-bit kernels are loaded at its start and probe for its end, which is at most the end of this
    /// range. 64-bit kernels get the range from the loader, and use this one if the loader gives none.
    pub ram: Range<PhysAddr>,
    /// Blocks of device registers that the kernel maps, of 1 MiB each, or of 2 MiB in 64-bit kernels.
    pub devices: &'static [PhysAddr],
    /// Device registers that users cannot map.
    pub reserved: &'static [Range<PhysAddr>],
    /// The timer's interrupt.
    pub timer_interrupt: Irq,
    /// The description of the board for users, as a flattened device tree, if the loader passes none.
    pub device_tree: &'static [u8],
    /// Where 64-bit kernels find the loader's device tree if the loader passes no address.
    pub loaded_device_tree: Option<PhysAddr>,
}

/// A board with Arm cores.
pub trait Platform: Sized + 'static {
    /// Its interrupt controller.
    type Controller: InterruptController;
    /// Its timer.
    type Timer: Timer;

    /// Its data.
    const DATA: BoardData;

    /// Starts the devices. [`BoardData::devices`] are mapped.
    fn start() -> (Self::Controller, Self::Timer);

    /// Makes this core a part of the coherency domain, before its caches are enabled. Does nothing if
    /// firmware has done so.
    #[cfg(feature = "smp")]
    fn join_caches() {}

    /// Starts the devices of another core. Called on that core.
    #[cfg(feature = "smp")]
    fn start_core(core: usize) -> (Self::Controller, Self::Timer);

    /// Makes another core begin at `entry`, with `core` in its first register. Returns whether the core
    /// exists.
    #[cfg(feature = "smp")]
    fn power_on(core: usize, entry: PhysAddr) -> bool;

    /// Writes one byte to the console, which is usable from [`Platform::start`] on.
    fn put_byte(byte: u8);

    /// Ends the run, if the board can.
    fn exit(exit: Exit);
}

/// Number of interrupt lines of a platform.
pub const fn interrupts<P: Platform>() -> usize {
    lines::count::<P::Controller>()
}
