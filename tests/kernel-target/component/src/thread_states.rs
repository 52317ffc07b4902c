//! Threads: suspending, resuming and deleting them in every state.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, PRIORITY, SLICE, Test};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Notification, Reply, SchedContext, Tcb};
use userlib::{CPtr, Error, Message, syscall};

tests![
    threads_run_when_resumed,
    suspended_threads_stand_still,
    resuming_the_running_does_nothing,
    suspending_twice_is_once,
    suspending_oneself,
    resuming_the_blocked_repeats_the_call,
    resuming_the_passive_does_not_run_them,
    deleting_oneself,
    deleting_the_running_and_the_ready,
    a_thousand_threads,
];

fn threads_run_when_resumed(test: &mut Test) -> Outcome {
    let thread = test.thread(ABOVE, || note('a'))?;
    check_eq!(noted(), "");
    thread.tcb.resume()?;
    note('b');
    check_eq!(noted(), "ab");
    let low = test.thread(BELOW, || note('c'))?;
    low.tcb.resume()?;
    check_eq!(noted(), "ab");
    test.let_others_run()?;
    check_eq!(noted(), "abc");
    Ok(())
}

fn suspended_threads_stand_still(test: &mut Test) -> Outcome {
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let thread = test.spawn(PRIORITY, || {
        loop {
            COUNT.fetch_add(1, Relaxed);
        }
    })?;
    while COUNT.load(Relaxed) == 0 {
        syscall::yield_now();
    }
    thread.tcb.suspend()?;
    let count = COUNT.load(Relaxed);
    for _ in 0..10 {
        syscall::yield_now();
    }
    check_eq!(COUNT.load(Relaxed), count);
    thread.tcb.resume()?;
    syscall::yield_now();
    check!(COUNT.load(Relaxed) > count);
    Ok(())
}

