//! Scenarios of kernel load, with any number of attackers. A scenario prepares the attackers, makes the
//! kernel work for them, and removes them; it is repeated until the high-priority thread was released often
//! enough.

mod capabilities;
mod memory;
mod threads;
mod time;

use crate::bench::Bench;
use userlib::Result;
use userlib::abi::RETYPE_LIMIT;

/// A scenario.
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// The most attackers.
    pub most: usize,
    /// Runs it once.
    pub play: fn(&mut Bench, usize) -> Result,
}

/// A scenario with any number of attackers.
const fn any(name: &'static str, play: fn(&mut Bench, usize) -> Result) -> Scenario {
    at_most(usize::MAX, name, play)
}

const fn at_most(
    most: usize,
    name: &'static str,
    play: fn(&mut Bench, usize) -> Result,
) -> Scenario {
    Scenario { name, most, play }
}

/// All scenarios.
pub const SCENARIOS: &[Scenario] = &[
    any("release storm", time::releases),
    any("long list of replenishments", time::replenishments),
    any("idling context", time::idling),
    any("senders of all priorities", threads::senders),
    any("signal storm", threads::signals),
    any("priority changes", threads::priorities),
    any("endpoint deletion", threads::endpoint_deleted),
    any("cancelled badged sends", threads::sends_cancelled),
    any("reply chain", threads::reply_chain),
    any("revocation", capabilities::copies_revoked),
    any("deep lookups", capabilities::deep_lookups),
    any("capability transfer", capabilities::transfer),
    at_most(RETYPE_LIMIT, "retype of 1 MiB", memory::retype),
    any("page table teardown", memory::page_tables),
    at_most(memory::MAX_SPACES, "address spaces", memory::address_spaces),
    at_most(memory::MAX_PAGES, "large frames", memory::large_frames),
];

/// Priorities of attackers: all below that of the thread that makes the kernel work.
fn priority(index: usize) -> u8 {
    1 + (index * 37 % 98) as u8
}
