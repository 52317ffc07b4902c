//! Sets the clock, which it may, and its alarm: to a date that comes, to one that is skipped, to one that it stops, and to one
//! of which the service knows nothing any more, as it has started again.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::println;
use userlib::protocol::Text;
use userlib::services::dates::{DateTime, Refused};

userlib::component!(main);

const MIDNIGHT: DateTime = DateTime {
    year: 2030,
    month: 1,
    day: 1,
    hour: 0,
    minute: 0,
    second: 0,
};
const BEFORE: DateTime = DateTime {
    year: 2029,
    month: 12,
    day: 31,
    hour: 23,
    minute: 59,
    second: 58,
};
const LATER: DateTime = DateTime {
    second: 2,
    ..MIDNIGHT
};
const NOON: DateTime = DateTime {
    hour: 12,
    ..MIDNIGHT
};
const EVENING: DateTime = DateTime {
    hour: 18,
    ..MIDNIGHT
};

fn main(given: Given) {
    while !given.go.is_in(given.signals.wait()) {}
    let (clock, done) = (given.date, Ok(Ok(())));
    let restart = || {
        let again = given.supervisor.restart(Text::new("rtc"));
        assert_eq!(again, Ok(Ok(())));
        // The service says that it has started.
        given.signals.wait();
        assert_eq!(clock.alarm(), Ok(Ok(None)));
        println!("setter: the service has started again");
    };
    if given.is_read_only {
        assert_eq!(clock.set(BEFORE), Ok(Err(Refused::ReadOnly)));
        assert_eq!(clock.wake(MIDNIGHT), Ok(Err(Refused::ReadOnly)));
        let date = || clock.now().expect("it answers").expect("it has a date");
        let before = date();
        restart();
        assert!(date() >= before, "the clock goes on");
        return;
    }
    for wrong in [
        DateTime { year: 1969, ..NOON },
        DateTime { month: 13, ..NOON },
        DateTime { day: 0, ..NOON },
        DateTime { hour: 24, ..NOON },
    ] {
        assert_eq!(clock.set(wrong), Ok(Err(Refused::NoDate)));
        assert_eq!(clock.wake(wrong), Ok(Err(Refused::NoDate)));
    }
    assert_eq!(clock.alarm(), Ok(Ok(None)));

    assert_eq!(clock.wake(MIDNIGHT), done);
    assert_eq!(clock.set(BEFORE), done);
    assert_eq!(clock.now(), Ok(Some(BEFORE)));
    while clock.alarm() == Ok(Ok(Some(MIDNIGHT))) {
        given.signals.wait();
    }
    assert_eq!(clock.now(), Ok(Some(MIDNIGHT)));

    // It rings at once.
    assert_eq!(clock.wake(NOON), done);
    assert_eq!(clock.set(EVENING), done);
    assert_eq!(clock.alarm(), Ok(Ok(None)));
    given.signals.wait();

    assert_eq!(clock.wake(MIDNIGHT), Ok(Err(Refused::Past)));
    assert_eq!(clock.set(BEFORE), done);
    assert_eq!(clock.wake(MIDNIGHT), done);
    assert_eq!(clock.stop(), done);
    assert_eq!(clock.alarm(), Ok(Ok(None)));

    assert_eq!(clock.wake(MIDNIGHT), done);
    restart();
    // The clock does not ring for the service before.
    assert_eq!(clock.wake(LATER), done);
    given.signals.wait();
    assert_eq!(clock.alarm(), Ok(Ok(None)));
    assert_eq!(clock.now(), Ok(Some(LATER)));
}
