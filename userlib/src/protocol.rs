//! Protocols: what clients and servers say to each other, as Rust.
//!
//! [`protocol!`](crate::protocol!) makes a module of the signatures of operations: the trait `Service`, which a server
//! implements, and the types `Client` and `Server`. An endpoint whose description has the key `protocol` with the module's path has
//! these types in `Given`, so client and server cannot mean different things.
//!
//! ```
//! userlib::value! {
//!     /// Why a number was not added.
//!     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
//!     pub enum Refused { TooLarge, Tired }
//! }
//!
//! userlib::protocol! {
//!     /// Adds numbers.
//!     pub mod addition, version 1 {
//!         /// Adds a number to the caller's sum, and returns it.
//!         fn add(number: u32) -> Result<u64, Refused>;
//!     }
//! }
//!
//! struct Adder { sums: [u64; 2] }
//!
//! impl addition::Service for Adder {
//!     fn add(&mut self, caller: usize, number: u32) -> Result<u64, Refused> {
//!         let sum = self.sums.get_mut(caller).ok_or(Refused::Tired)?;
//!         *sum = sum.checked_add(number.into()).ok_or(Refused::TooLarge)?;
//!         Ok(*sum)
//!     }
//! }
//!
//! # fn main() {
//! # use userlib::Message;
//! // On the target: given.requests.serve(Adder { sums: [0; 2] }), and given.adder.add(5).
//! let mut adder = Adder { sums: [0; 2] };
//! let reply = addition::answer(&mut adder, 1, &Message::new(addition::label(addition::Operation::add), &[5]));
//! assert_eq!((reply.label(), reply.word(0), reply.word(1)), (0, 0, 5));
//! # }
//! ```
//!
//! **Layout.** The label of a request is 256 times the version and the place of the operation, counted from 0. The
//! arguments follow in words, in their order, as [`Value`] says: the first ones travel in registers. The reply has the
//! label 0 and the result. What has no fixed length is in the message as the crate `encoded` encodes it. What is longer
//! goes through shared memory: [`Shared`] puts it there, and the message has its [`Part`].
//!
//! **Hostile clients.** A server answers a request with another version, an unknown operation, another length,
//! capabilities, or words that are no value of their type, with an error, and its `Service` never sees it. The caller is
//! the badge of its capability, which it cannot choose.

mod shared;
mod value;

pub use shared::{Part, Shared};
pub use value::{Bytes, Text, TooLong, Value};

use crate::Message;
use crate::server::CallError;

/// Operations of a protocol, at most.
pub const MOST_OPERATIONS: usize = 1 << OPERATION_BITS;
/// The greatest version of a protocol: labels have 20 bits on 32-bit processors.
pub const MOST_VERSION: usize = (1 << (20 - OPERATION_BITS)) - 1;
const OPERATION_BITS: usize = 8;

/// The label of a reply with a result.
const DONE: usize = 0;
/// Labels of replies without one; below that of [`ABORTED`](crate::server::ABORTED).
const OTHER_VERSION: usize = 0xf_fff0;
const NO_OPERATION: usize = 0xf_fff1;
const MALFORMED: usize = 0xf_fff2;
const RESULT_TOO_LONG: usize = 0xf_fff3;

/// Why an operation has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The server has another version of the protocol, namely this one.
    OtherVersion(usize),
    /// The server does not know the operation.
    NoOperation,
    /// The words of the request are no arguments of the operation.
    Malformed,
    /// An argument is longer than its type allows. Nothing has been sent.
    TooLong,
    /// The result is longer than its type allows. The operation has been carried out.
    ResultTooLong,
    /// The reply is none of the protocol's.
    BadReply,
    /// The server has failed or stopped, or the kernel refuses the call.
    Call(CallError),
}

/// A protocol, for code that serves any with services of type `S`, such as the simulator.
pub trait Protocol<S> {
    /// The names of its operations, in their order.
    const OPERATIONS: &'static [&'static str];

    /// The reply to a request of the client with this badge.
    fn answer(service: &mut S, caller: usize, message: &Message) -> Message;

    /// Passes signals and interrupts to a service.
    fn signals(service: &mut S, signals: usize);
}

