//! The screen of the introductory demo: a processor divided by budgets.
//!
//! Two clients and a hog of higher priority get budgets and share a passive server. For five seconds the
//! screen shows the promised and the received share of each. Then the hog asks the server for work without an
//! end, repeatedly; each time the hog's budget runs out, the supervisor aborts the request and starts the server
//! again, with little effect on the clients. At last the screen judges the shares, which ends the run.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod members;
mod screen;
mod verdict;

use members::Members;
use screen::Screen;
use userlib::time::Clock;
use userlib::{Microseconds, Result, syscall};

/// How long the screen shows shares before the attack begins.
const CALM: Microseconds = Microseconds::from_millis(5000);
/// The attack ends after the hog's requests were aborted so many times.
const ATTACKS: usize = 10;
/// The attack also ends after this time.
const PATIENCE: Microseconds = Microseconds::from_millis(10_000);

userlib::component!(main);

fn main(given: Given) -> Result<usize> {
    let mut members = Members::of(&given);
    let clock = given.clock;

    screen::introduce(&members);
    syscall::yield_now();
    members.count_from_now(&clock)?;
    let mut screen = Screen::new();
    watch(&mut members, &clock, &mut screen, |_, time| time < CALM)?;

    screen::announce_attack();
    let calm = members.time();
    members.hog().report.set_attack(true);
    let mut screen = Screen::with_reports();
    watch(&mut members, &clock, &mut screen, |members, time| {
        members.hog().report.out_of_time() < ATTACKS && time - calm < PATIENCE
    })?;
    members.hog().report.set_attack(false);

    screen::summarise(&members);
    Ok(if verdict::judge(&members) { 0 } else { 1 })
}

/// Shows the shares of all components until `go_on` returns false.
fn watch(
    members: &mut Members,
    clock: &Clock,
    screen: &mut Screen,
    go_on: impl Fn(&Members, Microseconds) -> bool,
) -> Result {
    loop {
        // Budget is available again in the next period.
        syscall::yield_now();
        let time = members.look(clock)?;
        screen.show(members);
        if !go_on(members, time) {
            return Ok(());
        }
    }
}
