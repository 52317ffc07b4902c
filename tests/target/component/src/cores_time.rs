//! Progress on a core while another one changes something there all the time.

use crate::check;
use crate::support::counters::{self, count};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test};
use userlib::cap::Notification;

tests![
    if abi::config::SMP;
    system_calls_are_performed_while_another_core_visits,
];

/// This thread makes system calls that change something of another core all the time, where a thread makes
/// system calls, too.
fn system_calls_are_performed_while_another_core_visits(test: &mut Test) -> Outcome {
    const CALLS: usize = 2000;
    for core in test.further_cores() {
        counters::set(0, 0);
        let bell: Notification = test.create()?;
        let suspended = test.timed_on(core, BELOW, SLICE, || {})?;
        let caller = test.spawn_on(core, ABOVE, move || {
            loop {
                bell.signal();
                bell.poll();
                counters::step(0);
            }
        })?;
        check!(test.comes_true(|| count(0) > 0)?);
        let before = count(0);
        for _ in 0..CALLS {
            suspended.tcb.set_tls_base(0)?;
        }
        let made = count(0) - before;
        check!(made > CALLS / 100, "{made} while {CALLS} were made here");
        test.delete(caller.tcb)?;
    }
    Ok(())
}
