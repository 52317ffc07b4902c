//! The client's side.

use core::sync::atomic::{AtomicUsize, Ordering};

use userlib::Message;
use userlib::cap::Endpoint;

use super::{Words, label};

/// The budget of a client has ended before its request was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestAborted;

/// Where the guard leaves the answer for a client: a client that is woken by a signal gets no message.
#[derive(Debug)]
pub struct Mailbox {
    is_answer: AtomicUsize,
    words: [AtomicUsize; 3],
}

impl Mailbox {
    /// An empty one.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Self {
        Self {
            is_answer: AtomicUsize::new(0),
            words: [const { AtomicUsize::new(0) }; 3],
        }
    }

    /// Leaves an answer, or none if the request is aborted.
    pub(super) fn put(&self, answer: Option<Words>) {
        for (place, word) in self.words.iter().zip(answer.unwrap_or_default()) {
            place.store(word, Ordering::Relaxed);
        }
        let is_answer = usize::from(answer.is_some());
        self.is_answer.store(is_answer, Ordering::Release);
    }

    fn take(&self) -> Result<Words, RequestAborted> {
        match self.is_answer.swap(0, Ordering::Acquire) {
            0 => Err(RequestAborted),
            _ => Ok(self
                .words
                .each_ref()
                .map(|word| word.load(Ordering::Relaxed))),
        }
    }
}

/// A client's right to call the server, for the client's own thread.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    pub(super) guard: Endpoint,
    /// Nothing is ever sent to it. The thread waits here for its signal, because idling contexts are charged at endpoints.
    pub(super) gate: Endpoint,
    pub(super) answer: &'static Mailbox,
}

impl Caller {
    /// The client computes from now on, and clients of lower priority on its core do not run, nor lend. A call of the
    /// server implies it.
    pub fn begin(&self) {
        self.guard.call(Message::empty(label::BEGINS));
    }

    /// The client has nothing to do until it tells that it begins, or calls: it is about to sleep.
    pub fn end(&self) {
        self.guard.call(Message::empty(label::ENDS));
    }

    /// Calls the server, and waits for its answer. The client's budget is used meanwhile, by the server or by waiting.
    ///
    /// # Errors
    /// If the budget has ended. This is reported when there is budget again.
    pub fn call(&self, request: Words) -> Result<Words, RequestAborted> {
        self.guard.send(Message::new(label::CALLS, &request));
        self.gate.wait();
        let answer = self.answer.take();
        if answer.is_err() {
            // It has waited for its budget meanwhile.
            self.begin();
        }
        answer
    }
}
