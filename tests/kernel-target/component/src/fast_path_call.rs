//! Cases in which the fast paths of Call are not eligible: a passive server waits, and all but one condition
//! of the fast path holds. The effect must be that of the slow path.

use crate::support::arch::{fill_fpu, fpu_holds};
use crate::support::events::{forget, note, noted};
use crate::support::{ABOVE, Elsewhere, Outcome, Test, Watched};
use crate::{check, check_eq};
use abi::thread_flags::FPU_DISABLED;
use abi::{MessageInfo, Syscall, WORD_BITS};
use userlib::arch::{Registers, syscall};
use userlib::cap::{Attributes, CNode, Endpoint, Frame, Notification, Reply, SchedContext, VSpace};
use userlib::{CPtr, Fault, Message, Received, Rights, Thread, ipc_buffer, syscall};

tests![
    usual_calls,
    only_the_words_of_a_message_travel,
    words_of_the_buffer,
    capabilities,
    addresses_with_another_guard,
    spaces_of_several_levels,
    no_space,
    other_objects,
    memory_that_looks_like_an_endpoint,
    without_write,
    without_grant,
    no_receiver,
    a_queue_of_senders,
    receivers_of_equal_priority,
    receivers_of_lower_priority,
    no_reply_object,
    another_address_space,
    an_address_space_without_its_identifier,
    another_address_space_without_an_identifier,
    callers_without_floating_point,
    callers_without_floating_point_when_no_thread_owns_the_unit,
    servers_without_floating_point,
];

/// A passive server that notes a letter for each message, and answers with the same words and the label plus
/// one.
pub(crate) fn serve(
    test: &mut Test,
    endpoint: Endpoint,
    priority: u8,
    letter: char,
) -> Outcome<Thread> {
    let reply: Reply = test.create()?;
    Ok(test.spawn_passive(priority, move || {
        let mut received = endpoint.recv(reply);
        loop {
            note(letter);
            received = endpoint.reply_recv(echo(received), reply);
        }
    })?)
}

/// The answer to a message.
pub(crate) fn echo(received: Received) -> Message {
    let message = received.message.unwrap_or(Message::empty(0));
    let words: [usize; 10] = core::array::from_fn(|index| message.word(index));
    Message::new(message.label() + 1, &words[..message.length()])
}

