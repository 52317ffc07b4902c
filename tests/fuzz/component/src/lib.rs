//! The components of the fuzzer.
//!
//! The hostile one makes system calls: plausible ones, which are made of what the
//! methods of the interface want ([`forms`]) and changed here and there, and noise. It holds a
//! capability of every kind. It is written to be started again in the middle of anything: all that it
//! must remember is in the [`ledger`], a page that the root task reads.
//!
//! The others ([`victim`]) do a piece of work in each period and note how that went.
#![no_std]

pub mod arch;
mod call;
pub mod forms;
mod hostile;
pub mod kind;
pub mod ledger;
mod prepare;
pub mod victim;

use userlib::Startup;

/// What a component is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Role {
    /// Everything.
    Hostile,
    /// Calls a server once in a while.
    Client,
    /// Answers.
    Server,
}

/// Names on the startup page.
pub mod names {
    /// The role.
    pub const ROLE: &str = "role";
    /// The ledger, or the victim's record.
    pub const LEDGER: &str = "ledger";
    /// Where clients and servers meet.
    pub const ENDPOINT: &str = "endpoint";
    /// The server's reply object.
    pub const REPLY: &str = "reply";
    /// Memory that others can't reach.
    pub const MEMORY: &str = "memory";
}

/// Does what the parent wants.
pub fn perform(startup: &'static Startup) {
    match startup.number(names::ROLE) {
        role if role == Role::Hostile as usize => hostile::run(startup),
        role if role == Role::Client as usize => victim::client(startup),
        _ => victim::server(startup),
    }
}
