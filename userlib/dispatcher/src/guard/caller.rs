//! The client's side.

use core::sync::atomic::{AtomicUsize, Ordering};

use userlib::Message;
use userlib::cap::Endpoint;

use super::{Words, label};

/// Why a request is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotServed {
    /// The client's budget has ended before.
    Aborted,
    /// The server has faulted while it served the request.
    Faulted,
    /// There is no server with this number.
    NoServer,
}

/// Where the guard leaves the answer for a client: a client that is woken by a signal gets no message.
#[derive(Debug)]
pub struct Mailbox {
    /// 0 if the request is aborted, or how it has ended.
    end: AtomicUsize,
    words: [AtomicUsize; 3],
}

impl Mailbox {
    /// An empty one.
    #[expect(clippy::new_without_default, reason = "it is for statics")]
    pub const fn new() -> Self {
        Self {
            end: AtomicUsize::new(0),
            words: [const { AtomicUsize::new(0) }; 3],
        }
    }

    /// Leaves an answer, or the reason why there is none.
    pub(super) fn put(&self, answer: Result<Words, NotServed>) {
        for (place, word) in self.words.iter().zip(answer.unwrap_or_default()) {
            place.store(word, Ordering::Relaxed);
        }
        let end = match answer {
            Err(NotServed::Aborted) => 0,
            Ok(_) => 1,
            Err(NotServed::Faulted) => 2,
            Err(NotServed::NoServer) => 3,
        };
        self.end.store(end, Ordering::Release);
    }

    pub(super) fn take(&self) -> Result<Words, NotServed> {
        match self.end.swap(0, Ordering::Acquire) {
            0 => Err(NotServed::Aborted),
            1 => Ok(self
                .words
                .each_ref()
                .map(|word| word.load(Ordering::Relaxed))),
            2 => Err(NotServed::Faulted),
            _ => Err(NotServed::NoServer),
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
    /// The client's endpoint of the guard, by which it can send, and not receive.
    pub const fn endpoint(&self) -> Endpoint {
        self.guard
    }

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
    /// If the budget has ended, which is reported when there is budget again; or if the server has faulted.
    pub fn call(&self, request: Words) -> Result<Words, NotServed> {
        self.call_server(0, request)
    }

    /// The same for one of several servers, by its number.
    ///
    /// # Errors
    /// The same, and if there is no such server.
    pub fn call_server(&self, server: usize, request: Words) -> Result<Words, NotServed> {
        let [first, second, third] = request;
        let request = Message::new(label::CALLS, &[first, second, third, server]);
        self.guard.send(request);
        self.gate.wait();
        let answer = self.answer.take();
        if answer == Err(NotServed::Aborted) {
            // It has waited for its budget meanwhile.
            self.begin();
        }
        answer
    }
}
