//! SchedControl: configuring scheduling contexts.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Random, SLICE, Test, ms, range, relax, us};
use crate::{check, check_eq};
use abi::Method;
use abi::sizes::{MIN_SCHED_CONTEXT_BITS, refill_capacity};
use userlib::cap::{Endpoint, Notification, SchedContext, SchedParameters, Tcb};
use userlib::invoke::invoke;
use userlib::{CPtr, Capability, Error, Message, Microseconds, Result, Thread, syscall};

tests![
    labels_of_others_are_illegal,
    short_messages_are_truncated,
    surplus_is_ignored,
    contexts_must_be_contexts,
    times_have_a_least_value,
    times_have_a_greatest_value,
    times_have_sixty_four_bits,
    budgets_end_at_the_period,
    extra_refills_end_with_the_object,
    checks_are_made_in_order,
    unknown_flags_are_ignored,
    errors_change_nothing,
    configuring_lets_a_bound_thread_run,
    configuring_does_not_wake,
    configuring_the_exhausted_gives_nothing,
    more_budget_comes_a_period_later,
    configuring_the_stopped_is_fresh,
    configuring_round_robin_is_fresh,
    configuring_oneself,
    configuring_while_running,
];

/// Message words for one time value.
const TIME: usize = 64 / usize::BITS as usize;
/// Message words in all.
const LENGTH: usize = 2 * TIME + 3;
/// The smallest budget and period.
const LEAST: u64 = 20;

/// The message of a configuration.
fn words(budget: u64, period: u64, rest: [usize; 3]) -> [usize; LENGTH] {
    let mut words = [0; LENGTH];
    for (index, time) in [budget, period].into_iter().enumerate() {
        for part in 0..TIME {
            words[index * TIME + part] = (time >> (part * 32)) as usize;
        }
    }
    words[2 * TIME..].copy_from_slice(&rest);
    words
}

fn call(test: &Test, words: &[usize], caps: &[CPtr]) -> Result {
    let label = Method::SchedControlConfigureFlags.number();
    invoke(test.sched_control.0, label, words, caps).map(drop)
}

/// Configures with a budget, a period and a number of extra replenishments.
fn configure(test: &Test, cap: impl Capability, budget: u64, period: u64, extra: usize) -> Result {
    call(test, &words(budget, period, [extra, 0, 0]), &[cap.cptr()])
}

/// A context of the smallest size, not configured.
fn context(test: &mut Test) -> Result<SchedContext> {
    test.create_sized(MIN_SCHED_CONTEXT_BITS)
}

/// The greatest period that is accepted.
fn greatest(test: &mut Test) -> Result<u64> {
    let context = context(test)?;
    let (mut good, mut bad) = (LEAST, u64::MAX);
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        match configure(test, context, LEAST, middle, 0) {
            Ok(()) => good = middle,
            Err(_) => bad = middle,
        }
    }
    Ok(good)
}

fn labels_of_others_are_illegal(test: &mut Test) -> Outcome {
    let context = context(test)?;
    for method in [
        Method::InvalidInvocation,
        Method::TcbSuspend,
        Method::SchedContextBind,
        Method::SchedContextYieldTo,
    ] {
        let words = words(1000, 1000, [0; 3]);
        let control = test.sched_control.0;
        check_eq!(
            invoke(control, method.number(), &words, &[context.0]).map(drop),
            Err(Error::IllegalOperation)
        );
    }
    Ok(())
}

fn short_messages_are_truncated(test: &mut Test) -> Outcome {
    let context = context(test)?;
    let words = words(0, 0, [usize::MAX; 3]);
    for length in 0..LENGTH {
        let result = call(test, &words[..length], &[context.0]);
        check_eq!(result, Err(Error::TruncatedMessage));
    }
    check_eq!(call(test, &words, &[]), Err(Error::TruncatedMessage));
    Ok(())
}

fn surplus_is_ignored(test: &mut Test) -> Outcome {
    let context = context(test)?;
    let mut long = [usize::MAX; LENGTH + 9];
    long[..LENGTH].copy_from_slice(&words(1000, 2000, [0; 3]));
    check_eq!(call(test, &long, &[context.0, test.tcb.0]), Ok(()));
    Ok(())
}

/// The error of a time that is not at least [`LEAST`] and at most this; bounds beyond a word are the greatest word.
fn range_up_to(greatest: u64) -> Result {
    range(LEAST as usize, greatest.try_into().unwrap_or(usize::MAX))
}

fn contexts_must_be_contexts(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let empty = test.empty_slot()?;
    for cap in [
        CPtr::NULL,
        CPtr(empty.index),
        endpoint.0,
        test.tcb.0,
        test.sched_control.0,
    ] {
        check_eq!(
            configure(test, cap, 1000, 1000, 0),
            Err(Error::InvalidCapability(1))
        );
    }
    Ok(())
}

