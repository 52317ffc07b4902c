//! Kinds of capabilities that the hostile component distinguishes.

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
    /// A CNode; the component's own is one, too.
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
    /// Paging structures, from the lowest level.
    Table,
    Table2,
    Table3,
    AsidControl,
    AsidPool,
    PortsControl,
    Ports,
    /// An object that exists on one architecture only.
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

    /// The kind with a number.
    pub fn from_number(number: usize) -> Self {
        Self::ALL.get(number).copied().unwrap_or(Self::None)
    }
}
