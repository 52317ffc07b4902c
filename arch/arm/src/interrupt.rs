//! What the kernel needs of an interrupt controller.

use kernel::arch::Irq;

/// When a line raises its interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// While the line is high.
    Level,
    /// When the line becomes high.
    Edge,
}

/// An interrupt controller.
pub trait InterruptController {
    /// Number of lines, counted from 0.
    const LINES: usize;

    /// An interrupt that was taken and not yet ended, as the controller wants to hear of it again.
    type Taken: Copy;

    /// Takes the most urgent interrupt that waits, if one still does.
    fn take(&mut self) -> Option<(Irq, Self::Taken)>;

    /// Tells the controller that the core is done with an interrupt.
    fn end(&mut self, taken: Self::Taken);

    /// Whether an interrupt waits.
    fn is_pending(&self) -> bool;

    /// Masks or unmasks a line.
    fn mask(&mut self, irq: Irq, masked: bool);

    /// Whether one can choose when a line raises its interrupt.
    const HAS_TRIGGERS: bool = true;

    /// Chooses when a line raises its interrupt, if one can.
    fn set_trigger(&mut self, irq: Irq, trigger: Trigger);

    /// Number of cores that signals can be sent to.
    const SIGNAL_TARGETS: usize;

    /// Lets a shared line interrupt the core with this number.
    #[cfg(feature = "smp")]
    fn route(&mut self, irq: Irq, core: usize);

    /// Raises the software-generated interrupt `number` (0 to 15) on core `target`.
    fn send_signal(&mut self, number: usize, target: usize);
}
