//! Endpoints: messages of all lengths, and the effect of rights and deletion.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test};
use crate::{check, check_eq};
use abi::{MAX_MESSAGE_LENGTH, MessageInfo};
use userlib::cap::{Endpoint, Reply};
use userlib::{Error, Fault, Message, Rights, ipc_buffer, syscall};

tests![
    messages_of_every_length,
    longer_messages_are_cut,
    labels_pass_unchanged,
    badges_tell_the_senders,
    words_beyond_the_message_are_left,
    not_blocking_receives_return,
    not_blocking_receives_take_what_waits,
    without_a_buffer_messages_are_cut,
    sending_needs_write,
    deletion_restarts_senders,
    deletion_restarts_receivers,
    cancelled_sends_are_made_again,
    cancelled_sends_find_no_endpoint,
    suspended_senders_leave,
    deleted_senders_leave,
];

fn pattern(index: usize) -> usize {
    0x1357_9bdf ^ (index << 20) ^ index
}

fn messages_of_every_length(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    test.spawn(BELOW, move || {
        let words: [usize; MAX_MESSAGE_LENGTH] = core::array::from_fn(pattern);
        for length in 0..=MAX_MESSAGE_LENGTH {
            endpoint.send(Message::new(length, &words[..length]));
        }
    })?;
    for length in 0..=MAX_MESSAGE_LENGTH {
        let message = endpoint.wait().message;
        check!(message.is_some());
        let message = message.unwrap_or(Message::empty(0));
        check_eq!((message.label(), message.length()), (length, length));
        check_eq!(message.capabilities(), 0);
        for index in 0..length {
            check_eq!(message.word(index), pattern(index));
        }
    }
    Ok(())
}

fn longer_messages_are_cut(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    test.spawn(BELOW, move || {
        for length in MAX_MESSAGE_LENGTH..128 {
            let info = MessageInfo(length | 7 << 12);
            let registers = [1; abi::registers::MESSAGE_REGISTERS];
            endpoint.send(Message { info, registers });
        }
    })?;
    for _ in MAX_MESSAGE_LENGTH..128 {
        let info = endpoint.wait().message.map(|message| message.info);
        check_eq!(info, Some(MessageInfo::new(7, 0, MAX_MESSAGE_LENGTH)));
    }
    Ok(())
}

fn labels_pass_unchanged(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    const LABELS: [usize; 5] = [0, 1, 0xfff, 0xa_5a5a, usize::MAX >> 12];
    test.spawn(BELOW, move || {
        for label in LABELS {
            endpoint.send(Message::empty(label));
        }
    })?;
    for label in LABELS {
        let message = endpoint.wait().message;
        check_eq!(message.map(|message| message.label()), Some(label));
    }
    Ok(())
}

fn badges_tell_the_senders(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let last = usize::MAX >> (abi::WORD_BITS - abi::BADGE_BITS);
    let badges = [0, 1, 0x123_4567, last];
    for badge in badges {
        let badged = test.badge(endpoint, badge)?;
        test.spawn(ABOVE, move || badged.send(Message::empty(0)))?;
    }
    for badge in badges {
        check_eq!(endpoint.wait().badge, badge);
    }
    Ok(())
}

fn words_beyond_the_message_are_left(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    test.spawn(ABOVE, move || endpoint.send(Message::new(1, &[7; 6])))?;
    ipc_buffer::set_message_word(5, 50);
    ipc_buffer::set_message_word(6, 60);
    // Words that are in a register are not touched in the buffer.
    ipc_buffer::set_message_word(3, 30);
    let length = endpoint.wait().message.map(|message| message.length());
    check_eq!(length, Some(6));
    let words = [3, 5, 6].map(ipc_buffer::message_word);
    check_eq!(words, [30, 7, 60]);
    Ok(())
}

fn not_blocking_receives_return(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    check!(endpoint.nb_wait().is_none());
    check!(endpoint.nb_recv(reply).is_none());
    let mut registers = userlib::arch::Registers {
        cap: endpoint.0.0,
        info: 0x1234,
        words: [1, 2, 3, 4],
        reply: reply.0.0,
        destination: 0,
    };
    userlib::arch::syscall(abi::Syscall::NBRecv, &mut registers);
    check_eq!(registers.cap, 0);
    check_eq!((registers.info, registers.words), (0x1234, [1, 2, 3, 4]));
    Ok(())
}

fn not_blocking_receives_take_what_waits(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let badged = test.badge(endpoint, 3)?;
    test.spawn(ABOVE, move || {
        badged.send(Message::new(4, &[5]));
        note('a');
    })?;
    let received = endpoint.nb_wait();
    check_eq!(noted(), "a");
    let message = received.and_then(|received| received.message);
    check_eq!(received.map(|received| received.badge), Some(3));
    check_eq!(
        message.map(|message| (message.label(), message.word(0))),
        Some((4, 5))
    );
    Ok(())
}

/// Receives from all senders in the queue, and checks their labels in order.
fn check_order(endpoint: Endpoint, labels: &[usize]) {
    for &label in labels {
        let message = endpoint.nb_wait().and_then(|received| received.message);
        check_eq!(message.map(|message| message.label()), Some(label));
    }
    check!(endpoint.nb_wait().is_none());
}

