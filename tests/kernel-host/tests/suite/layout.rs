//! The layout constants for assembly fast paths agree with the kernel's types.

use host_machine::arch::Host;
use kernel::fastpath::Layout;
use kernel::object::{Above, Fault, PendingFault, Reply, SchedContext, Thread, ThreadState};
use kernel::token::Ptr;

type Of = Layout<Host>;

const WORD: usize = size_of::<usize>();

/// A word of a value. The value must be initialised at that word.
fn word<T>(value: &T, offset: usize) -> usize {
    assert!(offset + WORD <= size_of::<T>());
    let start = core::ptr::from_ref(value).cast::<u8>();
    // SAFETY: the word is part of the value; the tests ask for words that are tags or pointers.
    unsafe { start.add(offset).cast::<usize>().read() }
}

/// A pointer that is never dereferenced.
fn nowhere<T>(address: usize) -> Ptr<T> {
    // SAFETY: the pointer is only compared.
    unsafe { Ptr::from_address(address) }.expect("not null")
}

#[test]
fn states_of_threads() {
    let field = |offset: usize| offset - Of::THREAD_STATE;
    let receives = ThreadState::<Host>::BlockedOnReceive {
        endpoint: nowhere(0x1000),
        reply: Some(nowhere(0x2000)),
    };
    assert_eq!(word(&receives, 0), Of::BLOCKED_ON_RECEIVE);
    assert_eq!(word(&receives, field(Of::THREAD_RECEIVES_FROM)), 0x1000);
    assert_eq!(word(&receives, field(Of::THREAD_RECEIVES_WITH)), 0x2000);

    let without = ThreadState::<Host>::BlockedOnReceive {
        endpoint: nowhere(0x1000),
        reply: None,
    };
    assert_eq!(word(&without, field(Of::THREAD_RECEIVES_WITH)), 0);

    let calls = ThreadState::<Host>::BlockedOnReply {
        reply: nowhere(0x3000),
    };
    assert_eq!(word(&calls, 0), Of::BLOCKED_ON_REPLY);
    assert_eq!(word(&calls, field(Of::THREAD_CALLS_WITH)), 0x3000);
    assert_eq!(word(&ThreadState::<Host>::Running, 0), Of::RUNNING);
}

#[test]
fn threads_without_fault() {
    let mut thread = Thread::<Host>::new(0, 0);
    assert_eq!(word(&thread, Of::THREAD_FAULT), Of::NO_FAULT);
    assert_eq!(word(&thread, Of::THREAD_SCHED_CONTEXT), 0);
    assert_eq!(word(&thread, Of::THREAD_NOTIFICATION), 0);
    for fault in [
        Fault::UnknownSyscall { number: 0 },
        Fault::UserException { number: 0, code: 0 },
        Fault::Timeout {
            badge: 0,
            more: None,
        },
        Fault::Vm {
            address: 0,
            status: 0,
            instruction: false,
        },
    ] {
        thread.fault = PendingFault::Some(fault);
        assert_ne!(word(&thread, Of::THREAD_FAULT), Of::NO_FAULT, "{fault:?}");
    }
}

#[test]
fn reply_objects() {
    let mut reply = Reply::<Host>::new();
    assert_eq!(word(&reply, Of::REPLY_ABOVE), Of::ABOVE_NONE);
    reply.set_thread(Some(nowhere(0x1000)));
    reply.below = Some(nowhere(0x2000));
    reply.above = Above::Reply(nowhere(0x3000));
    assert_eq!(word(&reply, Of::REPLY_THREAD), 0x1000);
    assert_eq!(word(&reply, Of::REPLY_BELOW), 0x2000);
    assert_eq!(word(&reply, Of::REPLY_ABOVE), Of::ABOVE_REPLY);
    assert_eq!(word(&reply, Of::REPLY_ABOVE_WHICH), 0x3000);
    reply.above = Above::Context(nowhere(0x4000));
    assert_eq!(word(&reply, Of::REPLY_ABOVE), Of::ABOVE_CONTEXT);
    assert_eq!(word(&reply, Of::REPLY_ABOVE_WHICH), 0x4000);
    // Assembly does not handle limits.
    reply.above = Above::Limited(nowhere(0x4000));
    assert_ne!(word(&reply, Of::REPLY_ABOVE), Of::ABOVE_CONTEXT);
}

#[test]
fn scheduling_contexts() {
    let mut context = SchedContext::<Host>::new();
    context.thread = Some(nowhere(0x1000));
    context.reply = Some(nowhere(0x2000));
    assert_eq!(word(&context, Of::SCHED_CONTEXT_THREAD), 0x1000);
    assert_eq!(word(&context, Of::SCHED_CONTEXT_REPLY), 0x2000);
}