/// The label of an operation's requests.
#[doc(hidden)]
pub const fn label(version: usize, operation: usize) -> usize {
    version << OPERATION_BITS | operation
}

/// The place of the operation that a message of this version asks for, or the reply to it.
#[doc(hidden)]
pub fn operation(version: usize, message: &Message) -> core::result::Result<usize, Message> {
    if message.label() >> OPERATION_BITS != version {
        return Err(Message::new(OTHER_VERSION, &[version]));
    }
    Ok(message.label() % MOST_OPERATIONS)
}

/// The reply to an unknown operation.
#[doc(hidden)]
pub fn no_operation() -> Message {
    Message::empty(NO_OPERATION)
}

/// The reply to words that are no arguments.
#[doc(hidden)]
pub fn malformed() -> Message {
    Message::empty(MALFORMED)
}

/// The words of a message, if there are exactly so many, and no capabilities.
#[doc(hidden)]
pub fn words(message: &Message, length: usize) -> Option<impl Iterator<Item = usize>> {
    let fits = message.length() == length && message.capabilities() == 0;
    fits.then(|| (0..length).map(|index| message.word(index)))
}

/// The request with arguments. `words` has room for them.
#[doc(hidden)]
pub fn request<T: Value>(
    label: usize,
    arguments: &T,
    words: &mut [usize],
) -> core::result::Result<Message, Error> {
    match value::write(arguments, words) {
        Ok(()) => Ok(Message::new(label, words)),
        Err(TooLong) => Err(Error::TooLong),
    }
}

/// The reply with a result. `words` has room for it.
#[doc(hidden)]
pub fn done<T: Value>(result: &T, words: &mut [usize]) -> Message {
    match value::write(result, words) {
        Ok(()) => Message::new(DONE, words),
        Err(TooLong) => Message::empty(RESULT_TOO_LONG),
    }
}

/// The result in a reply.
#[doc(hidden)]
pub fn result<T: Value>(
    reply: core::result::Result<Message, CallError>,
) -> core::result::Result<T, Error> {
    let reply = reply.map_err(Error::Call)?;
    match reply.label() {
        DONE => {
            let words = words(&reply, T::WORDS);
            words
                .and_then(|mut words| T::read(&mut words))
                .ok_or(Error::BadReply)
        }
        OTHER_VERSION => Err(Error::OtherVersion(reply.word(0))),
        NO_OPERATION => Err(Error::NoOperation),
        MALFORMED => Err(Error::Malformed),
        RESULT_TOO_LONG => Err(Error::ResultTooLong),
        _ => Err(Error::BadReply),
    }
}

