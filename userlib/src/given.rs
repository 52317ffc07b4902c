//! What the description of a system gives a component, as types.
//!
//! The tool makes a struct `Given` for each program of a system that the generic initialiser sets up: its fields
//! are what the description gives to the components of this program, and each has a type that can do no more
//! than the capability. So a program that asks for something else does not compile. What only some of these
//! components get is an `Option`. A program declares `userlib::component!(main)` and has `fn main(given: Given)`.
//!
//! This is the `Given` of the client in the tests of the tool ([`crate::given`] is in scope as in each of them):
//!
//! ```
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/given/example.rs"));
//! # use userlib::Message;
//! fn main_of_client(given: Given) {
//!     let answer = given.server.call(Message::new(0, &[given.rate]));
//!     given.report[0].store(answer.word(0), core::sync::atomic::Ordering::Relaxed);
//! }
//! # fn main() {}
//! ```
//!
//! It has no capability to another server:
//!
//! ```compile_fail,E0609
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/given/example.rs"));
//! fn main_of_client(given: Given) {
//!     given.disk.call(userlib::Message::empty(0));
//! }
//! # fn main() {}
//! ```
//!
//! It cannot receive from the endpoint that it may call:
//!
//! ```compile_fail,E0599
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/given/example.rs"));
//! fn main_of_client(given: Given) {
//!     given.server.receive();
//! }
//! # fn main() {}
//! ```
//!
//! It cannot send to a passive server without waiting for the reply, because that would have no time:
//!
//! ```compile_fail,E0599
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/given/example.rs"));
//! fn main_of_client(given: Given) {
//!     given.server.send(userlib::Message::empty(0));
//! }
//! # fn main() {}
//! ```
//!
//! It can to one with time of its own:
//!
//! ```
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/given/example.rs"));
//! fn main_of_client(given: Given) {
//!     given.log.send(userlib::Message::empty(0));
//!     given.log.call(userlib::Message::empty(1));
//! }
//! # fn main() {}
//! ```
//!
//! A server replies to a request before it receives the next one:
//!
//! ```
//! use userlib::{Message, given::Server};
//! fn add(server: Server) -> ! {
//!     let mut request = server.receive();
//!     let mut sum = 0;
//!     loop {
//!         sum += request.message.map_or(0, |message| message.word(0));
//!         request = request.reply_and_receive(Message::new(0, &[sum]));
//!     }
//! }
//! ```
//!
//! It cannot forget the caller:
//!
//! ```compile_fail,E0382
//! use userlib::given::Server;
//! fn forget(server: Server) {
//!     let first = server.receive();
//!     let second = server.receive();
//! }
//! ```
//!
//! A component can make something of the interrupts and registers of a device, but not of another one's:
//!
//! ```
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/given/example.rs"));
//! fn main_of_client(given: Given) {
//!     const STATUS: usize = 0x18;
//!     loop {
//!         given.serial_interrupt.wait();
//!         if given.serial.read32(STATUS) & 1 != 0 {
//!             given.serial.write32(STATUS, 1);
//!         }
//!         given.serial_interrupt.acknowledge();
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! And it cannot write memory that it may only read:
//!
//! ```compile_fail,E0599
//! include!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/given/example.rs"));
//! fn main_of_client(given: Given) {
//!     given.settings.get(0).unwrap().store(1, core::sync::atomic::Ordering::Relaxed);
//! }
//! # fn main() {}
//! ```

mod calls;
mod devices;

pub use calls::{Client, Request, Sender, Server};
#[cfg(target_arch = "x86_64")]
pub use devices::Ports;
pub use devices::{CoreRegisters, Interrupt, Registers, barrier};

use crate::Startup;
use crate::cap::Notification;
use crate::startup::NOTIFICATION;
use core::sync::atomic::{AtomicUsize, Ordering};

/// The right to signal another component.
#[derive(Clone, Copy, Debug)]
pub struct Signal(Notification);

impl Signal {
    #[doc(hidden)]
    pub fn find(startup: &Startup, name: &str) -> Option<Self> {
        startup.find_capability(name).map(Self)
    }

    /// Signals it.
    #[inline(always)]
    pub fn signal(self) {
        self.0.signal();
    }
}

/// The right to wait for signals and interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Signals(Notification);

impl Signals {
    #[doc(hidden)]
    pub fn find(startup: &Startup) -> Option<Self> {
        startup.find_capability(NOTIFICATION).map(Self)
    }

    /// Waits until there is a signal; returns all that have come.
    pub fn wait(self) -> usize {
        self.0.wait()
    }
}

/// One of the signals for which a component waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bit(u32);

impl Bit {
    #[doc(hidden)]
    pub fn find(startup: &Startup, name: &str) -> Option<Self> {
        startup.find_number(name).map(|bit| Self(bit as u32))
    }

    /// Whether it is among the signals that have come.
    pub fn is_in(self, signals: usize) -> bool {
        signals >> self.0 & 1 != 0
    }
}

/// Shared memory that a component may only read.
#[derive(Clone, Copy, Debug)]
pub struct ReadOnly(&'static [AtomicUsize]);

impl ReadOnly {
    #[doc(hidden)]
    pub fn find(startup: &'static Startup, name: &str) -> Option<Self> {
        startup.find_memory(name)?;
        Some(Self(startup.shared(name)))
    }

    /// The number of its words.
    #[allow(clippy::len_without_is_empty, reason = "memory is never empty")]
    pub fn len(self) -> usize {
        self.0.len()
    }

    /// The word at `index`, if there is one.
    pub fn get(self, index: usize) -> Option<usize> {
        let word = self.0.get(index)?;
        Some(word.load(Ordering::Relaxed))
    }
}

/// Makes `main` the main function of a component: `fn(Given)`, with the type [`Given`](crate::given) that the tool
/// has made of the description.
#[macro_export]
macro_rules! component {
    ($main:path) => {
        include!(concat!(
            env!("ESCAPEMENT_GIVEN"),
            "/",
            env!("CARGO_PKG_NAME"),
            ".rs"
        ));

        const _: () = {
            fn given(startup: &'static $crate::Startup) -> impl $crate::runtime::Termination {
                $main(Given::find(startup))
            }
            $crate::entry!(given);
        };
    };
}
