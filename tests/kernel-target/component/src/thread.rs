//! Threads: configuration, priorities, and the objects that belong to a thread.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, PRIORITY, SLICE, Test};
use crate::{check, check_eq};
use abi::{GuardData, IPC_BUFFER_BITS, Method, WORD_BITS, thread_flags};
use userlib::cap::{CNode, Endpoint, Frame, Notification, SchedContext, Tcb, VSpace};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Message, Result, Rights, syscall};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    new_threads_have_no_authority,
    priorities_need_authority,
    priorities_end_at_the_authority,
    sched_params_set_all,
    sched_params_are_checked_in_order,
    sched_params_check_the_context,
    sched_params_unbind_the_context,
    no_thread_unbinds_its_own_context,
    handlers_must_be_endpoints,
    handlers_need_rights,
    spaces_must_be_what_they_are,
    the_last_capability_to_a_cspace_is_not_replaced,
    buffers_must_be_aligned_frames,
    buffers_may_be_taken_away,
    guards_are_applied,
    flags_are_set_and_cleared,
    unknown_flags_are_dropped,
];

const ILLEGAL: Result = Err(Error::IllegalOperation);

fn call(object: impl Capability, method: Method, words: &[usize], caps: &[CPtr]) -> Result {
    invoke(object.cptr(), method.number(), words, caps).map(drop)
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    for method in [
        Method::InvalidInvocation,
        Method::UntypedRetype,
        Method::CNodeDelete,
        Method::SchedContextBind,
        Method::IrqAckIrq,
    ] {
        check_eq!(call(tcb, method, &[0; 8], &[tcb.0, tcb.0]), ILLEGAL);
    }
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let own = test.tcb.0;
    for (method, words, caps) in [
        (Method::TcbReadRegisters, 2, 0),
        (Method::TcbWriteRegisters, 2, 0),
        (Method::TcbCopyRegisters, 1, 1),
        (Method::TcbConfigure, 3, 3),
        (Method::TcbSetPriority, 1, 1),
        (Method::TcbSetMcPriority, 1, 1),
        (Method::TcbSetSchedParams, 2, 3),
        (Method::TcbSetTimeoutEndpoint, 0, 1),
        (Method::TcbSetIpcBuffer, 1, 1),
        (Method::TcbSetSpace, 2, 3),
        (Method::TcbBindNotification, 0, 1),
        (Method::TcbSetTlsBase, 1, 0),
        (Method::TcbSetFlags, 2, 0),
    ] {
        let all = [own; 3];
        if words > 0 {
            check_eq!(
                call(tcb, method, &[0; 3][..words - 1], &all[..caps]),
                Err(Error::TruncatedMessage)
            );
        }
        if caps > 0 {
            check_eq!(
                call(tcb, method, &[0; 3][..words], &all[..caps - 1]),
                Err(Error::TruncatedMessage)
            );
        }
    }
    Ok(())
}

fn new_threads_have_no_authority(test: &mut Test) -> Outcome {
    let (new, other): (Tcb, Tcb) = (test.create()?, test.create()?);
    let none = Err(Error::Range {
        minimum: 0,
        maximum: 0,
    });
    for value in [1, 100, 255] {
        check_eq!(other.set_priority(new, value), none);
        check_eq!(other.set_mc_priority(new, value), none);
    }
    check_eq!(other.set_priority(new, 0), Ok(()));
    Ok(())
}

fn priorities_need_authority(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let endpoint: Endpoint = test.create()?;
    let empty = Tcb(CPtr(test.empty_slot()?.index));
    for no_thread in [Tcb(endpoint.0), empty, Tcb(test.allocator.cnode().0)] {
        let invalid = Err(Error::InvalidCapability(1));
        check_eq!(tcb.set_priority(no_thread, 0), invalid);
        check_eq!(tcb.set_mc_priority(no_thread, 0), invalid);
        check_eq!(
            tcb.set_sched_params(no_thread, 0, 0, CPtr::NULL, CPtr::NULL),
            invalid
        );
    }
    Ok(())
}

