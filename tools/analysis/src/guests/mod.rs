//! Guests of a hypervisor: what a guest needs, and what switching between guests costs.

mod interface;
mod proxy;
mod share;
mod switch;

pub use interface::{INTERFACE, Interface, Policy, fits, smallest_budget, smallest_interface};
pub use proxy::{PROXY, Proxy, Slots, bound_beside, fits_beside, proxy};
pub use share::{LOWEST_LAG, Shares, lowest_lag_first};
pub use switch::{Loss, SWITCH, Sample, SwitchCost, best_fit, fit};
