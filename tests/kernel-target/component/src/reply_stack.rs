//! Long call chains: nested calls on one scheduling context, once and again.

use crate::check_eq;
use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test};
use userlib::cap::{Endpoint, Reply, SchedContext};
use userlib::{Message, Thread, syscall};

tests![deep_chains_return, chains_can_begin_again];

/// A client that calls the first of some passive servers, each of which calls the next; the last answers when the test lets
/// it run.
struct Chain {
    client: Thread,
    /// The endpoint of the first server.
    first: Endpoint,
    time: SchedContext,
}

/// Builds a chain and lets the client call. The client and the servers note their letters when they are
/// answered: the client `a`, then `b`, `c` and so on; the last server notes its letter and answers.
fn chain<const SERVERS: usize>(test: &mut Test) -> Outcome<Chain> {
    let mut endpoints = [Endpoint(userlib::CPtr::NULL); SERVERS];
    for endpoint in &mut endpoints {
        *endpoint = test.create()?;
    }
    for (index, endpoint) in endpoints.into_iter().enumerate() {
        let reply: Reply = test.create()?;
        let next = endpoints.get(index + 1).copied();
        let name = (b'b' + index as u8) as char;
        let priority = if next.is_some() { ABOVE } else { BELOW };
        test.spawn_passive(priority, move || {
            endpoint.recv(reply);
            loop {
                if let Some(next) = next {
                    next.call(Message::empty(0));
                }
                note(name);
                endpoint.reply_recv(Message::empty(0), reply);
            }
        })?;
    }
    let first = endpoints[0];
    let client = test.spawn(ABOVE, move || {
        loop {
            first.call(Message::empty(0));
            note('a');
            syscall::yield_now();
            syscall::wait(first.0);
        }
    })?;
    check_eq!(noted(), "");
    Ok(Chain {
        client,
        first,
        time: client.sched_context,
    })
}

/// Checks that a context is bound to a thread, and unbinds it.
#[track_caller]
fn check_holder(context: SchedContext, holder: Thread) {
    check_eq!(context.unbind_object(holder.tcb), Ok(()));
}

fn deep_chains_return(test: &mut Test) -> Outcome {
    let chain = chain::<24>(test)?;
    test.let_others_run()?;
    check_eq!(noted(), "yxwvutsrqponmlkjihgfedcba");
    check_holder(chain.time, chain.client);
    Ok(())
}

fn chains_can_begin_again(test: &mut Test) -> Outcome {
    let chain = chain::<4>(test)?;
    test.let_others_run()?;
    check_eq!(noted(), "edcba");
    // The client now waits at the first endpoint; a message to it makes the client call again.
    for _ in 0..3 {
        chain.first.nb_send(Message::empty(0));
        test.let_others_run()?;
    }
    check_holder(chain.time, chain.client);
    Ok(())
}
