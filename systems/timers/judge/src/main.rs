//! Asks for what is no timer, lets two other clients note the ends of theirs, judges the order, and lets the service start
//! again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use userlib::protocol::Text;
use userlib::services::timers::{EACH, Refused, Status, requests};
use userlib::{Microseconds, println};

userlib::component!(main);

const SET: Status = Status {
    ended: 0,
    is_set: true,
};

fn main(given: Given) {
    let timers = given.timers;
    let ms = Microseconds::from_millis;
    be_hostile(timers);

    let begin = timers.now().unwrap() + ms(20);
    let [start, count, notes @ ..] = given.notes else {
        panic!("there is room for notes")
    };
    start.store(begin.0 as usize, Relaxed);
    given.east.signal();
    given.west.signal();
    let end = begin + ms(9);
    assert_eq!(timers.once(0, end), Ok(Ok(())));
    while timers.status(0).unwrap().unwrap().ended == 0 {
        given.signals.wait();
    }
    assert_eq!(count.load(Relaxed), 7);
    for (place, note) in notes.iter().take(7).enumerate() {
        assert_eq!(note.load(Relaxed), 1 + place % 2, "note {place}");
    }
    println!("judge: timers of two clients have ended in turn");

    let soon = timers.now().unwrap() + ms(5);
    assert_eq!(timers.periodic(1, soon, ms(5)), Ok(Ok(())));
    assert_eq!(timers.status(1), Ok(Ok(SET)));
    let again = given.supervisor.restart(Text::new("timers"));
    assert_eq!(again, Ok(Ok(())));
    // The service says that it has started.
    given.signals.wait();
    assert_eq!(timers.status(1), Ok(Ok(Status::default())));
    let soon = timers.now().unwrap() + ms(5);
    assert_eq!(timers.once(1, soon), Ok(Ok(())));
    while timers.status(1) == Ok(Ok(SET)) {
        given.signals.wait();
    }
    assert!(timers.now().unwrap() >= soon);
    println!("judge: the service has started again");
}

fn be_hostile(timers: requests::Client) {
    let now = timers.now().unwrap();
    let later = now + Microseconds::from_millis(100);
    let endless = Microseconds(u64::MAX);
    for timer in [EACH, usize::MAX] {
        assert_eq!(timers.once(timer, later), Ok(Err(Refused::NoTimer)));
        assert_eq!(timers.stop(timer), Ok(Err(Refused::NoTimer)));
        assert_eq!(timers.status(timer), Ok(Err(Refused::NoTimer)));
    }
    for (first, period, refused) in [
        (later, Microseconds(0), Refused::TooShort),
        (later, Microseconds(999), Refused::TooShort),
        (later, endless, Refused::TooLong),
        (endless, Microseconds(1000), Refused::TooLong),
        (now, Microseconds(1000), Refused::Past),
        (Microseconds(0), Microseconds(1000), Refused::Past),
    ] {
        assert_eq!(timers.periodic(0, first, period), Ok(Err(refused)));
    }
    assert_eq!(timers.once(0, endless), Ok(Err(Refused::TooLong)));
    assert_eq!(timers.once(0, now), Ok(Err(Refused::Past)));
    assert_eq!(timers.status(0), Ok(Ok(Status::default())));
    println!("judge: the service has refused everything");
}
