//! Writes lines, each in parts between which others write, and then asks for a line and says what it was.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::fmt::Write;
use userlib::services::lines::Words;

userlib::component!(main);

fn main(given: Given) {
    let say = |what: core::fmt::Arguments| {
        let mut words = Words::default();
        words.write_fmt(what).expect("it is short");
        assert_eq!(given.port.write(words), Ok(Ok(())));
    };
    for number in 0..4 {
        say(format_args!("{} ", given.name));
        for part in ["says", "one", "thing"] {
            userlib::syscall::yield_now();
            say(format_args!("{part} "));
        }
        say(format_args!("{number}\n"));
    }
    assert_eq!(given.port.read(), Ok(Ok(None)));
    say(format_args!("{} listens\n", given.name));
    let line = loop {
        given.signals.wait();
        if let Some(line) = given.port.read().unwrap().unwrap() {
            break line;
        }
    };
    say(format_args!("{} has read {}\n", given.name, line.as_str()));
}
