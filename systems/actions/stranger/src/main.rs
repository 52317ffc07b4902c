//! Sends to the teller without waiting for a reply. That brings no time, and the teller would have none to receive again.
//! The types of `Given` do not permit it, so this program looks for the capability itself, as a hostile one would.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::cap::Endpoint;
use userlib::{Message, Startup};

userlib::entry!(main);

fn main(startup: &'static Startup) {
    let teller: Endpoint = startup.capability("teller");
    teller.send(Message::empty(0));
}