/// A thread that calls, and notes `c`.
pub(crate) fn client(test: &mut Test, priority: u8, endpoint: Endpoint) -> Outcome<Thread> {
    Ok(test.spawn(priority, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?)
}

/// Checks that a context is bound to a thread, and unbinds it.
#[track_caller]
pub(crate) fn check_holder(context: SchedContext, holder: Thread) {
    check_eq!(context.unbind_object(holder.tcb), Ok(()));
}

/// A thread with the servers' priority that calls an address in its own CSpace; it is started by the test.
fn caller_in(test: &mut Test, root: CNode, address: usize) -> Outcome<Watched> {
    let watched = test.watched(move || {
        syscall::call(CPtr(address), Message::empty(0));
        note('c');
    })?;
    let (thread, endpoint, vspace) = (watched.thread, watched.endpoint, test.vspace);
    thread.tcb.set_space(endpoint, root, 0, vspace)?;
    Ok(watched)
}

fn usual_calls(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    serve(test, endpoint, ABOVE, 's')?;
    let badged = test.badge(endpoint, 0x55)?;
    for cap in [endpoint, badged] {
        for right in [Rights::GRANT, Rights::GRANT_REPLY] {
            let cap = test.restrict(cap, right.union(Rights::WRITE))?;
            client(test, ABOVE, cap)?;
        }
    }
    check_eq!(noted(), "scscscsc");
    Ok(())
}

fn only_the_words_of_a_message_travel(test: &mut Test) -> Outcome {
    const CLIENT: [usize; 4] = [1, 2, 3, 4];
    const SERVER: [usize; 4] = [11, 12, 13, 14];
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let badged = test.badge(endpoint, 0x55)?;
    let mixed = |length: usize, first: [usize; 4], rest: [usize; 4]| -> [usize; 4] {
        core::array::from_fn(|index| [rest, first][usize::from(index < length)][index])
    };
    test.spawn_passive(ABOVE, move || {
        let mut call = Syscall::Recv;
        for length in 0..=4 {
            let info = MessageInfo::new(length + 7, 0, length.saturating_sub(1)).0;
            let mut registers = Registers {
                cap: endpoint.0.0,
                reply: reply.0.0,
                info,
                words: SERVER,
                ..Default::default()
            };
            syscall(call, &mut registers);
            check_eq!(registers.cap, 0x55);
            check_eq!(registers.info, MessageInfo::new(length, 0, length).0);
            check_eq!(registers.words, mixed(length, CLIENT, SERVER));
            note('s');
            call = Syscall::ReplyRecv;
        }
        reply.send(Message::empty(0));
    })?;
    test.spawn(ABOVE, move || {
        for length in 0..4 {
            let mut registers = Registers {
                cap: badged.0.0,
                info: MessageInfo::new(length, 0, length).0,
                words: CLIENT,
                ..Default::default()
            };
            syscall(Syscall::Call, &mut registers);
            check_eq!(registers.cap, 0);
            check_eq!(registers.info, MessageInfo::new(length + 8, 0, length).0);
            check_eq!(registers.words, mixed(length, SERVER, CLIENT));
            note('c');
        }
        badged.call(Message::new(4, &CLIENT));
        note('.');
    })?;
    check_eq!(noted(), "scscscscs.");
    Ok(())
}

fn words_of_the_buffer(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    serve(test, endpoint, ABOVE, 's')?;
    test.spawn(ABOVE, move || {
        for length in 4..=10 {
            let words: [usize; 10] = core::array::from_fn(|index| index * 77 + length);
            let answer = endpoint.call(Message::new(length, &words[..length]));
            check_eq!((answer.label(), answer.length()), (length + 1, length));
            for (index, word) in words[..length].iter().enumerate() {
                check_eq!(answer.word(index), *word);
            }
        }
        note('c');
    })?;
    check_eq!(noted(), "sssssssc");
    Ok(())
}

fn capabilities(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 6)?;
    let slot = test.empty_slot()?;
    test.spawn_passive(ABOVE, move || {
        ipc_buffer::set_receive_slot(slot);
        let received = endpoint.recv(reply);
        let count = received.message.map(|message| message.capabilities());
        check_eq!(count, Some(1));
        Notification(CPtr(slot.index)).signal();
        reply.send(Message::empty(0));
    })?;
    test.spawn(ABOVE, move || {
        endpoint.call(Message::empty(0).with_capabilities(&[badged.0]));
        note('c');
    })?;
    check_eq!(noted(), "c");
    check_eq!(notification.poll(), 6);
    Ok(())
}

fn addresses_with_another_guard(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    serve(test, endpoint, ABOVE, 's')?;
    let address = endpoint.0.0 | 1 << (WORD_BITS - 1);
    let fault = test.fault_of(move || {
        syscall::call(CPtr(address), Message::empty(0));
    })?;
    check!(matches!(
        fault,
        Fault::Capability { address: at, receiving: false, .. } if at == address
    ));
    check_eq!(noted(), "");
    Ok(())
}

fn spaces_of_several_levels(test: &mut Test) -> Outcome {
    let (near, far): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    serve(test, near, ABOVE, 'n')?;
    serve(test, far, ABOVE, 'f')?;
    // The table's four bits are the first of an address; the other bits are left over.
    let table: CNode = test.create_sized(4)?;
    for (index, endpoint) in [(0, far), (5, near)] {
        let slot = table.slot_of_table(index, 4);
        slot.copy_from(test.slot(endpoint), Rights::ALL)?;
    }
    caller_in(test, table, 5)?.thread.start()?;
    check_eq!(noted(), "fc");
    Ok(())
}

fn no_space(test: &mut Test) -> Outcome {
    for address in [0, 7] {
        let root: CNode = test.create_sized(4)?;
        let watched = caller_in(test, root, address)?;
        test.slot(root).revoke()?;
        watched.thread.start()?;
        let fault = watched.fault();
        check!(matches!(
            fault,
            Fault::Capability {
                receiving: false,
                ..
            }
        ));
    }
    check_eq!(noted(), "");
    Ok(())
}

fn other_objects(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    for badge in [1, 2, 3] {
        let badged = test.badge(notification, badge)?;
        // To a notification without a signal, and to one with a signal.
        for _ in 0..2 {
            test.spawn(ABOVE, move || {
                syscall::call(badged.0, Message::empty(0));
                note('c');
            })?;
        }
        check_eq!(notification.poll(), badge);
    }
    check_eq!(noted(), "cccccc");
    Ok(())
}

