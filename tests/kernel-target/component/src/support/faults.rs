//! Threads that are expected to fault.

use super::{ABOVE, Outcome, Test, fail};
use userlib::cap::{Endpoint, Reply};
use userlib::{Fault, Message, Thread};

/// A thread that reports its faults to the test, and the objects to reply to them.
#[derive(Clone, Copy)]
pub struct Watched {
    /// The thread.
    pub thread: Thread,
    /// The endpoint of its fault messages.
    pub endpoint: Endpoint,
    /// The reply object for its faults.
    pub reply: Reply,
}

impl Test {
    /// Makes a thread of higher priority than the test, which receives its faults.
    pub fn watched<F: FnOnce() + Send + 'static>(&mut self, work: F) -> Outcome<Watched> {
        let endpoint: Endpoint = self.create()?;
        Ok(Watched {
            thread: self.thread_with(ABOVE, Some(super::SLICE), endpoint, work)?,
            endpoint,
            reply: self.create()?,
        })
    }

    /// The fault in which `work` ends.
    #[track_caller]
    pub fn fault_of<F: FnOnce() + Send + 'static>(&mut self, work: F) -> Outcome<Fault> {
        let watched = self.watched(work)?;
        watched.thread.start()?;
        Ok(watched.fault())
    }
}

impl Watched {
    /// The message of a fault that has happened.
    #[track_caller]
    pub fn message(&self) -> Message {
        let received = self.endpoint.nb_recv(self.reply);
        match received.and_then(|received| received.message) {
            Some(message) => message,
            None => fail(format_args!("no fault happened")),
        }
    }

    /// A fault that has happened.
    #[track_caller]
    pub fn fault(&self) -> Fault {
        Fault::from_message(&self.message())
    }

    /// Whether no fault is waiting.
    pub fn is_quiet(&self) -> bool {
        self.endpoint.nb_recv(self.reply).is_none()
    }
}
