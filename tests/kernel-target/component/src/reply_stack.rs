//! Call chains: nested calls on one scheduling context, and operations that break the chain.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Reply, SchedContext};
use userlib::{Error, Message, Thread, syscall};

tests![
    chains_return_in_order,
    deep_chains_return,
    deleting_the_top_pops,
    deleting_the_tops_one_by_one_returns_all,
    deleting_the_bottom_cuts,
    deleting_the_middle_cuts,
    deleting_bottom_to_top_loses_time,
    replying_in_the_middle_cuts,
    suspending_a_caller_in_the_middle_cuts,
    deleting_a_caller_in_the_middle_cuts,
    deleting_the_context_ends_the_stack,
    unbinding_the_context_ends_the_stack,
    the_server_may_die_at_the_end_of_a_chain,
    reusing_a_reply_object_in_the_middle_cuts,
    chains_can_begin_again,
];

/// A client, and passive servers each of which calls the next; the last answers when the test lets it run.
struct Chain<const SERVERS: usize> {
    client: Thread,
    servers: [Thread; SERVERS],
    endpoints: [Endpoint; SERVERS],
    replies: [Reply; SERVERS],
    time: SchedContext,
}

/// Builds a chain and lets the client call. The client and the servers note their letters when they are
/// answered: the client `a`, then `b`, `c` and so on; the last server notes its letter and answers.
fn chain<const SERVERS: usize>(test: &mut Test) -> Outcome<Chain<SERVERS>> {
    let nothing = Thread {
        tcb: test.tcb,
        sched_context: test.sched_context,
    };
    let mut endpoints = [Endpoint(userlib::CPtr::NULL); SERVERS];
    let mut replies = [Reply(userlib::CPtr::NULL); SERVERS];
    for index in 0..SERVERS {
        endpoints[index] = test.create()?;
        replies[index] = test.create()?;
    }
    let mut servers = [nothing; SERVERS];
    // A server with a deleted reply object faults when it answers; no thread receives that fault.
    let unhandled: Endpoint = test.create()?;
    for index in 0..SERVERS {
        let (endpoint, reply) = (endpoints[index], replies[index]);
        let next = endpoints.get(index + 1).copied();
        let name = (b'b' + index as u8) as char;
        // The last server has a lower priority than the test, so that the chain can be inspected before it
        // answers.
        let priority = if next.is_some() { ABOVE } else { BELOW };
        servers[index] = test.spawn_passive_with(priority, unhandled, move || {
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
        servers,
        endpoints,
        replies,
        time: client.sched_context,
    })
}

/// Checks that a context is bound to a thread, and unbinds it.
#[track_caller]
fn check_holder(context: SchedContext, holder: Thread) {
    check_eq!(context.unbind_object(holder.tcb), Ok(()));
}

fn chains_return_in_order(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    test.let_others_run()?;
    check_eq!(noted(), "dcba");
    check_holder(chain.time, chain.client);
    Ok(())
}

fn deep_chains_return(test: &mut Test) -> Outcome {
    let chain = chain::<24>(test)?;
    test.let_others_run()?;
    check_eq!(noted(), "yxwvutsrqponmlkjihgfedcba");
    check_holder(chain.time, chain.client);
    Ok(())
}

fn deleting_the_top_pops(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    test.delete(chain.replies[2])?;
    // The caller of the last server has the context, but it is stopped.
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_holder(chain.time, chain.servers[1]);
    // The rest of the chain is intact.
    chain.replies[1].send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "ba");
    check_holder(chain.time, chain.client);
    Ok(())
}

fn deleting_the_tops_one_by_one_returns_all(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    for index in [2, 1, 0] {
        test.delete(chain.replies[index])?;
    }
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_holder(chain.time, chain.client);
    Ok(())
}

fn deleting_the_bottom_cuts(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    test.delete(chain.replies[0])?;
    test.let_others_run()?;
    // All calls above the break return, but the context stays with the first server.
    check_eq!(noted(), "dcb");
    check_holder(chain.time, chain.servers[0]);
    Ok(())
}

