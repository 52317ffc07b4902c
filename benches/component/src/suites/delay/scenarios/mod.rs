//! What others do, with any number of attackers. A scenario prepares them, lets the kernel work for them,
//! and removes them; it is repeated until there were enough releases of the urgent thread.

mod capabilities;
mod memory;
mod threads;
mod time;

use crate::bench::Bench;
use userlib::Result;

/// A scenario.
pub type Scenario = fn(&mut Bench, usize) -> Result;

/// All of them, by name.
pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("release storm", time::releases),
    ("long list of replenishments", time::replenishments),
    ("senders of all priorities", threads::senders),
    ("signal storm", threads::signals),
    ("priority changes", threads::priorities),
    ("endpoint deletion", threads::endpoint_deleted),
    ("cancelled badged sends", threads::sends_cancelled),
    ("reply chain", threads::reply_chain),
    ("revocation", capabilities::copies_revoked),
    ("deep lookups", capabilities::deep_lookups),
    ("capability transfer", capabilities::transfer),
    ("retype of 1 MiB", memory::retype),
    ("page table teardown", memory::page_tables),
    ("address spaces", memory::address_spaces),
    ("large frames", memory::large_frames),
];

/// Priorities of attackers: all below that of the thread that lets the kernel work.
fn priority(index: usize) -> u8 {
    1 + (index * 37 % 98) as u8
}
