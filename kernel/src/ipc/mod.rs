//! Interaction between threads: messages, donation of scheduling contexts, signals, faults.

mod buffer;
mod cancel;
mod cancel_badged;
mod donate;
mod endpoint;
mod fault;
mod limit;
mod reply;
mod resolved_transfer;
mod signal;
mod threshold;
mod timeout;
mod transfer;
mod yield_to;

pub use buffer::Buffer;
pub(crate) use endpoint::{Receiver, SendOptions};
pub(crate) use fault::is_handler;
pub(crate) use resolved_transfer::ResolvedCapTransfers;
pub(crate) use transfer::ExtraCaps;