/// The page has the word of an endpoint in each state everywhere, and the upper bits of its address are rights
/// where these are in the same word.
fn memory_that_looks_like_an_endpoint(test: &mut Test) -> Outcome {
    const ADDRESS: usize = 0x9000_0000;
    const WORDS: usize = (1 << abi::sizes::PAGE_BITS) / size_of::<usize>();
    let (frame, vspace): (Frame, VSpace) = (test.create()?, test.vspace);
    let (rights, attributes) = (Rights::READ_WRITE, Attributes::NORMAL);
    vspace.map(&mut test.allocator, frame, ADDRESS, rights, attributes)?;
    for state in 0..8 {
        for index in 0..WORDS {
            // SAFETY: this function has just mapped the page.
            unsafe { (ADDRESS as *mut usize).add(index).write_volatile(state) };
        }
        test.spawn(ABOVE, move || {
            syscall::call(frame.0, Message::empty(0));
            note('c');
        })?;
    }
    check_eq!(noted(), "cccccccc");
    Ok(())
}

fn without_write(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    serve(test, endpoint, ABOVE, 's')?;
    let rights = Rights::READ.union(Rights::GRANT).union(Rights::GRANT_REPLY);
    let weak = test.restrict(endpoint, rights)?;
    test.spawn(ABOVE, move || {
        let answer = weak.call(Message::new(1, &[7]));
        check_eq!(answer.label(), abi::ErrorCode::InvalidCapability as usize);
        note('c');
    })?;
    check_eq!(noted(), "c");
    Ok(())
}

/// The message is delivered, and the caller stops, because no reply to it is possible. It donates nothing.
fn check_given_up(test: &mut Test, caller: Thread, server: Thread) -> Outcome {
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_holder(caller.sched_context, caller);
    caller.sched_context.bind(server.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "s");
    Ok(())
}

fn without_grant(test: &mut Test) -> Outcome {
    for rights in [Rights::WRITE, Rights::READ_WRITE] {
        let endpoint: Endpoint = test.create()?;
        let server = serve(test, endpoint, ABOVE, 's')?;
        let weak = test.restrict(endpoint, rights)?;
        let caller = client(test, ABOVE, weak)?;
        check_given_up(test, caller, server)?;
        forget();
    }
    Ok(())
}

fn no_reply_object(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.wait();
        note('s');
        endpoint.wait();
    })?;
    let caller = client(test, ABOVE, endpoint)?;
    check_given_up(test, caller, server)
}

fn no_receiver(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let badged = test.badge(endpoint, 5)?;
    client(test, ABOVE, badged)?;
    check_eq!(
        endpoint.nb_recv(reply).map(|received| received.badge),
        Some(5)
    );
    reply.send(Message::empty(0));
    check_eq!(noted(), "c");
    Ok(())
}

fn a_queue_of_senders(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    for badge in 1..4 {
        let badged = test.badge(endpoint, badge)?;
        client(test, ABOVE, badged)?;
    }
    for badge in 1..4 {
        check_eq!(
            endpoint.nb_recv(reply).map(|received| received.badge),
            Some(badge)
        );
        reply.send(Message::empty(0));
    }
    check_eq!(noted(), "ccc");
    Ok(())
}

fn receivers_of_equal_priority(test: &mut Test) -> Outcome {
    for count in 2..=4 {
        let endpoint: Endpoint = test.create()?;
        for letter in ['x', 'y', 'z', 'w'].into_iter().take(count) {
            serve(test, endpoint, ABOVE, letter)?;
        }
        forget();
        for _ in 0..2 * count {
            client(test, ABOVE, endpoint)?;
        }
        let expected = ["xcycxcyc", "xcyczcxcyczc", "xcyczcwcxcyczcwc"][count - 2];
        check_eq!(noted(), expected);
    }
    Ok(())
}

