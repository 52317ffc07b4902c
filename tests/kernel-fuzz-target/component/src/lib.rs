//! The components of the fuzzer.
//!
//! The hostile component makes system calls: plausible ones, which follow the methods' signatures ([`forms`])
//! with some mutations, chains of calls with limits, and noise. It holds a capability of every kind. It can be
//! stopped and started again at any point: all state that it needs is in the [`ledger`], a page that the root
//! task reads.
//!
//! The other components ([`victim`]) do a piece of work in each period and record the results.
#![no_std]

pub mod arch;
mod call;
mod chain;
pub mod forms;
mod hostile;
pub mod kind;
pub mod ledger;
mod prepare;
pub mod victim;

use userlib::Startup;

/// The role of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Role {
    /// Makes arbitrary system calls.
    Hostile,
    /// Calls a server in each period.
    Client,
    /// Answers calls.
    Server,
}

/// Names on the startup page.
pub mod names {
    /// The role.
    pub const ROLE: &str = "role";
    /// The ledger, or the victim's record.
    pub const LEDGER: &str = "ledger";
    /// The endpoint of client and server.
    pub const ENDPOINT: &str = "endpoint";
    /// The server's reply object.
    pub const REPLY: &str = "reply";
    /// The notification that the server signals when it first waits for a call.
    pub const READY: &str = "ready";
    /// Memory that is not shared.
    pub const MEMORY: &str = "memory";
}

/// Performs the role that the parent chose.
pub fn perform(startup: &'static Startup) {
    match startup.number(names::ROLE) {
        role if role == Role::Hostile as usize => hostile::run(startup),
        role if role == Role::Client as usize => victim::client(startup),
        _ => victim::server(startup),
    }
}
