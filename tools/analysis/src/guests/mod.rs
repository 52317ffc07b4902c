//! Guests of a hypervisor: what a guest needs, and what switching between guests costs.

mod proxy;
mod switch;

pub use proxy::{PROXY, Proxy, Slots, bound_beside, proxy};
pub use switch::{Loss, SWITCH, Sample, SwitchCost, fit};
