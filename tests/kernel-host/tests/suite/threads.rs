//! Methods of threads: registers, CSpace and VSpace, IPC buffer, flags.

use abi::registers::{COUNT, FRAME_COUNT, PC, TLS_BASE};
use abi::{GuardData, Method, ObjectType, Rights, Syscall, WORD_BITS, slots};
use host_machine::{Answer, CPtr, Machine, Message, Spec, State, Task};
use kernel::arch::UserContext;
use kernel::cap::Cap;
use kernel::invoke::Error;
use kernel::object::ThreadSlot;

use crate::common::{server, word};

const ROOT: CPtr = slots::INIT_THREAD_CNODE;
const SPACE: CPtr = slots::INIT_THREAD_VSPACE;

const fn illegal() -> Answer {
    Err(Error::IllegalOperation)
}

fn scene() -> (Machine, Task) {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    machine.rest();
    (machine, task)
}

#[test]
fn registers_are_read_in_their_order() {
    let (mut machine, task) = scene();
    for register in 1..COUNT {
        machine.kernel[task.thread]
            .context
            .set(register, 1000 + register);
    }
    let read = |machine: &mut Machine, count| {
        machine.tcb(task, Method::TcbReadRegisters, &[1, count], &[])
    };
    let all = read(&mut machine, COUNT).unwrap();
    assert_eq!(
        machine.state(task),
        State::Inactive,
        "it was to be suspended"
    );
    assert_eq!(all.len(), COUNT);
    assert_eq!(all[1..], (1001..1000 + COUNT).collect::<Vec<_>>());
    assert_eq!(read(&mut machine, 3).unwrap(), all[..3]);
    let range = Err(Error::Range {
        minimum: 1,
        maximum: COUNT,
    });
    assert_eq!(read(&mut machine, 0), range);
    assert_eq!(read(&mut machine, COUNT + 1), range);
    let own = [0, 1];
    let answer = machine.invoke(slots::INIT_THREAD_TCB, Method::TcbReadRegisters, &own, &[]);
    assert_eq!(answer, illegal());
}

#[test]
fn a_reader_without_buffer_gets_what_fits() {
    let (mut machine, task) = scene();
    let reader = machine.spawn(Spec::new("reader", 20).active().without_buffer());
    let answer = machine.invoke_as(reader, task.tcb, Method::TcbReadRegisters, &[0, 20], &[]);
    assert_eq!(answer.unwrap().len(), 4);
}

#[test]
fn registers_are_written_and_excess_is_ignored() {
    let (mut machine, task) = scene();
    machine.suspend(task);
    let values: Vec<usize> = (0..COUNT + 3).map(|index| 0x2000 + 16 * index).collect();
    let words = [&[0, values.len()][..], &values].concat();
    assert_eq!(
        machine.tcb(task, Method::TcbWriteRegisters, &words, &[]),
        Ok(vec![])
    );
    for (register, value) in values[..COUNT].iter().enumerate() {
        assert_eq!(machine.register(task, register), *value);
    }
    assert_eq!(machine.state(task), State::Inactive);
    // Too few words, or the caller's own thread.
    let answer = machine.tcb(task, Method::TcbWriteRegisters, &[1, 3, 5, 6], &[]);
    assert_eq!(answer, Err(Error::Truncated));
    let answer = machine.invoke(
        slots::INIT_THREAD_TCB,
        Method::TcbWriteRegisters,
        &[0, 0],
        &[],
    );
    assert_eq!(answer, illegal());
    let answer = machine.tcb(task, Method::TcbWriteRegisters, &[1, 1, 0x3000], &[]);
    assert_eq!(answer, Ok(vec![]));
    assert!(machine.runs(task));
    assert_eq!(machine.kernel[task.thread].context.next_pc(), 0x3000);
}