fn priorities_end_at_the_authority(test: &mut Test) -> Outcome {
    let (tcb, authority): (Tcb, Tcb) = (test.create()?, test.create()?);
    authority.set_mc_priority(test.tcb, 50)?;
    let range = Err(Error::Range {
        minimum: 0,
        maximum: 50,
    });
    check_eq!(tcb.set_priority(authority, 50), Ok(()));
    check_eq!(tcb.set_priority(authority, 51), range);
    check_eq!(tcb.set_mc_priority(authority, 50), Ok(()));
    check_eq!(tcb.set_mc_priority(authority, 51), range);
    for value in [256, usize::MAX] {
        for method in [Method::TcbSetPriority, Method::TcbSetMcPriority] {
            let result = call(tcb, method, &[value], &[test.tcb.0]);
            let all = Err(Error::Range {
                minimum: 0,
                maximum: 255,
            });
            check_eq!(result, all);
        }
    }
    // A thread's priority may be above its maximum controlled priority.
    check_eq!(authority.set_priority(test.tcb, 200), Ok(()));
    Ok(())
}

fn sched_params_set_all(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let thread = test.passive(0, || {
        note('a');
        syscall::wait(CPtr::NULL);
    })?;
    let time = test.create_sched_context(&SLICE)?;
    thread.start()?;
    thread
        .tcb
        .set_sched_params(test.tcb, 33, ABOVE, time, endpoint)?;
    check_eq!(noted(), "a");
    // The new handler receives the fault.
    check!(endpoint.nb_wait().is_some());
    let other: Tcb = test.create()?;
    check_eq!(other.set_priority(thread.tcb, 33), Ok(()));
    check_eq!(
        other.set_priority(thread.tcb, 34),
        Err(Error::Range {
            minimum: 0,
            maximum: 33
        })
    );
    Ok(())
}

fn sched_params_are_checked_in_order(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let frame: Frame = test.create()?;
    let authority: Tcb = test.create()?;
    authority.set_mc_priority(test.tcb, 9)?;
    let set =
        |words: [usize; 2], caps: [CPtr; 3]| call(tcb, Method::TcbSetSchedParams, &words, &caps);
    let range = Err(Error::Range {
        minimum: 0,
        maximum: 9,
    });
    check_eq!(
        set([10, 10], [frame.0; 3]),
        Err(Error::InvalidCapability(1))
    );
    check_eq!(set([10, 9], [authority.0, frame.0, frame.0]), range);
    check_eq!(set([9, 10], [authority.0, frame.0, frame.0]), range);
    check_eq!(
        set([9, 9], [authority.0, frame.0, frame.0]),
        Err(Error::InvalidCapability(2))
    );
    check_eq!(
        set([9, 9], [authority.0, CPtr::NULL, frame.0]),
        Err(Error::InvalidCapability(3))
    );
    check_eq!(set([9, 9], [authority.0, CPtr::NULL, CPtr::NULL]), Ok(()));
    Ok(())
}

fn sched_params_check_the_context(test: &mut Test) -> Outcome {
    let first = test.passive(ABOVE, || ())?;
    let second = test.passive(ABOVE, || ())?;
    let (time, other) = (
        test.create_sched_context(&SLICE)?,
        test.create_sched_context(&SLICE)?,
    );
    let authority = test.tcb;
    let set = |thread: Tcb, time: SchedContext| {
        thread.set_sched_params(authority, 1, 1, time, CPtr::NULL)
    };
    check_eq!(set(first.tcb, time), Ok(()));
    // The same again is no change; another thread, or another context, is one.
    check_eq!(set(first.tcb, time), Ok(()));
    check_eq!(set(second.tcb, time), ILLEGAL);
    check_eq!(set(first.tcb, other), ILLEGAL);
    check_eq!(set(second.tcb, other), Ok(()));
    // A blocked thread accepts only a context that is ready.
    let endpoint: Endpoint = test.create()?;
    let blocked = test.spawn_passive(ABOVE, move || {
        endpoint.wait();
    })?;
    let raw: SchedContext = test.create_sized(8)?;
    check_eq!(set(blocked.tcb, raw), ILLEGAL);
    check_eq!(raw.bind(blocked.tcb), ILLEGAL);
    Ok(())
}