fn times_have_a_least_value(test: &mut Test) -> Outcome {
    let greatest = greatest(test)?;
    let context = context(test)?;
    let error = range_up_to(greatest);
    for (budget, period) in [(0, 0), (0, 1000), (19, 1000), (19, 19), (20, 19), (20, 0)] {
        check_eq!(configure(test, context, budget, period, 0), error);
    }
    for (budget, period) in [(20, 20), (20, 21), (21, 21)] {
        check_eq!(configure(test, context, budget, period, 0), Ok(()));
    }
    Ok(())
}

fn times_have_a_greatest_value(test: &mut Test) -> Outcome {
    let greatest = greatest(test)?;
    let context = context(test)?;
    let error = range_up_to(greatest);
    // Every clock can represent more than a year.
    check!(greatest > 365 * 24 * 3600 * 1_000_000);
    for time in [greatest + 1, greatest * 2, u64::MAX / 2, u64::MAX] {
        check_eq!(configure(test, context, LEAST, time, 0), error);
        check_eq!(configure(test, context, time, time, 0), error);
        check_eq!(configure(test, context, time, LEAST, 0), error);
    }
    check_eq!(configure(test, context, greatest, greatest, 0), Ok(()));
    check_eq!(configure(test, context, greatest - 1, greatest, 0), Ok(()));
    Ok(())
}

fn times_have_sixty_four_bits(test: &mut Test) -> Outcome {
    let context = context(test)?;
    let long = (1 << 32) + 100;
    check_eq!(configure(test, context, 200, long, 0), Ok(()));
    check_eq!(configure(test, context, 1 << 32, long, 0), Ok(()));
    check_eq!(configure(test, context, long, 200, 0), range(20, 200));
    check_eq!(
        configure(test, context, long + 1, long, 0),
        range_up_to(long)
    );
    Ok(())
}

fn budgets_end_at_the_period(test: &mut Test) -> Outcome {
    let context = context(test)?;
    for (budget, period) in [(21, 20), (1001, 1000), (1 << 40, 5000)] {
        let error = range_up_to(period);
        check_eq!(configure(test, context, budget, period, 0), error);
    }
    Ok(())
}

fn extra_refills_end_with_the_object(test: &mut Test) -> Outcome {
    for bits in MIN_SCHED_CONTEXT_BITS..13 {
        let context: SchedContext = test.create_sized(bits)?;
        let most = refill_capacity(bits) - 2;
        // For round robin the number is not used, but it is checked.
        for (budget, period) in [(1000, 5000), (1000, 1000)] {
            for good in [0, most / 2, most] {
                check_eq!(configure(test, context, budget, period, good), Ok(()));
            }
            for bad in [most + 1, most + 2, usize::MAX - 1, usize::MAX] {
                let result = configure(test, context, budget, period, bad);
                check_eq!(result, range(0, most));
            }
        }
    }
    Ok(())
}

fn checks_are_made_in_order(test: &mut Test) -> Outcome {
    let frame = test.tcb.0;
    let all = range_up_to(greatest(test)?);
    check_eq!(configure(test, frame, 19, 18, usize::MAX), all);
    check_eq!(configure(test, frame, u64::MAX, 18, usize::MAX), all);
    let above = range(LEAST as usize, 50);
    check_eq!(configure(test, frame, 51, 50, usize::MAX), above);
    check_eq!(
        configure(test, frame, 50, 50, usize::MAX),
        Err(Error::InvalidCapability(1))
    );
    Ok(())
}

fn unknown_flags_are_ignored(test: &mut Test) -> Outcome {
    let context = context(test)?;
    for flags in [1, 2, 3, 1 << 31, usize::MAX - 1, usize::MAX] {
        let words = words(1000, 5000, [0, usize::MAX, flags]);
        check_eq!(call(test, &words, &[context.0]), Ok(()));
    }
    Ok(())
}

fn errors_change_nothing(test: &mut Test) -> Outcome {
    let context = context(test)?;
    check_eq!(
        configure(test, context, 1000, 1000, 99),
        range(0, refill_capacity(MIN_SCHED_CONTEXT_BITS) - 2)
    );
    let thread = test.passive(ABOVE, || note('a'))?;
    context.bind(thread.tcb)?;
    thread.start()?;
    // The context is not configured, so it has no budget.
    test.let_others_run()?;
    check_eq!(noted(), "");
    Ok(())
}

fn configuring_lets_a_bound_thread_run(test: &mut Test) -> Outcome {
    let (high, low) = (context(test)?, context(test)?);
    for (context, priority, letter) in [(low, BELOW, 'l'), (high, ABOVE, 'h')] {
        let thread = test.passive(priority, move || note(letter))?;
        context.bind(thread.tcb)?;
        thread.start()?;
    }
    test.let_others_run()?;
    check_eq!(noted(), "");
    configure(test, low, 5000, 5000, 0)?;
    check_eq!(noted(), "");
    configure(test, high, 5000, 5000, 0)?;
    check_eq!(noted(), "h");
    test.let_others_run()?;
    check_eq!(noted(), "hl");
    Ok(())
}

