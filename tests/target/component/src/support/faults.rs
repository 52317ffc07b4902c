//! Threads that are expected to fault.

use super::{ABOVE, Outcome, Test, fail};
use userlib::cap::{Endpoint, Reply};
use userlib::{Fault, Message, Thread};

/// A thread whose faults come to the test, and the means to answer them.
#[derive(Clone, Copy)]
pub struct Watched {
    /// The thread.
    pub thread: Thread,
    /// Where its faults come.
    pub endpoint: Endpoint,
    /// What stands for the thread after a fault.
    pub reply: Reply,
}

impl Test {
    /// Makes a thread, more urgent than the test, whose faults come to the test.
    pub fn watched<F: FnOnce() + Send + 'static>(&mut self, work: F) -> Outcome<Watched> {
        let endpoint: Endpoint = self.create()?;
        Ok(Watched {
            thread: self.thread_with(ABOVE, Some(super::SLICE), endpoint, work)?,
            endpoint,
            reply: self.create()?,
        })
    }

    /// The fault that `work` ends with.
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
