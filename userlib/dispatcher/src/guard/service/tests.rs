//! Lending without a kernel.

use schedulers::{McIpc, TaskId};
use userlib::CPtr;
use userlib::cap::{SchedContext, Tcb};

use super::*;

/// Queues with one client, which has no seat. Its offer is current.
#[test]
fn a_wanted_client_without_a_seat_gives_nothing() {
    let nothing = CPtr::NULL;
    let client = Client {
        cluster: 0,
        task: TaskId(0),
    };
    let server = Thread {
        tcb: Tcb(nothing),
        sched_context: SchedContext(nothing),
    };
    let mut guard = Guard::<_, 1, 1, 1> {
        queues: McIpc::<_, 1, 1, 1>::new(),
        lenders: Lenders::new(),
        decisions: [1],
        seats: Seats::new([server], Endpoint(nothing), Tcb(nothing)),
        events: Endpoint(nothing),
        spare: Reply(nothing),
        initial: Registers::default(),
        hold: Hold::Idle,
        held: Reply(nothing),
    };
    guard.queues.invoke(client, Reverse(1)).unwrap();
    guard.lenders.offer(0, 1, [Some(client.task)]).unwrap();
    guard.lend(&mut |event| panic!("{event:?}")).unwrap();
    assert_eq!(guard.seats.lender(0), None);
}