/// Makes a module of a protocol; see [`protocol`](mod@crate::protocol).
#[macro_export]
macro_rules! protocol {
    (
        $(#[$doc:meta])*
        $visibility:vis mod $name:ident, version $version:literal {
            $($(#[$operation_doc:meta])* fn $operation:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?;)+
        }
    ) => {
        $(#[$doc])*
        #[allow(dead_code, reason = "a program may be one of both sides only")]
        $visibility mod $name {
            #[allow(unused_imports, reason = "the types of arguments may be anywhere")]
            use super::*;

            /// The protocol's version.
            pub const VERSION: usize = $version;

            const _: () = assert!(
                VERSION > 0 && VERSION <= $crate::protocol::MOST_VERSION,
                "a version is between 1 and 4095"
            );
            const _: () = assert!(
                [$(Operation::$operation),+].len() <= $crate::protocol::MOST_OPERATIONS,
                "a protocol has at most 256 operations"
            );

            /// Its operations.
            #[allow(non_camel_case_types, reason = "they are called as their functions")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Operation {
                $($(#[$operation_doc])* $operation,)+
            }

            /// The label of an operation's requests.
            pub const fn label(operation: Operation) -> usize {
                $crate::protocol::label(VERSION, operation as usize)
            }

            /// What a server does.
            pub trait Service {
                $(
                    $(#[$operation_doc])*
                    fn $operation(&mut self, caller: usize $(, $argument: $type)*) $(-> $result)?;
                )+

                /// Handles signals and interrupts.
                fn signals(&mut self, signals: usize) {
                    let _ = signals;
                }
            }

            /// The reply to a request of the client with this badge.
            pub fn answer(service: &mut impl Service, caller: usize, message: &$crate::Message) -> $crate::Message {
                let place = match $crate::protocol::operation(VERSION, message) {
                    Ok(place) => place,
                    Err(reply) => return reply,
                };
                $(
                    if place == Operation::$operation as usize {
                        type Arguments = ($($type,)*);
                        type Answer = $crate::protocol!(@answer $($result)?);
                        const WORDS: usize = <Arguments as $crate::protocol::Value>::WORDS;
                        const ANSWER: usize = <Answer as $crate::protocol::Value>::WORDS;
                        const _: () = assert!(
                            WORDS <= $crate::abi::MAX_MESSAGE_LENGTH && ANSWER <= $crate::abi::MAX_MESSAGE_LENGTH,
                            "arguments or result are longer than a message: use shared memory"
                        );
                        let arguments = $crate::protocol::words(message, WORDS);
                        let arguments = arguments.and_then(|mut words| {
                            <Arguments as $crate::protocol::Value>::read(&mut words)
                        });
                        let Some(($($argument,)*)) = arguments else {
                            return $crate::protocol::malformed();
                        };
                        let result: Answer = service.$operation(caller $(, $argument)*);
                        return $crate::protocol::done(&result, &mut [0; ANSWER]);
                    }
                )+
                $crate::protocol::no_operation()
            }

            /// The protocol as a value, for code that serves any.
            #[derive(Clone, Copy, Debug)]
            pub struct Protocol;

            impl<S: Service> $crate::protocol::Protocol<S> for Protocol {
                const OPERATIONS: &'static [&'static str] = &[$(stringify!($operation)),+];

                fn answer(service: &mut S, caller: usize, message: &$crate::Message) -> $crate::Message {
                    answer(service, caller, message)
                }

                fn signals(service: &mut S, signals: usize) {
                    service.signals(signals);
                }
            }

            /// The right to ask for the operations.
            #[derive(Clone, Copy, Debug)]
            pub struct Client($crate::given::Client);

            impl Client {
                /// The right with this name on the startup page, if there is one.
                pub fn find(startup: &$crate::Startup, name: &str) -> Option<Self> {
                    $crate::given::Client::find(startup, name).map(Self)
                }

                /// The same right, to send anything.
                pub fn untyped(self) -> $crate::given::Client {
                    self.0
                }

                $(
                    $(#[$operation_doc])*
                    ///
                    /// # Errors
                    /// If there is no result, and why.
                    pub fn $operation(
                        self $(, $argument: $type)*
                    ) -> ::core::result::Result<$crate::protocol!(@answer $($result)?), $crate::protocol::Error> {
                        type Arguments = ($($type,)*);
                        let mut words = [0; <Arguments as $crate::protocol::Value>::WORDS];
                        let arguments: Arguments = ($($argument,)*);
                        let label = label(Operation::$operation);
                        let request = $crate::protocol::request(label, &arguments, &mut words)?;
                        $crate::protocol::result(self.0.try_call(request))
                    }
                )+
            }

            /// The right to serve.
            #[derive(Debug)]
            pub struct Server($crate::given::Server);

            impl Server {
                /// The right with this name on the startup page, if there is one.
                pub fn find(startup: &$crate::Startup, name: &str) -> Option<Self> {
                    $crate::given::Server::find(startup, name).map(Self)
                }

                /// Serves for ever: requests, and signals and interrupts between them.
                pub fn serve(self, mut service: impl Service) -> ! {
                    self.0.serve(|received| match received.message {
                        Some(message) => answer(&mut service, received.badge, &message),
                        None => {
                            service.signals(received.badge);
                            $crate::Message::empty(0)
                        }
                    })
                }
            }
        }
    };
    (@answer) => { () };
    (@answer $result:ty) => { $result };
}

#[cfg(test)]
mod tests;
