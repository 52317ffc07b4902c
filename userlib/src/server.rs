//! Servers.
//!
//! A *passive* server has no time of its own: it runs on that of its callers. To get as far as its
//! first receive it needs some nevertheless. So its parent starts it with a scheduling context, the
//! server says in one system call that it is ready and waits for its first caller, and the parent then
//! takes the context away ([`start_passive`]). After a reset, the parent lends it again.

use crate::cap::{Capability, Endpoint, Notification, Reply, SchedContext};
use crate::message::{Message, Received};
use crate::{Process, Result, syscall};

/// Answers calls on `endpoint` for ever. The answer to a signal or to a plain send goes nowhere.
pub fn serve(endpoint: Endpoint, reply: Reply, handler: impl FnMut(Received) -> Message) -> ! {
    answer(endpoint, reply, endpoint.recv(reply), handler)
}

/// As [`serve`], but first signals `ready`, in the same system call in which it starts to wait: when
/// the parent hears the signal, the server needs no time of its own any more.
pub fn serve_passive(
    ready: Notification,
    endpoint: Endpoint,
    reply: Reply,
    handler: impl FnMut(Received) -> Message,
) -> ! {
    let (ready, empty) = (ready.cptr(), Message::empty(0));
    let first = syscall::nb_send_recv(ready, empty, endpoint.cptr(), reply.cptr());
    answer(endpoint, reply, first, handler)
}

fn answer(
    endpoint: Endpoint,
    reply: Reply,
    first: Received,
    mut handler: impl FnMut(Received) -> Message,
) -> ! {
    let mut received = first;
    loop {
        received = endpoint.reply_recv(handler(received), reply);
    }
}

/// Starts a passive server on `lent` time, which is free again when this returns.
pub fn start_passive(server: &Process, lent: SchedContext, ready: Notification) -> Result {
    lent.bind(server.tcb)?;
    server.start()?;
    ready.wait();
    lent.unbind_object(server.tcb)
}
