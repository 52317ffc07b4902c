//! Capabilities: their kinds, their packed form in slots, the derivation tree, and capability lookup.

mod derivation;
mod kind;
mod layout;
mod lookup;
mod packed;
mod slot;

pub use derivation::{
    child_of, has_children, insert_child, insert_copy, is_last, move_cap, remove_cap, swap_slots,
};
pub(crate) use derivation::{derive, insert_packed_child, insert_root};
pub use kind::{CNode, Cap, EndpointCap, NotificationCap, UntypedCap, Zombie, ZombieKind};
pub use layout::Packing;
#[cfg(feature = "smp")]
pub(crate) use lookup::lookup_near;
pub use lookup::{lookup_cap, lookup_slot, resolve};
pub(crate) use lookup::{lookup_quickly, only_level};
pub use packed::{Field, RawCap};
pub use slot::Slot;