#[test]
fn a_blocked_thread_stays_blocked_when_written() {
    let (mut machine, task) = scene();
    let endpoint = machine.endpoint();
    machine.send(task, endpoint, &word(1));
    let answer = machine.tcb(task, Method::TcbWriteRegisters, &[0, 1, 0x3000], &[]);
    assert_eq!(answer, Ok(vec![]));
    assert_eq!(machine.state(task), State::Sending);
    let answer = machine.tcb(task, Method::TcbWriteRegisters, &[1, 1, 0x3000], &[]);
    assert_eq!(answer, Ok(vec![]));
    assert!(machine.runs(task));
}

#[test]
fn registers_are_copied_by_parts() {
    let (mut machine, source) = scene();
    for register in 1..COUNT {
        machine.kernel[source.thread]
            .context
            .set(register, 1000 + register);
    }
    machine.kernel[source.thread].context.set(PC, 0x4000);
    for (flags, frame, integer) in [
        (4, true, false),
        (8, false, true),
        (12, true, true),
        (0, false, false),
    ] {
        let target = machine.spawn(Spec::new("target", 5).active().suspended());
        let answer = machine.tcb(target, Method::TcbCopyRegisters, &[flags], &[source.tcb]);
        assert_eq!(answer, Ok(vec![]));
        let is_copied =
            |register| machine.register(target, register) == machine.register(source, register);
        assert_eq!((0..FRAME_COUNT).all(is_copied), frame);
        assert_eq!((FRAME_COUNT..COUNT).all(is_copied), integer);
        assert_eq!(machine.state(target), State::Inactive);
    }
    let target = machine.spawn(Spec::new("target", 5).active().suspended());
    // Suspends the source, resumes the target.
    let answer = machine.tcb(
        target,
        Method::TcbCopyRegisters,
        &[1 | 2 | 4],
        &[source.tcb],
    );
    assert_eq!(answer, Ok(vec![]));
    assert_eq!(machine.state(source), State::Inactive);
    assert!(machine.runs(target));
    assert_eq!(machine.kernel[target.thread].context.next_pc(), 0x4000);
    let answer = machine.tcb(target, Method::TcbCopyRegisters, &[0], &[source.context]);
    assert_eq!(answer, Err(Error::InvalidCapability(1)));
}

#[test]
fn suspended_while_running_a_thread_goes_on_behind() {
    let (mut machine, task) = scene();
    let notification = machine.notification();
    machine.signal(task, notification);
    let next = machine.kernel[task.thread].context.next_pc();
    machine.suspend(task);
    assert_eq!(machine.register(task, PC), next);
    machine.resume(task);
    assert_eq!(machine.kernel[task.thread].context.next_pc(), next);
}

#[test]
fn resumed_in_a_call_a_thread_calls_again() {
    let (mut machine, client) = scene();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    machine.call(client, endpoint, &word(1));
    machine.resume(client);
    assert_eq!(machine.state(client), State::Runnable);
    // The server's reply has no receiver.
    machine.reply_recv(server, endpoint, reply, &word(2));
    assert_eq!(machine.running(), "server");
    assert_eq!(machine.received(server).words, [1]);
    assert_eq!(machine.state(client), State::Calling);
}

