//! Interaction between threads: messages, donation of scheduling contexts, signals, faults.

mod buffer;
mod cancel;
mod donate;
mod endpoint;
mod fault;
mod guard;
mod limit;
mod parcel;
mod signal;
mod sweep;
mod transfer;
mod yield_to;

pub use buffer::Buffer;
pub(crate) use endpoint::{Receiver, SendOptions};
pub(crate) use fault::is_handler;
pub(crate) use parcel::Parcels;
pub(crate) use transfer::ExtraCaps;
