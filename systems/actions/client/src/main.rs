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
/// After this work it has less than a request takes, which the clerk's threshold does not accept.
const OWN: Microseconds = Microseconds(700);
/// Requests within the clerk's limit, and above.
const SHORT: Microseconds = Microseconds(400);
const LONG: Microseconds = Microseconds(5_000);

fn main(given: Given) {
    syscall::yield_until_budget(BUDGET).expect("the budget is that of the description");
    let answer = given.teller.call(Message::empty(0));
    let (badge, brought) = (answer.word(0), answer.word(1));
    assert!((500..=1_000).contains(&brought), "it brings {brought} us");

    work(&given.clock, OWN);
    let clerk = given.clerk;
    assert_eq!(clerk.work(SHORT), Ok(()), "it waits until it has enough");
    let limit = CallError::Kernel(Error::LimitReached);
    assert_eq!(clerk.work(LONG), Err(protocol::Error::Call(limit)));
    assert_eq!(clerk.work(SHORT), Ok(()), "the clerk has started again");
    println!("client: all conditions hold for badge {badge}");
}