#[test]
fn configuring_checks_before_it_changes() {
    let (mut machine, task) = scene();
    let device = machine.boot_info.untyped.start;
    let (frame, device_frame) = (machine.slot(), machine.slot());
    machine.create_in(ObjectType::X86Page4K, 0, frame);
    machine
        .retype(device, ObjectType::X86Page4K, 0, device_frame, 1)
        .unwrap();
    let unassigned = machine.create(ObjectType::X86Pml4, 0);
    let empty = machine.slot();
    let before = machine.thread(task).slots.each_ref().map(|slot| slot.raw());
    let configure = |machine: &mut Machine, words: [usize; 3], caps: [CPtr; 3]| {
        machine.tcb(task, Method::TcbConfigure, &words, &caps)
    };
    let too_long = GuardData {
        guard: 0,
        size: WORD_BITS - 11,
    };
    for (words, caps, expected) in [
        ([0, 0, 0x1000], [empty, empty, empty], illegal()),
        ([0, 0, 0x1000], [empty, empty, ROOT], illegal()),
        ([0, 0, 0x1000], [empty, empty, device_frame], illegal()),
        ([0, 0, 0x1200], [empty, empty, frame], Err(Error::Alignment)),
        ([0, 0, 0x1000], [empty, SPACE, frame], illegal()),
        ([0, 0, 0x1000], [frame, SPACE, frame], illegal()),
        (
            [too_long.word(), 0, 0x1000],
            [ROOT, SPACE, frame],
            illegal(),
        ),
        ([0, 0, 0x1000], [ROOT, empty, frame], illegal()),
        ([0, 0, 0x1000], [ROOT, unassigned, frame], illegal()),
        ([0, 0, 0x1000], [ROOT, frame, frame], illegal()),
    ] {
        assert_eq!(
            configure(&mut machine, words, caps),
            expected,
            "{words:x?} {caps:?}"
        );
    }
    let after = machine.thread(task).slots.each_ref().map(|slot| slot.raw());
    assert_eq!(before, after);
    let answer = machine.tcb(task, Method::TcbConfigure, &[0, 0], &[ROOT, SPACE, frame]);
    assert_eq!(answer, Err(Error::Truncated));
    let answer = machine.tcb(task, Method::TcbConfigure, &[0, 0, 0], &[ROOT, SPACE]);
    assert_eq!(answer, Err(Error::Truncated));
    // With address 0 there is no buffer, whatever the capability.
    assert_eq!(
        configure(&mut machine, [0, 0, 0], [ROOT, SPACE, empty]),
        Ok(vec![])
    );
    assert!(machine.thread(task).cap(ThreadSlot::Buffer).is_null());
    assert_eq!(
        configure(&mut machine, [0, 0, 0x1400], [ROOT, SPACE, frame]),
        Ok(vec![])
    );
    assert!(machine.buffer_mut(task).is_some());
    // An address space is usable once it has an ASID.
    machine
        .invoke(
            slots::INIT_THREAD_ASID_POOL,
            Method::X86AsidPoolAssign,
            &[],
            &[unassigned],
        )
        .unwrap();
    let answer = configure(&mut machine, [0, 0, 0x1400], [ROOT, unassigned, frame]);
    assert_eq!(answer, Ok(vec![]));
}

#[test]
fn a_space_that_would_have_to_be_deleted_is_not_replaced() {
    let (mut machine, task) = scene();
    let space = machine.cnode(2);
    let empty = machine.slot();
    machine
        .tcb(task, Method::TcbSetSpace, &[0, 0], &[empty, space, SPACE])
        .unwrap();
    machine.delete(space);
    let answer = machine.tcb(task, Method::TcbSetSpace, &[0, 0], &[empty, ROOT, SPACE]);
    assert_eq!(answer, illegal());
}

#[test]
fn installed_capabilities_are_copies() {
    let (mut machine, task) = scene();
    let space = machine.cnode(2);
    let endpoint = machine.endpoint();
    let guard = GuardData { guard: 5, size: 4 };
    let caps = [endpoint, space, SPACE];
    machine
        .tcb(task, Method::TcbSetSpace, &[guard.word(), 0], &caps)
        .unwrap();
    let thread = machine.thread(task);
    assert!(matches!(thread.cap(ThreadSlot::CSpace), Cap::CNode(cnode) if cnode.guard == guard));
    assert!(matches!(
        thread.cap(ThreadSlot::FaultHandler),
        Cap::Endpoint(_)
    ));
    machine.revoke(space);
    machine.revoke(endpoint);
    let thread = machine.thread(task);
    assert!(thread.cap(ThreadSlot::CSpace).is_null());
    assert!(thread.cap(ThreadSlot::FaultHandler).is_null());
}