fn deleting_the_middle_cuts(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    test.delete(chain.replies[1])?;
    test.let_others_run()?;
    check_eq!(noted(), "dc");
    // The client below the break is answered without getting its context back.
    chain.replies[0].send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "dc");
    check_holder(chain.time, chain.servers[1]);
    Ok(())
}

fn deleting_bottom_to_top_loses_time(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    for index in [0, 1, 2] {
        test.delete(chain.replies[index])?;
    }
    test.let_others_run()?;
    check_eq!(noted(), "");
    // The last deletion was at the top of the chain, so the caller of the last server has the context.
    check_holder(chain.time, chain.servers[1]);
    Ok(())
}

fn replying_in_the_middle_cuts(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    // The test answers the first server in place of the second, which still waits for the third.
    chain.replies[1].send(Message::empty(0));
    test.let_others_run()?;
    // The first server has its answer but no context; the last one answers the second.
    check_eq!(noted(), "dc");
    check_eq!(
        chain.time.unbind_object(chain.servers[0].tcb),
        Err(Error::IllegalOperation)
    );
    Ok(())
}

fn suspending_a_caller_in_the_middle_cuts(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    // The second server waits for the third: the top of the chain.
    chain.servers[1].tcb.suspend()?;
    test.let_others_run()?;
    check_eq!(noted(), "d");
    check_holder(chain.time, chain.servers[2]);
    // The callers below still wait, and get their answers without the context.
    chain.replies[0].send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "d");
    let other = test.create_sched_context(&SLICE)?;
    other.bind(chain.client.tcb)?;
    check_eq!(noted(), "da");
    Ok(())
}

fn deleting_a_caller_in_the_middle_cuts(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    test.delete(chain.servers[0].tcb)?;
    test.let_others_run()?;
    // The second server has no caller to answer, and keeps the context.
    check_eq!(noted(), "dc");
    check_holder(chain.time, chain.servers[1]);
    Ok(())
}

fn deleting_the_context_ends_the_stack(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    test.delete(chain.time)?;
    for reply in chain.replies {
        reply.send(Message::empty(0));
    }
    test.let_others_run()?;
    check_eq!(noted(), "");
    for (thread, events) in [(chain.client, "a"), (chain.servers[0], "ab")] {
        let time = test.create_sched_context(&SLICE)?;
        time.bind(thread.tcb)?;
        check_eq!(noted(), events);
    }
    Ok(())
}

fn unbinding_the_context_ends_the_stack(test: &mut Test) -> Outcome {
    let chain = chain::<2>(test)?;
    chain.time.unbind()?;
    // The context can be bound again at once.
    chain.time.bind(chain.servers[1].tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "c");
    check_holder(chain.time, chain.servers[1]);
    Ok(())
}

fn the_server_may_die_at_the_end_of_a_chain(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    test.delete(chain.servers[2].tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    chain.replies[2].send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "cba");
    check_holder(chain.time, chain.client);
    Ok(())
}

fn reusing_a_reply_object_in_the_middle_cuts(test: &mut Test) -> Outcome {
    let chain = chain::<3>(test)?;
    let other: Endpoint = test.create()?;
    // Using the reply object for another receive cancels the call of the first server.
    check!(other.nb_recv(chain.replies[1]).is_none());
    test.let_others_run()?;
    check_eq!(noted(), "dc");
    check_holder(chain.time, chain.servers[1]);
    Ok(())
}

fn chains_can_begin_again(test: &mut Test) -> Outcome {
    let chain = chain::<4>(test)?;
    test.let_others_run()?;
    check_eq!(noted(), "edcba");
    // The client now waits at the first endpoint; a message to it makes the client call again.
    for _ in 0..3 {
        chain.endpoints[0].nb_send(Message::empty(0));
        test.let_others_run()?;
    }
    check_holder(chain.time, chain.client);
    Ok(())
}
