//! The introductory demo: a processor divided by budgets.
//!
//! Two clients and a hog of higher priority get budgets and share a passive server. For five seconds the
//! screen shows the promised and the received share of each. Then the hog asks the server for work without an
//! end, repeatedly; each time the hog's budget runs out, a timeout handler aborts the request and restarts
//! the server, with little effect on the clients.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

mod members;
mod recovery;
mod screen;
mod verdict;

use members::Members;
use screen::Screen;
use userlib::cap::SchedParameters;
use userlib::time::Clock;
use userlib::{BootInfo, Environment, Microseconds, Result, boot, syscall};

/// How long the screen shows shares before the attack begins.
const CALM: Microseconds = Microseconds::from_millis(5000);
/// The attack ends after the hog's requests were aborted so many times.
const ATTACKS: usize = 10;
/// The attack also ends after this time.
const PATIENCE: Microseconds = Microseconds::from_millis(10_000);

/// Scheduling parameters of the root task. It has the lowest priority, so that its display does not disturb
/// the others.
const LOOK: SchedParameters = SchedParameters::new(
    Microseconds::from_millis(25),
    Microseconds::from_millis(250),
);
const LOOK_PRIORITY: u8 = 10;

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    environment.end_with_root_task("demo")?;
    let clock = Clock::start(&mut environment, boot)?;
    let mut members = Members::create(&mut environment, &clock)?;
    environment
        .sched_control
        .configure(boot::SCHED_CONTEXT, &LOOK)?;
    boot::TCB.set_priority(boot::TCB, LOOK_PRIORITY)?;

    screen::introduce(&members);
    members.start()?;
    syscall::yield_now();
    members.count_from_now(&clock)?;
    watch(&mut members, &clock, |_, time| time < CALM)?;

    screen::announce_attack();
    let calm = members.time();
    members.hog().report.set_attack(true);
    watch(&mut members, &clock, |members, time| {
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
    go_on: impl Fn(&Members, Microseconds) -> bool,
) -> Result {
    let mut screen = Screen::new();
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
