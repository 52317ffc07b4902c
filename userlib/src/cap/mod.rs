//! Typed capabilities, with the methods of their objects.
//!
//! A capability here is an address in the holder's CSpace and an assumption about the slot's contents. If the
//! assumption is wrong, the kernel returns an error or raises a fault; there is no other effect.

mod asid;
mod cnode;
mod domain;
mod endpoint;
mod irq;
mod notification;
mod reply;
mod sched_context;
mod tcb;
mod untyped;
mod vspace;

#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
#[path = "arm.rs"]
mod arch;
#[cfg(target_arch = "x86_64")]
#[path = "x86.rs"]
mod arch;

pub use arch::*;
pub use asid::{AsidControl, AsidPool};
pub use cnode::{CNode, Slot};
pub use domain::DomainSet;
pub use endpoint::Endpoint;
pub use irq::{IrqControl, IrqHandler, Line};
pub use notification::Notification;
pub use reply::Reply;
pub use sched_context::{SchedContext, SchedControl, SchedParameters, YieldTarget, Yielded};
pub use tcb::{CopyRegisters, Registers, Tcb};
pub use untyped::{SlotRange, Untyped};
pub use vspace::{Frame, Frames, PageTable, VSpace};

use abi::ObjectType;
use core::fmt;

/// Address of a slot in a CSpace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct CPtr(pub usize);

impl CPtr {
    /// The slot that is always empty.
    pub const NULL: Self = Self(abi::slots::NULL);
}

impl fmt::Debug for CPtr {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "CPtr({:#x})", self.0)
    }
}

/// A capability of a known type.
pub trait Capability: Copy {
    /// The capability at an address.
    fn at(address: CPtr) -> Self;
    /// Its address.
    fn cptr(self) -> CPtr;
}

impl Capability for CPtr {
    fn at(address: CPtr) -> Self {
        address
    }
    fn cptr(self) -> CPtr {
        self
    }
}

/// A capability to an object that can be created from untyped memory.
pub trait Object: Capability {
    /// The object type for `Untyped_Retype`.
    const TYPE: ObjectType;

    /// log2 of the size in bytes of an object created with this size argument.
    fn size_bits(argument: usize) -> usize;
}

/// An object type with a fixed size: its size argument is 0.
pub trait FixedObject: Object {}

/// Declares capability types; with `= (Type, bits)` also their object type and size.
macro_rules! capability {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(transparent)]
        pub struct $name(pub $crate::cap::CPtr);

        impl $crate::cap::Capability for $name {
            fn at(address: $crate::cap::CPtr) -> Self {
                Self(address)
            }
            fn cptr(self) -> $crate::cap::CPtr {
                self.0
            }
        }
    };
    ($(#[$meta:meta])* $name:ident = ($type:ident, $bits:expr)) => {
        $crate::cap::capability!($(#[$meta])* $name);

        impl $crate::cap::Object for $name {
            const TYPE: abi::ObjectType = abi::ObjectType::$type;
            fn size_bits(_: usize) -> usize {
                $bits
            }
        }

        impl $crate::cap::FixedObject for $name {}
    };
    ($(#[$meta:meta])* $name:ident = ($type:ident, $argument:ident -> $bits:expr)) => {
        $crate::cap::capability!($(#[$meta])* $name);

        impl $crate::cap::Object for $name {
            const TYPE: abi::ObjectType = abi::ObjectType::$type;
            fn size_bits($argument: usize) -> usize {
                $bits
            }
        }
    };
}
pub(crate) use capability;
