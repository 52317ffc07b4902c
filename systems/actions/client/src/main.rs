//! Calls servers whose endpoints have conditions for their callers, and checks that these hold.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use actions_common::work;
use userlib::protocol;
use userlib::server::CallError;
use userlib::{Error, Message, Microseconds, println, syscall};

userlib::component!(main);

/// Its budget.
const BUDGET: Microseconds = Microseconds(1_000);
/// After this work it has less than a short request takes, which the threshold does not accept.
const OWN: Microseconds = Microseconds(700);
/// Requests within the limit, and above.
const SHORT: Microseconds = Microseconds(400);
const LONG: Microseconds = Microseconds(2_000);

fn main(given: Given) {
    wait_for_budget();
    let answer = given.teller.call(Message::empty(0));
    let (badge, brought) = (answer.word(0), answer.word(1));
    assert!((500..=1_000).contains(&brought), "it brings {brought} us");

    for server in [given.clerk, given.keen] {
        wait_for_budget();
        work(&given.clock, OWN);
        assert_eq!(server.work(SHORT), Ok(()), "it waits until it has enough");
        let limit = CallError::Kernel(Error::LimitReached);
        assert_eq!(server.work(LONG), Err(protocol::Error::Call(limit)));
        assert_eq!(server.work(SHORT), Ok(()), "the server continues");
    }
    println!("client: all conditions hold for badge {badge}");
}

fn wait_for_budget() {
    syscall::yield_until_budget(BUDGET).expect("the budget is that of the description");
}