fn sched_params_unbind_the_context(test: &mut Test) -> Outcome {
    let thread = test.thread(ABOVE, || note('a'))?;
    let faults = test.faults;
    thread
        .tcb
        .set_sched_params(test.tcb, 1, ABOVE, CPtr::NULL, faults)?;
    thread.start()?;
    check_eq!(noted(), "");
    thread.sched_context.bind(thread.tcb)?;
    check_eq!(noted(), "a");
    Ok(())
}

fn no_thread_unbinds_its_own_context(test: &mut Test) -> Outcome {
    let null = CPtr::NULL;
    check_eq!(
        test.tcb
            .set_sched_params(test.tcb, 255, PRIORITY, null, null),
        ILLEGAL
    );
    check_eq!(test.sched_context.unbind(), ILLEGAL);
    check_eq!(test.sched_context.unbind_object(test.tcb), ILLEGAL);
    Ok(())
}

fn handlers_must_be_endpoints(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let frame: Frame = test.create()?;
    let notification: Notification = test.create()?;
    let (cnode, vspace) = (test.allocator.cnode(), test.vspace);
    for bad in [frame.0, notification.0, tcb.0, cnode.0] {
        let invalid = Err(Error::InvalidCapability(1));
        check_eq!(tcb.set_timeout_endpoint(bad), invalid);
        check_eq!(tcb.set_space(bad, cnode, 0, vspace), invalid);
        check_eq!(
            tcb.set_sched_params(test.tcb, 0, 0, CPtr::NULL, bad),
            Err(Error::InvalidCapability(3))
        );
    }
    check_eq!(tcb.set_timeout_endpoint(CPtr::NULL), Ok(()));
    check_eq!(tcb.set_space(CPtr::NULL, cnode, 0, vspace), Ok(()));
    Ok(())
}

fn handlers_need_rights(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let endpoint: Endpoint = test.create()?;
    for word in 0..16 {
        let rights = Rights::from_word(word);
        let handler = test.restrict(endpoint, rights)?;
        let good = rights.contains(Rights::WRITE)
            && (rights.contains(Rights::GRANT) || rights.contains(Rights::GRANT_REPLY));
        let expected = if good {
            Ok(())
        } else {
            Err(Error::InvalidCapability(1))
        };
        check_eq!(tcb.set_timeout_endpoint(handler), expected);
        let (cnode, vspace) = (test.allocator.cnode(), test.vspace);
        check_eq!(tcb.set_space(handler, cnode, 0, vspace), expected);
    }
    Ok(())
}

fn spaces_must_be_what_they_are(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let frame: Frame = test.create()?;
    let (cnode, vspace) = (test.allocator.cnode(), test.vspace);
    let unassigned: VSpace = test.create()?;
    let null = CPtr::NULL;
    for bad in [null, frame.0, tcb.0, vspace.0] {
        check_eq!(tcb.set_space(null, bad, 0, vspace), ILLEGAL);
        check_eq!(tcb.configure(bad, 0, vspace, 0, frame), ILLEGAL);
    }
    for bad in [VSpace(null), VSpace(frame.0), VSpace(cnode.0), unassigned] {
        check_eq!(tcb.set_space(null, cnode, 0, bad), ILLEGAL);
        check_eq!(tcb.configure(cnode, 0, bad, 0, frame), ILLEGAL);
    }
    check_eq!(tcb.configure(cnode, 0, vspace, 0, frame), Ok(()));
    Ok(())
}

fn the_last_capability_to_a_cspace_is_not_replaced(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let frame: Frame = test.create()?;
    let own: CNode = test.create_sized(4)?;
    let (cnode, vspace) = (test.allocator.cnode(), test.vspace);
    tcb.set_space(CPtr::NULL, own, 0, vspace)?;
    check_eq!(tcb.set_space(CPtr::NULL, own, 0, vspace), Ok(()));
    let copy = test.copy(own)?;
    test.delete(own)?;
    check_eq!(tcb.set_space(CPtr::NULL, copy, 0, vspace), Ok(()));
    // Only the thread has a capability now, and its deletion would take long.
    test.delete(copy)?;
    check_eq!(tcb.set_space(CPtr::NULL, cnode, 0, vspace), ILLEGAL);
    check_eq!(tcb.configure(cnode, 0, vspace, 0, frame), ILLEGAL);
    Ok(())
}