fn configuring_does_not_wake(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let waiting = test.spawn(ABOVE, move || {
        endpoint.wait();
        note('w');
    })?;
    let stopped = test.thread(ABOVE, || note('s'))?;
    for thread in [waiting, stopped] {
        configure(test, thread.sched_context, 5_000_000, 5_000_000, 0)?;
        configure(test, thread.sched_context, 5_000_000, 50_000_000, 0)?;
    }
    check_eq!(noted(), "");
    endpoint.nb_send(Message::empty(0));
    check_eq!(noted(), "w");
    stopped.start()?;
    check_eq!(noted(), "ws");
    Ok(())
}

/// A period longer than any test.
const NEVER: Microseconds = ms(1_000_000);

/// A thread above the test that has given up its budget, and notes a letter if it gets more.
fn exhausted(test: &mut Test) -> Result<Thread> {
    let thread = test.timed(ABOVE, SchedParameters::new(ms(1000), NEVER), || {
        note('a');
        syscall::yield_now();
        note('b');
    })?;
    thread.start()?;
    check_eq!(noted(), "a");
    Ok(thread)
}

fn configuring_the_exhausted_gives_nothing(test: &mut Test) -> Outcome {
    let thread = exhausted(test)?;
    for budget in [us(20), us(100), ms(1), ms(1000)] {
        let parameters = SchedParameters::new(budget, NEVER);
        test.sched_control
            .configure(thread.sched_context, &parameters)?;
        test.sched_control
            .configure(thread.sched_context, &parameters.sporadic())?;
        test.let_others_run()?;
        check_eq!(noted(), "a");
    }
    // A shorter period does not advance replenishments that are already scheduled.
    configure(test, thread.sched_context, 1000, 1001, 0)?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn more_budget_comes_a_period_later(test: &mut Test) -> Outcome {
    let thread = exhausted(test)?;
    let more = SchedParameters::new(ms(5000), NEVER);
    test.sched_control.configure(thread.sched_context, &more)?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn configuring_the_stopped_is_fresh(test: &mut Test) -> Outcome {
    let thread = exhausted(test)?;
    thread.tcb.suspend()?;
    thread.start()?;
    // Suspending and resuming gives no budget.
    check_eq!(noted(), "a");
    thread.tcb.suspend()?;
    let parameters = SchedParameters::new(ms(1000), NEVER);
    test.sched_control
        .configure(thread.sched_context, &parameters)?;
    check_eq!(noted(), "a");
    thread.start()?;
    check_eq!(noted(), "ab");
    Ok(())
}

fn configuring_round_robin_is_fresh(test: &mut Test) -> Outcome {
    let thread = exhausted(test)?;
    test.sched_control.configure(thread.sched_context, &SLICE)?;
    check_eq!(noted(), "ab");
    Ok(())
}

fn configuring_oneself(test: &mut Test) -> Outcome {
    for parameters in [
        SchedParameters::new(ms(50), ms(100)),
        SchedParameters::new(ms(50), ms(100)).sporadic(),
        SchedParameters::new(ms(90), ms(100)),
        SLICE,
    ] {
        let context = test.sched_context;
        check_eq!(test.sched_control.configure(context, &parameters), Ok(()));
        // Without the budget, the test would not get here.
        test.sched_control.configure(context, &SLICE)?;
    }
    // Reduced to the smallest budget, the thread continues when the helper configures more.
    let notification: Notification = test.create()?;
    let (control, context) = (test.sched_control, test.sched_context);
    let helper = test.spawn(BELOW, move || {
        notification.wait();
        let _ = control.configure(context, &SLICE);
    })?;
    test.let_others_run()?;
    test.badge(notification, 1)?.signal();
    configure(test, context, LEAST, 1_000_000_000, 0)?;
    check_eq!(helper.tcb.suspend(), Ok(()));
    Ok(())
}

fn configuring_while_running(test: &mut Test) -> Outcome {
    let mut random = Random::new(77);
    let context: SchedContext = test.create_sized(9)?;
    let notification: Notification = test.create()?;
    let done = test.badge(notification, 1)?;
    static IS_DONE: AtomicBool = AtomicBool::new(false);
    IS_DONE.store(false, Relaxed);
    let tcb: Tcb = test
        .passive(BELOW, move || {
            while !IS_DONE.load(Relaxed) {
                relax();
            }
            done.signal();
        })?
        .tcb;
    context.bind(tcb)?;
    tcb.resume()?;
    for _ in 0..300 {
        let period = 20 + random.below(3000) as u64;
        let budget = 20 + random.below(period as usize - 19) as u64;
        let extra = random.below(refill_capacity(9) - 1);
        let flags = random.below(2);
        let words = words(budget, period, [extra, 0, flags]);
        check_eq!(call(test, &words, &[context.0]), Ok(()));
        if random.below(20) == 0 {
            test.sleep(ms(2))?;
        }
    }
    test.sched_control.configure(context, &SLICE)?;
    IS_DONE.store(true, Relaxed);
    check_eq!(notification.wait(), 1);
    Ok(())
}