fn without_a_buffer_messages_are_cut(test: &mut Test) -> Outcome {
    const REGISTERS: usize = abi::registers::MESSAGE_REGISTERS;
    let endpoint: Endpoint = test.create()?;
    let frame: userlib::cap::Frame = test.create()?;
    // A sender without an IPC buffer.
    let sender = test.thread(ABOVE, move || {
        endpoint.send(Message::new(1, &[7; 20]));
        endpoint.send(Message::new(2, &[7; 3]));
    })?;
    sender.tcb.set_ipc_buffer(0, frame)?;
    sender.start()?;
    let length = |received: userlib::Received| received.message.map(|message| message.length());
    check_eq!(length(endpoint.wait()), Some(REGISTERS));
    check_eq!(length(endpoint.wait()), Some(3));
    // A receiver without an IPC buffer.
    let receiver = test.thread(ABOVE, move || {
        check_eq!(length(endpoint.wait()), Some(REGISTERS));
        check_eq!(length(endpoint.wait()), Some(2));
        note('a');
    })?;
    receiver.tcb.set_ipc_buffer(0, frame)?;
    receiver.start()?;
    endpoint.send(Message::new(1, &[7; 120]));
    endpoint.send(Message::new(1, &[7; 2]));
    check_eq!(noted(), "a");
    Ok(())
}

fn sending_needs_write(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let rights = Rights::READ.union(Rights::GRANT).union(Rights::GRANT_REPLY);
    let no_write = test.restrict(endpoint, rights)?;
    test.spawn(ABOVE, move || {
        endpoint.wait();
        note('x');
    })?;
    no_write.send(Message::empty(0));
    no_write.nb_send(Message::empty(0));
    let answer = userlib::invoke::invoke(no_write.0, 1, &[], &[]).map(drop);
    check_eq!(answer, Err(Error::InvalidCapability(0)));
    check_eq!(noted(), "");
    Ok(())
}

fn deletion_restarts_senders(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    test.spawn(ABOVE, move || {
        endpoint.send(Message::empty(0));
        note('s');
    })?;
    test.spawn(ABOVE, move || {
        // The call is restarted, on a slot that is now empty.
        let answer = endpoint.call(Message::empty(0));
        check_eq!((answer.label(), answer.word(0)), (2, 0));
        note('c');
    })?;
    check_eq!(noted(), "");
    test.delete(endpoint)?;
    test.let_others_run()?;
    // Of two threads that become ready in one operation, the later one is in front.
    check!(noted() == "sc" || noted() == "cs");
    Ok(())
}

fn deletion_restarts_receivers(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let watched = test.watched(move || {
        endpoint.wait();
    })?;
    watched.thread.start()?;
    check!(watched.is_quiet());
    test.delete(endpoint)?;
    let fault = watched.fault();
    check!(matches!(
        fault,
        Fault::Capability {
            receiving: true,
            ..
        }
    ));
    Ok(())
}

/// Threads below the test that send under badges 1, 2, 1, 3; each notes its letter after its send.
fn badged_senders(test: &mut Test) -> Outcome<(Endpoint, [Endpoint; 4])> {
    let endpoint: Endpoint = test.create()?;
    let mut caps = [endpoint; 4];
    let names = ['a', 'b', 'c', 'd'];
    for (index, badge) in [1, 2, 1, 3].into_iter().enumerate() {
        let badged = test.badge(endpoint, badge)?;
        caps[index] = badged;
        test.spawn(BELOW, move || {
            let answer = badged.call(Message::empty(index));
            note(if answer.label() == 2 {
                'x'
            } else {
                names[index]
            });
        })?;
        test.let_others_run()?;
    }
    Ok((endpoint, caps))
}

fn cancelled_sends_are_made_again(test: &mut Test) -> Outcome {
    let (endpoint, caps) = badged_senders(test)?;
    test.slot(caps[0]).cancel_badged_sends()?;
    // The senders with badge 1 are no longer queued.
    let label = |received: userlib::Received| received.message.map(|message| message.label());
    let reply: Reply = test.create()?;
    check_eq!(endpoint.nb_recv(reply).and_then(label), Some(1));
    reply.send(Message::empty(0));
    test.let_others_run()?;
    check_eq!(noted(), "b");
    // They have sent again, behind the one that has stayed in the queue.
    check_eq!(endpoint.nb_wait().and_then(label), Some(3));
    let (first, second) = (endpoint.nb_wait(), endpoint.nb_wait());
    let labels = [first, second].map(|received| received.and_then(label));
    check!(labels == [Some(0), Some(2)] || labels == [Some(2), Some(0)]);
    check!(endpoint.nb_wait().is_none());
    Ok(())
}

fn cancelled_sends_find_no_endpoint(test: &mut Test) -> Outcome {
    let (endpoint, caps) = badged_senders(test)?;
    test.slot(caps[0]).cancel_badged_sends()?;
    test.delete(caps[0])?;
    test.delete(caps[2])?;
    // Deletion of a capability alone cancels no sends.
    test.delete(caps[1])?;
    test.let_others_run()?;
    check_eq!(noted(), "xx");
    let label = |received: userlib::Received| received.message.map(|message| message.label());
    check_eq!(endpoint.nb_wait().and_then(label), Some(1));
    check_eq!(endpoint.nb_wait().and_then(label), Some(3));
    check!(endpoint.nb_wait().is_none());
    Ok(())
}

fn suspended_senders_leave(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let thread = test.spawn(ABOVE, move || {
        syscall::send(endpoint.0, Message::empty(5));
        note('a');
    })?;
    thread.tcb.suspend()?;
    check!(endpoint.nb_wait().is_none());
    // When resumed, it sends again.
    thread.start()?;
    check_eq!(noted(), "");
    check!(endpoint.nb_wait().is_some());
    check_eq!(noted(), "a");
    Ok(())
}

fn deleted_senders_leave(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let first = test.spawn(ABOVE, move || endpoint.send(Message::empty(1)))?;
    test.spawn(ABOVE, move || endpoint.send(Message::empty(2)))?;
    test.delete(first.tcb)?;
    check_order(endpoint, &[2]);
    Ok(())
}