#[test]
fn a_buffer_goes_with_its_frame() {
    let (mut machine, task) = scene();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let server = server(&mut machine, "server", 20, endpoint, reply);
    machine.revoke(task.buffer);
    assert!(machine.buffer_mut(task).is_none());
    // Longer messages are truncated, without a fault.
    machine.send(task, endpoint, &Message::new(0, &[1, 2, 3, 4, 5, 6]));
    assert_eq!(machine.received(server).words, [1, 2, 3, 4]);
}

#[test]
fn a_read_only_buffer_is_for_sending() {
    let (mut machine, task) = scene();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let frame = machine.create(ObjectType::X86Page4K, 0);
    let read_only = machine.mint(frame, Rights::READ, 0);
    let server = server(&mut machine, "server", 20, endpoint, reply);
    for task in [task, server] {
        machine
            .tcb(task, Method::TcbSetIpcBuffer, &[0x1000], &[read_only])
            .unwrap();
    }
    let words: Vec<usize> = (1..=10).collect();
    machine.send(task, endpoint, &Message::new(0, &words));
    assert_eq!(
        machine.received(server).words,
        words[..4],
        "it cannot receive more"
    );
    machine
        .tcb(server, Method::TcbSetIpcBuffer, &[0x1000], &[server.buffer])
        .unwrap();
    machine.recv(server, endpoint, reply);
    machine.send(task, endpoint, &Message::new(0, &words));
    assert_eq!(machine.received(server).words, words, "but it can send");
}

#[test]
fn buffers_can_be_set_and_removed() {
    let (mut machine, task) = scene();
    let frame = machine.create(ObjectType::X86Page4K, 0);
    let set = |machine: &mut Machine, words: &[usize], caps: &[CPtr]| {
        machine.tcb(task, Method::TcbSetIpcBuffer, words, caps)
    };
    assert_eq!(set(&mut machine, &[0x2400], &[frame]), Ok(vec![]));
    assert_eq!(machine.thread(task).buffer_address, 0x2400);
    assert_eq!(
        set(&mut machine, &[0x2401], &[frame]),
        Err(Error::Alignment)
    );
    assert_eq!(set(&mut machine, &[0x2400], &[task.tcb]), illegal());
    assert_eq!(set(&mut machine, &[0], &[]), Err(Error::Truncated));
    assert_eq!(set(&mut machine, &[], &[frame]), Err(Error::Truncated));
    assert_eq!(set(&mut machine, &[0], &[frame]), Ok(vec![]));
    assert!(machine.buffer_mut(task).is_none());
}

#[test]
fn scheduling_parameters_are_set_together() {
    let (mut machine, task) = scene();
    let root = slots::INIT_THREAD_TCB;
    let empty = machine.slot();
    let other = machine.spawn(Spec::new("other", 5).active());
    let free = machine.new_context(host_machine::Budget::slice(100));
    let endpoint = machine.endpoint();
    let set = |machine: &mut Machine, words: [usize; 2], caps: [CPtr; 3]| {
        machine.tcb(task, Method::TcbSetSchedParams, &words, &caps)
    };
    machine
        .tcb(other, Method::TcbSetMcPriority, &[20], &[root])
        .unwrap();
    let range = Err(Error::Range {
        minimum: 0,
        maximum: 20,
    });
    for (words, caps, expected) in [
        (
            [21, 21],
            [empty, endpoint, free],
            Err(Error::InvalidCapability(1)),
        ),
        ([21, 21], [other.tcb, endpoint, free], range.clone()),
        ([20, 21], [other.tcb, endpoint, free], range),
        (
            [20, 20],
            [other.tcb, endpoint, free],
            Err(Error::InvalidCapability(2)),
        ),
        ([20, 20], [other.tcb, free, free], illegal()),
        ([20, 20], [other.tcb, other.context, free], illegal()),
        (
            [20, 20],
            [other.tcb, task.context, free],
            Err(Error::InvalidCapability(3)),
        ),
        ([20, 15], [other.tcb, task.context, endpoint], Ok(vec![])),
    ] {
        assert_eq!(
            set(&mut machine, words, caps),
            expected,
            "{words:?} {caps:?}"
        );
    }
    let thread = machine.thread(task);
    assert_eq!((thread.priority, thread.max_controlled_priority), (15, 20));
    assert!(matches!(
        thread.cap(ThreadSlot::FaultHandler),
        Cap::Endpoint(_)
    ));
    // A null context unbinds the current one; then another one is bound.
    assert_eq!(
        set(&mut machine, [20, 15], [root, empty, empty]),
        Ok(vec![])
    );
    assert!(machine.is_passive(task));
    assert!(machine.thread(task).cap(ThreadSlot::FaultHandler).is_null());
    assert_eq!(set(&mut machine, [20, 15], [root, free, empty]), Ok(vec![]));
    assert!(machine.runs(task));
    // A thread may not do this to itself.
    let words = [20, 15];
    let answer = machine.invoke_as(
        task,
        task.tcb,
        Method::TcbSetSchedParams,
        &words,
        &[root, empty, empty],
    );
    assert_eq!(answer, illegal());
}

