//! A single-threaded server that clients of several clusters share, on the reservations of its clients.
//!
//! A [`Guard`] belongs to one thread, of a priority above all clients and the server. It carries out what a
//! [`SharedServer`](schedulers::SharedServer) decides, MC-IPC for example: it passes requests on, lends the server the
//! scheduling context of a client that waits and would be scheduled now, and aborts the request of a client whose budget
//! ends. It is the server's fault and timeout handler. Clients have idling contexts, which are charged while they wait.
//! What the kernel refuses because of a client's objects costs that client its seat, and no other one anything.
//!
//! The kernel does not tell that a thread is preempted. So a client tells when it begins to compute and when it ends
//! ([`Caller::begin`]); from that and the priorities the guard knows which client of a core is scheduled.

mod caller;
mod lending;
mod seats;
mod service;

pub use caller::{Caller, Mailbox, NotServed};
pub use service::{Event, Guard, Reservation, Watchdog};

/// The words of a request, and of an answer.
pub type Words = [usize; 3];

/// The labels of messages to the guard, beyond those of faults. The badge of the endpoint is the client, or the server.
mod label {
    /// A client calls the server with a request.
    pub const CALLS: usize = 100;
    /// A call: a client computes from now on.
    pub const BEGINS: usize = 101;
    /// A call: it does not any more.
    pub const ENDS: usize = 102;
    /// A call: the server has an answer. The reply is the next request.
    pub const SERVED: usize = 103;
}