fn receivers_of_lower_priority(test: &mut Test) -> Outcome {
    // Each serves one call. The order of their arrival and the bits of their priorities decide about the
    // places in the queue's tree, which has branches for priorities below 128 and from there on.
    const ORDERS: [&str; 8] = ["xy", "yx", "xyz", "zyx", "yxz", "xyzw", "wzyx", "zxwy"];
    for (order, base) in ORDERS
        .iter()
        .flat_map(|order| [(*order, ABOVE + 1), (*order, 200)])
    {
        let endpoint: Endpoint = test.create()?;
        for letter in order.chars() {
            let priority = "xyzw".find(letter).unwrap_or_default() as u8;
            let reply: Reply = test.create()?;
            test.spawn_passive(base + priority, move || {
                endpoint.recv(reply);
                note(letter);
                reply.send(Message::empty(0));
            })?;
        }
        forget();
        for _ in order.chars() {
            client(test, ABOVE, endpoint)?;
        }
        let expected = ["ycxc", "zcycxc", "wczcycxc"][order.len() - 2];
        check!(noted() == expected, "{order} from {base}: {:?}", noted());
    }
    Ok(())
}

fn another_address_space(test: &mut Test) -> Outcome {
    let (endpoint, faults): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let reply: Reply = test.create()?;
    let server = serve(test, endpoint, ABOVE, 's')?;
    let empty: VSpace = test.create()?;
    test.asid_pool.assign(empty)?;
    let cnode = test.allocator.cnode();
    server.tcb.set_space(faults, cnode, 0, empty)?;
    client(test, ABOVE, endpoint)?;
    let received = faults.nb_recv(reply).and_then(|received| received.message);
    let fault = received.map(|message| Fault::from_message(&message));
    check!(matches!(fault, Some(Fault::Memory { .. })), "{fault:?}");
    check_eq!(noted(), "");
    Ok(())
}

/// The server's address space loses its identifier while the server waits.
fn an_address_space_without_its_identifier(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let pool = test.empty_slot()?;
    let server = Elsewhere::new(test, pool, Syscall::Recv, endpoint.0, reply.0)?;
    server.start(test)?;
    server.sched_context.unbind()?;
    pool.delete()?;
    client(test, ABOVE, endpoint)?;
    server.check_fault(test)
}

/// The server gets an address space that had already lost its identifier when the server last ran.
fn another_address_space_without_an_identifier(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (lost, cnode) = (Elsewhere::lost_space(test)?, test.allocator.cnode());
    let pool = test.empty_slot()?;
    let server = Elsewhere::new(test, pool, Syscall::Recv, endpoint.0, reply.0)?;
    server.start(test)?;
    server.sched_context.unbind()?;
    server.tcb.set_space(server.faults, cnode, 0, lost)?;
    client(test, ABOVE, endpoint)?;
    server.check_fault(test)
}

/// The endpoint of a passive server that uses the floating-point unit, and replies once.
fn floating_point_server(test: &mut Test) -> userlib::Result<Endpoint> {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        fill_fpu(7);
        reply.send(Message::empty(0));
    })?;
    Ok(endpoint)
}

fn callers_without_floating_point(test: &mut Test) -> Outcome {
    let endpoint = floating_point_server(test)?;
    let caller = test.thread(ABOVE, move || {
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    caller.tcb.set_flags(0, FPU_DISABLED)?;
    fill_fpu(5);
    caller.start()?;
    check!(fpu_holds(5));
    check_eq!(noted(), "c");
    Ok(())
}

/// The caller takes the right to use the unit from its owner, and calls a server that uses it.
fn callers_without_floating_point_when_no_thread_owns_the_unit(test: &mut Test) -> Outcome {
    let endpoint = floating_point_server(test)?;
    let owner = test.tcb;
    let caller = test.thread(ABOVE, move || {
        note(if owner.set_flags(0, FPU_DISABLED).is_ok() {
            'd'
        } else {
            'e'
        });
        endpoint.call(Message::empty(0));
        note('c');
    })?;
    caller.tcb.set_flags(0, FPU_DISABLED)?;
    fill_fpu(5);
    caller.start()?;
    owner.set_flags(FPU_DISABLED, 0)?;
    check!(fpu_holds(5));
    check_eq!(noted(), "dc");
    Ok(())
}

fn servers_without_floating_point(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (faults, answer): (Endpoint, Reply) = (test.create()?, test.create()?);
    let work = move || {
        endpoint.recv(reply);
        fill_fpu(7);
        note('x');
    };
    let server = test.spawn_passive_with(ABOVE, faults, work)?;
    server.tcb.set_flags(0, FPU_DISABLED)?;
    test.spawn(ABOVE, move || {
        fill_fpu(5);
        endpoint.call(Message::empty(0));
    })?;
    check_eq!(noted(), "");
    check!(faults.nb_recv(answer).is_some());
    Ok(())
}
