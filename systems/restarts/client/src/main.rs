//! Lets the server fail in each way, and checks that the request gets an error and that the server then begins
//! again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::server::ABORTED;
use userlib::{Message, println};

userlib::component!(main);

fn main(given: Given) {
    // The driver has a higher priority, but it waits for an interrupt.
    while given.starts.get(1) == Some(0) {}
    assert_eq!(given.starts.get(0), Some(2), "starts of the driver");
    let count = || given.server.call(Message::empty(0)).word(0);
    for way in 1..=given.ways {
        assert_eq!([count(), count()], [100, 101], "before failure {way}");
        let answer = given.server.call(Message::empty(way));
        assert_eq!(answer.label(), ABORTED, "failure {way}");
    }
    assert_eq!([count(), count()], [100, 101]);
    // One more than are allowed: now the server is stopped.
    let answer = given.server.call(Message::empty(given.ways));
    assert_eq!(answer.label(), ABORTED);
    given.done.signal();
    // The listener has a lower priority.
    userlib::syscall::yield_now();
    println!("all is as described");
    panic!("the end");
}
