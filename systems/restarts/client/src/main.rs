//! Lets the server fail in each way, and checks that the request gets an error and that the server then begins
//! again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::server::CallError;
use userlib::{Message, println};

userlib::component!(main);

/// More time than the client uses after it has let the watcher look, and less than its budget, in microseconds.
const MOST: usize = 10_000;

fn main(given: Given) {
    // The driver fails twice, and then has its interrupts again.
    let write = |line| given.driver.try_call(Message::new(0, &[line]));
    assert_eq!([1, 2].map(write), [Err(CallError::Aborted); 2]);
    assert!([3, 4].map(write).iter().all(Result::is_ok));
    // It waits with a lower priority than the supervisor's until that has started it again.
    let asked = given.starter.call(Message::empty(0));
    assert_eq!(asked.word(0), 2, "starts of the starter");
    let count = || given.server.call(Message::empty(0)).word(0);
    for way in 1..=given.ways {
        assert_eq!([count(), count()], [100, 101], "before failure {way}");
        let answer = given.server.try_call(Message::empty(way));
        assert_eq!(answer, Err(CallError::Aborted), "failure {way}");
    }
    assert_eq!([count(), count()], [100, 101]);
    // The watcher has a higher priority, and fails after its first look. The last failure has used up the budget.
    given.look.signal();
    let [first, second] = [1, 2].map(|look| given.looks.get(look));
    assert!(first >= Some(MOST), "used before the first look: {first:?}");
    assert!(second < Some(MOST), "used since the first look: {second:?}");
    // The waiter has a higher priority. Its request lets the server wait for the listener's signal, and fail once more
    // than is allowed.
    given.go.signal();
    given.done.signal();
    for call in ["that waits when the server stops", "of a stopped server"] {
        let answer = given.server.try_call(Message::empty(0));
        assert_eq!(answer, Err(CallError::Stopped), "a call {call}");
    }
    // The listener has a lower priority.
    userlib::syscall::yield_now();
    println!("all is as described");
    panic!("the end");
}
