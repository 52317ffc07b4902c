//! The interface between the kernel and an interrupt controller.

use kernel::arch::Irq;

/// The condition on which a line raises its interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// While the line is high.
    Level,
    /// When the line becomes high.
    Edge,
}

/// An interrupt controller.
pub trait InterruptController {
    /// Number of lines, which are numbered from 0.
    const LINES: usize;

    /// An interrupt that was taken and not yet ended, in the form that [`InterruptController::end`] needs.
    type Taken: Copy;

    /// Takes the highest-priority pending interrupt, if there still is one.
    fn take(&mut self) -> Option<(Irq, Self::Taken)>;

    /// Reports to the controller that the core has handled an interrupt.
    fn end(&mut self, taken: Self::Taken);

    /// Whether an interrupt is pending.
    fn is_pending(&self) -> bool;

    /// Makes a private line no longer pending, if the controller remembers its edges.
    #[cfg(feature = "smp")]
    fn forget(&mut self, irq: Irq) {
        let _ = irq;
    }

    /// Masks or unmasks a line.
    fn mask(&mut self, irq: Irq, masked: bool);

    /// Whether the trigger of a line can be configured.
    const HAS_TRIGGERS: bool = true;

    /// Configures the trigger of a line, if possible.
    fn set_trigger(&mut self, irq: Irq, trigger: Trigger);

    /// Number of cores that signals can be sent to.
    const SIGNAL_TARGETS: usize;

    /// Routes a shared line to core `core`.
    #[cfg(feature = "smp")]
    fn route(&mut self, irq: Irq, core: usize);

    /// Raises the software-generated interrupt `number` (0 to 15) on core `target`.
    fn send_signal(&mut self, number: usize, target: usize);
}
