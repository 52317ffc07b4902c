//! Kinds of capabilities, as the hostile component tells them apart.

/// A kind of capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
#[allow(missing_docs, reason = "each is the kind that its name says")]
pub enum Kind {
    None,
    Untyped,
    Endpoint,
    Notification,
    Reply,
    /// A CNode, or the component's own.
    CNode,
    Thread,
    SchedContext,
    SchedControl,
    Domain,
    IrqControl,
    IrqHandler,
    Frame,
    /// The root of an address space.
    Space,
    /// Paging structures, from the lowest.
    Table,
    Table2,
    Table3,
    AsidControl,
    AsidPool,
    PortsControl,
    Ports,
    /// A thing that there is on one architecture only.
    Special,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::None,
        Self::Untyped,
        Self::Endpoint,
        Self::Notification,
        Self::Reply,
        Self::CNode,
        Self::Thread,
        Self::SchedContext,
        Self::SchedControl,
        Self::Domain,
        Self::IrqControl,
        Self::IrqHandler,
        Self::Frame,
        Self::Space,
        Self::Table,
        Self::Table2,
        Self::Table3,
        Self::AsidControl,
        Self::AsidPool,
        Self::PortsControl,
        Self::Ports,
        Self::Special,
    ];

    /// The kind of a number.
    pub fn from_number(number: usize) -> Self {
        Self::ALL.get(number).copied().unwrap_or(Self::None)
    }
}