fn resuming_the_running_does_nothing(test: &mut Test) -> Outcome {
    check_eq!(test.tcb.resume(), Ok(()));
    let thread = test.spawn(BELOW, || note('a'))?;
    check_eq!(thread.tcb.resume(), Ok(()));
    check_eq!(thread.tcb.resume(), Ok(()));
    test.let_others_run()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn suspending_twice_is_once(test: &mut Test) -> Outcome {
    let thread = test.spawn(BELOW, || note('a'))?;
    check_eq!(thread.tcb.suspend(), Ok(()));
    check_eq!(thread.tcb.suspend(), Ok(()));
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_eq!(thread.tcb.resume(), Ok(()));
    test.let_others_run()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn suspending_oneself(test: &mut Test) -> Outcome {
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static SELF: AtomicUsize = AtomicUsize::new(0);
    let thread = test.thread(ABOVE, || {
        note('a');
        // The result of the call never arrives; the thread restarts the call.
        let result = Tcb(CPtr(SELF.load(Relaxed))).suspend();
        note(if result.is_ok() { 'b' } else { 'c' });
    })?;
    SELF.store(thread.tcb.0.0, Relaxed);
    thread.start()?;
    check_eq!(noted(), "a");
    // When resumed, it suspends itself again.
    thread.tcb.resume()?;
    check_eq!(noted(), "a");
    // Without the capability the call fails, and the thread continues.
    let spare = test.copy(thread.tcb)?;
    test.delete(thread.tcb)?;
    spare.resume()?;
    check_eq!(noted(), "ac");
    Ok(())
}

fn resuming_the_blocked_repeats_the_call(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let notification: Notification = test.create()?;
    let reply: Reply = test.create()?;
    let works: [fn(Endpoint, Reply, Notification); 4] = [
        |endpoint, _, _| endpoint.send(Message::empty(1)),
        |endpoint, _, _| drop_message(endpoint.call(Message::empty(1))),
        |endpoint, reply, _| drop_received(endpoint.recv(reply)),
        |_, _, notification| drop_badge(notification.wait()),
    ];
    for work in works {
        let thread = test.spawn(ABOVE, move || work(endpoint, reply, notification))?;
        // It blocks again, exactly once.
        check_eq!(thread.tcb.resume(), Ok(()));
        check_eq!(thread.tcb.resume(), Ok(()));
        thread.tcb.suspend()?;
        check!(endpoint.nb_wait().is_none());
        check_eq!(notification.poll(), 0);
    }
    Ok(())
}

fn drop_message(_: Message) {}
fn drop_received(_: userlib::Received) {}
fn drop_badge(_: usize) {}

fn resuming_the_passive_does_not_run_them(test: &mut Test) -> Outcome {
    let thread = test.passive(ABOVE, || note('a'))?;
    check_eq!(thread.tcb.resume(), Ok(()));
    test.let_others_run()?;
    check_eq!(noted(), "");
    let raw: SchedContext = test.create_sized(8)?;
    // A context without parameters can be bound, but has no budget.
    raw.bind(thread.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    test.sched_control.configure(raw, &SLICE)?;
    check_eq!(noted(), "a");
    Ok(())
}

fn deleting_oneself(test: &mut Test) -> Outcome {
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    static SELF: AtomicUsize = AtomicUsize::new(0);
    let cnode = test.allocator.cnode();
    let thread = test.thread(ABOVE, move || {
        note('a');
        let _ = cnode.slot(CPtr(SELF.load(Relaxed))).delete();
        note('b');
    })?;
    SELF.store(thread.tcb.0.0, Relaxed);
    thread.start()?;
    check_eq!(noted(), "a");
    check!(test.is_gone(thread.tcb)?);
    // Its scheduling context can be bound to another thread.
    let other = test.passive(ABOVE, || note('c'))?;
    other.start()?;
    thread.sched_context.bind(other.tcb)?;
    check_eq!(noted(), "ac");
    Ok(())
}

fn deleting_the_running_and_the_ready(test: &mut Test) -> Outcome {
    let ready = test.spawn(BELOW, || note('x'))?;
    test.delete(ready.tcb)?;
    let stopped = test.thread(BELOW, || note('x'))?;
    test.delete(stopped.tcb)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    // Their contexts have no thread any more.
    check_eq!(ready.sched_context.yield_to(), Err(Error::IllegalOperation));
    Ok(())
}
fn a_thousand_threads(test: &mut Test) -> Outcome {
    use crate::support::arch::{SECOND_CALL, bare_registers, call_twice};
    use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    const THREADS: usize = 1000;
    static READY: AtomicUsize = AtomicUsize::new(0);
    // Each sends its message, then waits for ever.
    let endpoint: Endpoint = test.create()?;
    let never: Notification = test.create()?;
    let mut registers = bare_registers(call_twice, abi::Syscall::Send, endpoint.0);
    registers.0[SECOND_CALL.0] = abi::Syscall::Wait.number();
    registers.0[SECOND_CALL.1] = never.0.0;
    registers.0[abi::registers::INFO] = abi::MessageInfo::new(5, 0, 1).0;
    for index in 0..THREADS {
        let tcb = test.bare_thread()?;
        let time = test.create_sched_context(&SLICE)?;
        // Seven different priorities, in a scattered order.
        let priority = 101 + (index * 5 % 7) as u8;
        tcb.set_sched_params(test.tcb, 0, priority, time, CPtr::NULL)?;
        registers.0[abi::registers::MR[0]] = index;
        tcb.write_registers(true, &registers)?;
        READY.fetch_add(1, Relaxed);
    }
    check_eq!(READY.load(Relaxed), THREADS);
    // They are served by priority, and in order among equals.
    let mut last = (u8::MAX, 0);
    for _ in 0..THREADS {
        let message = endpoint.nb_wait().and_then(|received| received.message);
        let index = message.map_or(usize::MAX, |message| message.word(0));
        check!(index < THREADS);
        let priority = 101 + (index * 5 % 7) as u8;
        check!(priority < last.0 || priority == last.0 && index >= last.1);
        last = (priority, index);
    }
    check!(endpoint.nb_wait().is_none());
    Ok(())
}
