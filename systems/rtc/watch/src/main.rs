//! Asks for date and time all the time, checks that no second is left out, and shows each.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::println;
use userlib::services::dates::DateTime;

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
}
