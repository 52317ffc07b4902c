//! `YieldUntilBudget`: waiting until a given budget can be used in one piece.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, Test, ms, work};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::time::Clock;
use userlib::{Error, Microseconds, syscall};

tests![
    a_thread_with_enough_budget_continues,
    a_thread_with_too_little_budget_sleeps_until_it_has_enough,
    an_amount_above_the_budget_is_refused,
    waiting_is_no_timeout,
    a_slice_is_waited_for_in_turn,
];

/// A period longer than any test.
const NEVER: Microseconds = ms(1_000_000);

fn a_thread_with_enough_budget_continues(test: &mut Test) -> Outcome {
    let thread = test.timed(ABOVE, SchedParameters::new(ms(100), NEVER), || {
        check_eq!(syscall::yield_until_budget(ms(0)), Ok(()));
        check_eq!(syscall::yield_until_budget(ms(50)), Ok(()));
        note('a');
    })?;
    thread.start()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn a_thread_with_too_little_budget_sleeps_until_it_has_enough(test: &mut Test) -> Outcome {
    let startup = test.startup;
    let parameters = SchedParameters::new(ms(20), ms(100));
    let thread = test.timed(ABOVE, parameters, move || {
        let clock = Clock::from_startup(startup);
        let start = clock.now();
        work(startup, ms(8));
        note('a');
        check_eq!(syscall::yield_until_budget(ms(15)), Ok(()));
        note('b');
        // The budget used first is replenished one period later; the remaining budget is delayed so that it
        // ends at that time.
        let slept = clock.now() - start;
        check!(slept >= ms(100 - 12), "{slept}");
    })?;
    thread.start()?;
    check_eq!(noted(), "a");
    test.sleep(ms(50))?;
    check_eq!(noted(), "a");
    test.sleep(ms(100))?;
    check_eq!(noted(), "ab");
    Ok(())
}

fn an_amount_above_the_budget_is_refused(test: &mut Test) -> Outcome {
    let thread = test.timed(ABOVE, SchedParameters::new(ms(30), NEVER), || {
        let amounts = [30_001, 1 << 32, NEVER.0, u64::MAX];
        for amount in amounts.map(Microseconds) {
            let result = syscall::yield_until_budget(amount);
            check!(matches!(
                result,
                Err(Error::BudgetTooSmall {
                    budget: Microseconds(30_000),
                    ..
                })
            ));
        }
        let exact = Err(Error::BudgetTooSmall {
            needed: Microseconds(30_001),
            budget: Microseconds(30_000),
        });
        check_eq!(syscall::yield_until_budget(Microseconds(30_001)), exact);
        note('e');
    })?;
    thread.start()?;
    check_eq!(noted(), "e");
    Ok(())
}

fn waiting_is_no_timeout(test: &mut Test) -> Outcome {
    let timeouts: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let startup = test.startup;
    let parameters = SchedParameters::new(ms(20), ms(60));
    let thread = test.timed(ABOVE, parameters, move || {
        work(startup, ms(10));
        check_eq!(syscall::yield_until_budget(ms(20)), Ok(()));
        note('b');
    })?;
    thread.tcb.set_timeout_endpoint(timeouts)?;
    thread.start()?;
    test.sleep(ms(100))?;
    check_eq!(noted(), "b");
    check!(timeouts.nb_recv(reply).is_none());
    Ok(())
}

fn a_slice_is_waited_for_in_turn(test: &mut Test) -> Outcome {
    let startup = test.startup;
    let slice = SchedParameters::round_robin(ms(40));
    let first = test.timed(ABOVE, slice, move || {
        work(startup, ms(10));
        note('a');
        check_eq!(syscall::yield_until_budget(ms(40)), Ok(()));
        note('c');
    })?;
    let second = test.timed(ABOVE, slice, || note('b'))?;
    test.tcb.set_priority(test.tcb, ABOVE + 1)?;
    // The thread that starts last is in front of its equals.
    second.start()?;
    first.start()?;
    test.tcb.set_priority(test.tcb, crate::support::PRIORITY)?;
    check_eq!(noted(), "abc");
    Ok(())
}
