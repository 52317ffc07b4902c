//! What clients report, with a kernel that does whatever it is asked.

use schedulers::TaskId;
use userlib::abi::Syscall;
use userlib::arch::{self, Kernel};
use userlib::cap::Notification;

use super::super::seats::Seat;
use super::*;

/// Answers each call with success, and zeros.
struct Willing;

impl Kernel for Willing {
    fn syscall(&self, _: Syscall, registers: &mut arch::Registers) {
        *registers = arch::Registers::default();
    }

    fn unknown_syscall(&self, _: usize, _: usize) {}

    fn ipc_buffer_address(&self) -> usize {
        panic!("all messages are short")
    }
}

const CLIENT: Client = Client {
    cluster: 0,
    task: TaskId(0),
};

/// The guard of one server, with one client.
fn guard(answer: &'static Mailbox) -> NestedGuard<1, 1, 1> {
    arch::install_kernel(&Willing);
    let nothing = CPtr::NULL;
    let thread = Thread {
        tcb: Tcb(nothing),
        sched_context: SchedContext(nothing),
    };
    let server = Server {
        initial: Registers::default(),
        hold: Hold::Idle,
        held: Reply(nothing),
        serves: None,
    };
    let mut guard = NestedGuard {
        queues: Nested::new([&[]]).unwrap(),
        seats: Seats::new([thread], Endpoint(nothing), Tcb(nothing)),
        servers: [server],
        events: Endpoint(nothing),
        spare: Reply(nothing),
    };
    guard.seats.clients[0][0] = Some(Seat {
        thread: Tcb(nothing),
        context: SchedContext(nothing),
        wake: Notification(nothing),
        answer,
        core: 0,
        priority: 1,
        phase: Phase::Computes,
        request: Words::default(),
        drained: Microseconds(0),
        is_apart: false,
    });
    guard
}

/// The client calls the server of this number, with this request.
fn call(guard: &mut NestedGuard<1, 1, 1>, request: Words, server: usize) {
    let [first, second, third] = request;
    let message = Message::new(label::CALLS, &[first, second, third, server]);
    guard.client_reports(1, message, &mut |event| panic!("{event:?}"));
}

/// Whether the client waits for the answer to this request, and how the last one has ended.
fn state(guard: &mut NestedGuard<1, 1, 1>) -> (bool, Words) {
    let seat = guard.seats.get(CLIENT).unwrap();
    (seat.phase == Phase::Waits, seat.request)
}

#[test]
fn a_second_call_of_a_client_that_waits_changes_nothing() {
    static ANSWER: Mailbox = Mailbox::new();
    let mut guard = guard(&ANSWER);
    call(&mut guard, [1, 2, 3], 0);
    // By another of its threads: once to the same server, once to none.
    for server in [0, 1] {
        call(&mut guard, [4, 5, 6], server);
        assert_eq!(state(&mut guard), (true, [1, 2, 3]));
        // It is empty.
        assert_eq!(ANSWER.take(), Err(NotServed::Aborted));
        assert!(guard.queues.waits(CLIENT));
    }
}

#[test]
fn a_call_of_no_server_ends_at_once() {
    static ANSWER: Mailbox = Mailbox::new();
    let mut guard = guard(&ANSWER);
    call(&mut guard, [1, 2, 3], 1);
    assert_eq!(state(&mut guard), (false, [0; 3]));
    assert_eq!(ANSWER.take(), Err(NotServed::NoServer));
    assert!(!guard.queues.waits(CLIENT));
}
