//! Has a timer, periodic or set again after each end, and notes each of its ends.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;
use userlib::Microseconds;

userlib::component!(main);

fn main(given: Given) {
    while !given.go.is_in(given.signals.wait()) {}
    let [begin, count, notes @ ..] = given.notes else {
        panic!("there is room for notes")
    };
    let begin = Microseconds(begin.load(Relaxed) as u64);
    let [first, period] = [given.first, given.period].map(|time| Microseconds(time as u64));
    let mut due = begin + first;
    if given.is_periodic {
        assert_eq!(given.timers.periodic(0, due, period), Ok(Ok(())));
    }
    for _ in 0..given.times {
        if !given.is_periodic {
            assert_eq!(given.timers.once(0, due), Ok(Ok(())));
        }
        // The signal that the service has started may be the first one.
        while given.timers.status(0).unwrap().unwrap().ended == 0 {
            given.signals.wait();
        }
        let late = given.timers.now().unwrap().0.checked_sub(due.0);
        assert!(late.is_some_and(|late| late < 1000), "{late:?}");
        notes[count.fetch_add(1, Relaxed)].store(given.note, Relaxed);
        due = due + period;
    }
    assert_eq!(given.timers.stop(0), Ok(Ok(())));
    // The end of a component is reported, which takes time of the others.
    loop {
        given.signals.wait();
    }
}
