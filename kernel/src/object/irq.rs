//! Interrupt lines.

use crate::arch::Arch;
use crate::slot::Slot;

/// The owner of an interrupt line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrqState {
    /// None: no handler capability exists.
    Free,
    /// A user has a handler capability.
    Issued,
}

/// One interrupt line.
pub struct IrqEntry<A: Arch> {
    /// The capability to the notification that is signalled.
    pub notification: Slot<A>,
    /// Its owner.
    pub state: IrqState,
}

impl<A: Arch> IrqEntry<A> {
    /// A line without a handler.
    pub const EMPTY: Self = Self {
        notification: Slot::EMPTY,
        state: IrqState::Free,
    };
}
