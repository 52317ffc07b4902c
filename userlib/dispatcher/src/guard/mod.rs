//! A single-threaded server that clients of several clusters share, on the reservations of its clients.
//!
//! A [`Guard`] belongs to one thread, of a priority above all clients and the server. It carries out what a
//! [`SharedServer`](schedulers::SharedServer) decides, MC-IPC for example: it passes requests on, lends the server the
//! scheduling context of a client that waits and would be scheduled now, and aborts the request of a client whose budget
//! ends. It is the server's fault and timeout handler. Clients have idling contexts, which are charged while they wait.
//! What the kernel refuses because of a client's objects costs that client its seat, and no other one anything.
//!
//! A [`NestedGuard`] does so for servers that call one another, by the decisions of [`schedulers::Nested`].
//!
//! The kernel does not report preemptions. So a client reports when it begins to compute and when it ends
//! ([`Caller::begin`]); from that and the priorities the guard knows which client of a core is scheduled.

mod caller;
mod lending;
mod nested;
mod seats;
mod service;
mod threads;

use schedulers::Client;
use userlib::{Fault, Message, Microseconds};

pub use caller::{Caller, Mailbox, NotServed};
pub use nested::{NestedGuard, Nesting, Refused};
pub use service::Guard;
pub use threads::{Reservation, Watchdog};

/// The words of a request, and of an answer.
pub type Words = [usize; 3];

/// What happened, for the program around the guard.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// A request was served.
    Served {
        /// Its client; none if the request had been aborted.
        client: Option<Client>,
        /// What it has used of its client's budget, for waiting and to lend.
        drained: Microseconds,
    },
    /// The budget of a client has ended, and its request is aborted.
    Aborted(Client),
    /// The server runs on the context of this client now; if there is none, it stands still. A [`NestedGuard`] has no such event.
    Lent(Option<Client>),
    /// The kernel has refused what is done with this client's thread or context: it is no client any more, and waits for
    /// ever if it calls.
    Lost(Client),
    /// A server has faulted. The request in service ends with an error, a nested one is refused; the server starts again.
    Faulted(Fault),
}

/// The labels of messages to the guard, beyond those of faults. The badge of the endpoint is the client, or the server.
mod label {
    /// A client calls the server with a request, or a server another one. The fourth word is the server's number.
    pub const CALLS: usize = 100;
    /// A call: a client computes from now on.
    pub const BEGINS: usize = 101;
    /// A call: it does not any more.
    pub const ENDS: usize = 102;
    /// A call: the server has an answer. The reply is the next request.
    pub const SERVED: usize = 103;
    /// The replies to a server that has called another one: its answer, and that there is none.
    pub const ANSWER: usize = 0;
    pub const REFUSED: usize = 1;
}

/// The words of a message.
fn words(message: &Message) -> Words {
    [0, 1, 2].map(|index| message.word(index))
}
