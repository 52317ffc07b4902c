//! Interrupt lines.

use crate::arch::Arch;
use crate::slot::Slot;

/// One interrupt line.
pub struct IrqEntry<A: Arch> {
    /// The capability to the notification that is signalled.
    pub notification: Slot<A>,
    /// Whether a user has a handler capability.
    pub is_issued: bool,
}

impl<A: Arch> IrqEntry<A> {
    /// A line without a handler.
    pub const EMPTY: Self = Self {
        notification: Slot::EMPTY,
        is_issued: false,
    };
}