#[test]
fn flags_and_thread_local_storage() {
    let (mut machine, task) = scene();
    let flags = |machine: &mut Machine, clear, set| {
        machine.tcb(task, Method::TcbSetFlags, &[clear, set], &[])
    };
    assert_eq!(flags(&mut machine, 0, usize::MAX), Ok(vec![1]));
    assert_eq!(flags(&mut machine, 0, 0), Ok(vec![1]));
    assert_eq!(flags(&mut machine, 1, 1), Ok(vec![1]));
    assert_eq!(flags(&mut machine, usize::MAX, 0), Ok(vec![0]));
    let answer = machine.tcb(task, Method::TcbSetFlags, &[0], &[]);
    assert_eq!(answer, Err(Error::Truncated));

    let answer = machine.tcb(task, Method::TcbSetTlsBase, &[0x1234], &[]);
    assert_eq!(answer, Ok(vec![]));
    assert_eq!(machine.register(task, TLS_BASE), 0x1234);
    assert_eq!(
        machine.tcb(task, Method::TcbSetTlsBase, &[], &[]),
        Err(Error::Truncated)
    );
    // The thread itself needs no capability for it.
    machine.kernel[task.thread]
        .context
        .set(abi::registers::CAP, 0x5678);
    machine.trap(task, Syscall::SetTlsBase.number());
    assert!(machine.runs(task));
    assert_eq!(machine.register(task, TLS_BASE), 0x5678);
}

#[test]
fn a_dead_thread_leaves_what_it_waits_for() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let reply = machine.reply();
    let dead = server(&mut machine, "dead", 20, endpoint, reply);
    machine.delete(dead.tcb);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.call(client, endpoint, &word(1));
    assert_eq!(machine.state(client), State::Sending);
    machine.delete(client.tcb);
    assert_eq!(machine.holder(client.context), "none");
    // All objects can be used again.
    let heir = server(&mut machine, "heir", 20, endpoint, reply);
    let client = machine.spawn(Spec::new("client", 10).active());
    machine.call(client, endpoint, &word(1));
    assert!(machine.runs(heir));
}

#[test]
fn unknown_methods_are_illegal() {
    let (mut machine, task) = scene();
    let objects = [
        task.tcb,
        task.context,
        machine.boot_info.sched_control.start,
        machine.untyped(12),
        machine.cnode(2),
        slots::IRQ_CONTROL,
        slots::DOMAIN,
        slots::INIT_THREAD_VSPACE,
        task.buffer,
    ];
    for object in objects {
        for label in [
            Method::InvalidInvocation.number(),
            Method::COUNT,
            usize::MAX >> 12,
        ] {
            let message = Message::new(label, &[0; 8]);
            machine.call(task, object, &message);
            let answer = host_machine::answer(machine.received(task));
            assert_eq!(answer, illegal(), "label {label} of {object}");
        }
    }
}
