//! Interrupt lines.

use crate::arch::Arch;
use crate::cap::Slot;

/// Who owns an interrupt line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IrqState {
    /// Nobody.
    Free,
    /// A user, by a handler capability.
    Issued,
}

/// One interrupt line.
pub struct IrqEntry<A: Arch> {
    /// The notification that is signalled.
    pub notification: Slot<A>,
    /// Who owns it.
    pub state: IrqState,
}

impl<A: Arch> IrqEntry<A> {
    /// A line that nobody has asked for.
    pub const EMPTY: Self = Self {
        notification: Slot::EMPTY,
        state: IrqState::Free,
    };
}
