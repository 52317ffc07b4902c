//! Single-threaded servers that the clients of several clusters share.
//!
//! A client *invokes* the server and waits; its scheduling context (its reservation) is lent to the server or idles
//! while it waits. A request whose client's budget ends is *aborted*; the server's *reply* ends the service of any
//! other. The types decide which request is served next, and [`Lenders`] which reservation the server runs on.

mod fifo;
mod lenders;
mod mc_ipc;
mod nested;
mod one_queue;

use crate::task::TaskId;

pub use lenders::{Decision, Lenders};
pub use mc_ipc::McIpc;
pub use nested::{Caller, Nested, NotLater, Step};
pub use one_queue::{Discipline, OneQueue};

/// A task that calls shared servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Client {
    /// The number of its cluster.
    pub cluster: usize,
    /// Its number in the cluster.
    pub task: TaskId,
}

/// The request that a server is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// The client that made the request.
    pub client: Client,
    /// The request has been aborted: the server finishes it on the time of clients that wait, and there is no reply.
    pub is_orphan: bool,
}

/// What follows from an invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Invoked {
    /// The server was free, and serves the request now.
    Serve,
    /// The client waits for its turn.
    Wait,
}

/// What follows from the end of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replied {
    /// The client that gets the reply and continues; none if its request has been aborted.
    pub to: Option<Client>,
    /// The client whose request is served now; none if no request waits.
    pub next: Option<Client>,
}

/// What follows from an abort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aborted {
    /// The request is withdrawn. What is in service does not change.
    Withdrawn,
    /// The request is in service, which continues without its client. Its end is reported as a reply all the same.
    Orphaned,
}

/// Why an operation is refused. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingError {
    /// The cluster's or the task's number is too large.
    NoClient,
    /// There is no such server, or the caller may not call it.
    NoServer,
    /// The client waits for a request already.
    Waits,
    /// The client does not wait: it has not invoked the server, or was aborted, or has got its reply.
    DoesNotWait,
    /// No request is in service.
    Idle,
}

/// The requests of one shared server, and which of them is served.
///
/// A free server serves any request at once, so while one waits, one is in service.
pub trait SharedServer {
    /// The order of clients, the smallest first: deadlines under EDF, ranks under fixed priorities.
    type Priority;

    /// The client calls the server.
    ///
    /// # Errors
    /// [`SharingError::NoClient`], [`SharingError::Waits`].
    fn invoke(&mut self, client: Client, priority: Self::Priority)
    -> Result<Invoked, SharingError>;

    /// The server has completed the request in service.
    ///
    /// # Errors
    /// [`SharingError::Idle`].
    fn reply(&mut self) -> Result<Replied, SharingError>;

    /// The budget of a client that waits or is served has ended.
    ///
    /// # Errors
    /// [`SharingError::NoClient`], [`SharingError::DoesNotWait`].
    fn abort(&mut self, client: Client) -> Result<Aborted, SharingError>;

    /// The request in service.
    fn in_service(&self) -> Option<Service>;

    /// Whether the client waits for a reply: it is served, or will be.
    fn waits(&self, client: Client) -> bool;
}
