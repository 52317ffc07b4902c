//! Asks for date and time all the time, checks that no second is left out, and shows each. Then it tries to set the clock,
//! which it may not, and its alarm.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::println;
use userlib::services::dates::{DateTime, Refused};

userlib::component!(main);

fn main(given: Given) {
    let now = || -> DateTime {
        given
            .date
            .now()
            .expect("it answers")
            .expect("it has a date")
    };
    let mut date = now();
    let mut seconds = 0;
    while seconds < given.seconds {
        let next = now();
        if next != date {
            let [before, after] = [date, next].map(|date| date.to_unix().expect("it is a date"));
            assert_eq!(after, before + 1, "{date} {next}");
            println!("{next}");
            seconds += 1;
            date = next;
        }
    }

    assert_eq!(given.date.set(date), Ok(Err(Refused::NotYours)));
    if !given.is_read_only {
        assert_eq!(given.date.wake(date), Ok(Err(Refused::Past)));
        let soon = date.to_unix().expect("it is a date") + 3;
        let soon = DateTime::from_unix(soon).expect("it is a date");
        assert_eq!(given.date.wake(soon), Ok(Ok(())));
        // The signal that the service has started may be the first one.
        while given.date.alarm() == Ok(Ok(Some(soon))) {
            given.signals.wait();
        }
        assert_eq!(now(), soon);
    }
    given.setter.signal();
}