fn buffers_must_be_aligned_frames(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    let frame: Frame = test.create()?;
    let endpoint: Endpoint = test.create()?;
    let (cnode, vspace) = (test.allocator.cnode(), test.vspace);
    let aligned = 1 << IPC_BUFFER_BITS;
    for bad in [CPtr::NULL, endpoint.0, cnode.0] {
        check_eq!(tcb.set_ipc_buffer(aligned, Frame(bad)), ILLEGAL);
        check_eq!(
            tcb.configure(cnode, 0, vspace, aligned, Frame(bad)),
            ILLEGAL
        );
    }
    for address in [1, aligned + 8, aligned / 2, 3 * aligned / 2] {
        let misaligned = Err(Error::Alignment);
        check_eq!(tcb.set_ipc_buffer(address, frame), misaligned);
        check_eq!(tcb.configure(cnode, 0, vspace, address, frame), misaligned);
    }
    check_eq!(tcb.set_ipc_buffer(aligned, frame), Ok(()));
    check_eq!(tcb.set_ipc_buffer(0, Frame(endpoint.0)), Ok(()));
    Ok(())
}

fn buffers_may_be_taken_away(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let frame: Frame = test.create()?;
    let attributes = userlib::cap::Attributes::NORMAL;
    let address = test.map(frame, Rights::READ_WRITE, attributes)?;
    let length = |received: Option<userlib::Received>| Some(received?.message?.length());
    let thread = test.thread(ABOVE, move || {
        for _ in 0..2 {
            endpoint.send(Message::new(1, &[3; 10]));
        }
    })?;
    thread.tcb.set_ipc_buffer(address, frame)?;
    thread.start()?;
    check_eq!(length(endpoint.nb_wait()), Some(10));
    // The thread holds a copy, which is deleted: it has no buffer any more, but does not fault.
    test.slot(frame).revoke()?;
    check_eq!(
        length(endpoint.nb_wait()),
        Some(abi::registers::MESSAGE_REGISTERS)
    );
    Ok(())
}

fn guards_are_applied(test: &mut Test) -> Outcome {
    let table: CNode = test.create_sized(4)?;
    let notification: Notification = test.create()?;
    table
        .slot_of_table(6, 4)
        .copy_from(test.slot(notification), Rights::ALL)?;
    let thread = test.thread(ABOVE, || {
        Notification(CPtr(6)).signal();
        note('a');
    })?;
    let guard = |size| GuardData { guard: 0, size }.word();
    let (faults, vspace) = (test.faults, test.vspace);
    check_eq!(
        thread
            .tcb
            .set_space(faults, table, guard(WORD_BITS - 3), vspace),
        ILLEGAL
    );
    thread
        .tcb
        .set_space(faults, table, guard(WORD_BITS - 4), vspace)?;
    thread.start()?;
    check_eq!(noted(), "a");
    // The notification is active with an empty word, so a wait returns.
    check_eq!(notification.wait(), 0);
    Ok(())
}

fn flags_are_set_and_cleared(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    check_eq!(tcb.set_flags(0, 0), Ok(0));
    let flag = thread_flags::FPU_DISABLED;
    check_eq!(tcb.set_flags(0, flag), Ok(flag));
    check_eq!(tcb.set_flags(0, 0), Ok(flag));
    // A flag that is both cleared and set is set.
    check_eq!(tcb.set_flags(flag, flag), Ok(flag));
    check_eq!(tcb.set_flags(flag, 0), Ok(0));
    Ok(())
}

fn unknown_flags_are_dropped(test: &mut Test) -> Outcome {
    let tcb: Tcb = test.create()?;
    check_eq!(tcb.set_flags(0, usize::MAX), Ok(thread_flags::MASK));
    check_eq!(
        tcb.set_flags(!thread_flags::MASK, 0),
        Ok(thread_flags::MASK)
    );
    check_eq!(tcb.set_flags(usize::MAX, 0), Ok(0));
    Ok(())
}
