//! Budgets: a thread may use this much in a period, and no more.
//!
//! An emulator's processor stops whenever its host is busy, which the guest sees as a long instruction. So
//! exact amounts are taken from the kernel's accounting: a budget overrun is charged to later replenishments,
//! and the sum matches again. Of real time, only lower bounds are checked.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::events::{self, note, noted};
use crate::support::{
    ABOVE, BELOW, Outcome, PRIORITY, SLICE, Test, ms, relax, spin, spin_for, spin_until, us,
};
use crate::{check, check_eq};
use userlib::cap::{Endpoint, Notification, Reply, SchedParameters, Tcb};
use userlib::time::Clock;
use userlib::{Fault, Message, Microseconds, syscall};

tests![
    no_budget_means_no_running,
    ten_milliseconds_in_a_hundred,
    ten_milliseconds_in_a_hundred_sporadic,
    interrupted_slices_come_out_even,
    the_smallest_budget_does_not_enter_the_kernel,
    short_slices_compute,
    a_periodic_higher_priority_thread_preempts,
    round_robin_takes_turns,
    preemption_keeps_the_turn,
    yielding_sleeps_for_a_period,
    yielded_time_is_not_consumed,
    extra_refills_bring_time_back_earlier,
    constant_bandwidth_counts_from_the_switch,
    sporadic_servers_count_from_the_wake_up,
    a_hog_leaves_time_to_others,
];

/// Timeslices that do not end during a test.
const LONG: SchedParameters = SchedParameters::round_robin(ms(10_000));

fn no_budget_means_no_running(test: &mut Test) -> Outcome {
    let thread = test.passive(ABOVE, || note('x'))?;
    thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    Ok(())
}

/// The smallest budget, and the kernel's own worst case, in microseconds.
const LEAST: u64 = 20;
const WORST: u64 = 10;

/// Lets a thread that never stops use one budget after another, until its total consumption differs from the
/// sum of the budgets by at most `tolerance`. A busy host sometimes prevents this.
fn come_out_even<F: FnOnce() + Send + 'static>(
    test: &mut Test,
    parameters: SchedParameters,
    tolerance: u64,
    hog: F,
) -> Outcome {
    let (timeouts, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let thread = test.timed(BELOW, parameters, hog)?;
    thread.tcb.set_timeout_endpoint(timeouts)?;
    let (budget, period) = (parameters.budget.0, parameters.period.0);
    let begin = test.now();
    thread.start()?;
    let mut total = 0;
    for slices in 1..=40 {
        let message = timeouts.recv(reply).message.unwrap_or(Message::empty(0));
        let Fault::Timeout { consumed, .. } = Fault::from_message(&message) else {
            check!(false, "no timeout");
            return Ok(());
        };
        // All that was consumed before this budget has been replenished since.
        let elapsed = (test.now() - begin + ms(1)).0;
        check!(
            elapsed >= total / budget * (period - budget),
            "{elapsed} us"
        );
        total += consumed.0;
        // Remaining budget below the smallest budget is not used, and each message rounds down.
        let unused = slices * (LEAST + 1);
        if slices >= 2 && (total + unused) % budget <= unused + tolerance {
            return Ok(());
        }
        reply.send(Message::empty(0));
    }
    check!(false, "the sum never matches the budgets");
    Ok(())
}

/// Makes system calls continuously, so that the kernel notices at once when the budget is exhausted.
fn chatter(test: &mut Test) -> Outcome<impl FnOnce() + Send + 'static> {
    let notification: Notification = test.create()?;
    Ok(move || {
        loop {
            notification.poll();
        }
    })
}

fn ten_milliseconds_in_a_hundred(test: &mut Test) -> Outcome {
    let hog = chatter(test)?;
    come_out_even(test, SchedParameters::new(ms(10), ms(100)), WORST, hog)
}

fn ten_milliseconds_in_a_hundred_sporadic(test: &mut Test) -> Outcome {
    let hog = chatter(test)?;
    let parameters = SchedParameters::new(ms(10), ms(100)).sporadic();
    come_out_even(test, parameters, WORST, hog)
}

fn interrupted_slices_come_out_even(test: &mut Test) -> Outcome {
    // Without system calls, the budget ends with an interrupt, which an emulator delivers late.
    come_out_even(test, SchedParameters::new(ms(10), ms(50)), 2000, || spin())
}

fn the_smallest_budget_does_not_enter_the_kernel(test: &mut Test) -> Outcome {
    // When the thread reaches its system call, less remains than the kernel may need.
    for period in [us(20), ms(1000)] {
        let thread = test.timed(BELOW, SchedParameters::new(us(20), period), || {
            syscall::yield_now();
            note('a');
        })?;
        thread.start()?;
        test.sleep(ms(5))?;
        check_eq!(noted(), "");
        test.sched_control.configure(thread.sched_context, &SLICE)?;
        test.let_others_run()?;
        check_eq!(noted(), "a");
        events::forget();
    }
    Ok(())
}

fn short_slices_compute(test: &mut Test) -> Outcome {
    static COUNTS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
    for count in &COUNTS {
        // An emulator may need all of a smallest budget to leave the kernel, so the timeslice is longer.
        let short = SchedParameters::round_robin(us(500));
        let thread = test.timed(BELOW, short, move || {
            loop {
                count.fetch_add(1, Relaxed);
            }
        })?;
        thread.start()?;
    }
    while COUNTS.iter().any(|count| count.load(Relaxed) < 10) {
        test.sleep(ms(5))?;
    }
    Ok(())
}

fn a_periodic_higher_priority_thread_preempts(test: &mut Test) -> Outcome {
    let begin = test.now();
    let periodic = SchedParameters::new(ms(2), ms(10));
    let thread = test.timed(ABOVE, periodic, || {
        for _ in 0..6 {
            note('p');
            syscall::yield_now();
        }
    })?;
    thread.start()?;
    // The test neither blocks nor yields.
    while events::count() < 6 {}
    check!(test.now() - begin >= ms(50));
    check_eq!(noted(), "pppppp");
    Ok(())
}

/// The letter that was noted last.
static LAST: AtomicUsize = AtomicUsize::new(0);

/// Threads below the test, each of which notes its letter at the start of its turn, for `turns` turns in all.
fn take_turns(test: &mut Test, slice: SchedParameters, letters: &str, turns: usize) -> Outcome {
    for letter in letters.chars() {
        let thread = test.timed(BELOW, slice, move || {
            while events::count() < turns {
                let begins = LAST.swap(letter as usize, Relaxed) != letter as usize;
                if begins && events::count() < turns {
                    note(letter);
                }
            }
        })?;
        thread.start()?;
    }
    Ok(())
}

fn round_robin_takes_turns(test: &mut Test) -> Outcome {
    take_turns(test, SchedParameters::round_robin(ms(30)), "abc", 9)?;
    test.let_others_run()?;
    // The thread that starts last is the first among threads of equal priority.
    check_eq!(noted(), "cbacbacba");
    Ok(())
}

fn preemption_keeps_the_turn(test: &mut Test) -> Outcome {
    take_turns(test, LONG, "abc", 9)?;
    for _ in 0..8 {
        test.sleep(ms(3))?;
    }
    check_eq!(noted(), "c");
    Ok(())
}

fn yielding_sleeps_for_a_period(test: &mut Test) -> Outcome {
    for parameters in [
        SchedParameters::new(ms(10), ms(40)),
        SchedParameters::new(ms(10), ms(40)).sporadic(),
        SchedParameters::new(ms(10), ms(40)).with_extra_refills(6),
    ] {
        test.sched_control.configure(test.sched_context, &SLICE)?;
        let startup = test.startup;
        let thread = test.timed(ABOVE, parameters, move || {
            let clock = Clock::from_startup(startup);
            let begin = clock.now();
            for _ in 0..3 {
                syscall::yield_now();
            }
            // A little of the first period had passed when the clock was read.
            check!(clock.now() - begin >= ms(75));
            note('a');
        })?;
        thread.start()?;
    }
    while events::count() < 3 {}
    Ok(())
}

fn yielded_time_is_not_consumed(test: &mut Test) -> Outcome {
    let much = SchedParameters::new(ms(100_000), ms(1_000_000));
    let thread = test.timed(ABOVE, much, || {
        syscall::yield_now();
        note('a');
    })?;
    thread.start()?;
    check_eq!(noted(), "");
    check!(thread.sched_context.consumed()? < ms(50_000));
    Ok(())
}

/// When a thread woke up: written by that thread.
static TIMES: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Lets a thread work a little at once, twice much later, and yield. Returns when it has budget again,
/// counted from the start.
fn comes_back(test: &mut Test, parameters: SchedParameters) -> Outcome<Microseconds> {
    let notification: Notification = test.create()?;
    let ready = test.badge(notification, 1)?;
    let startup = test.startup;
    let thread = test.timed(ABOVE, parameters, move || {
        let clock = Clock::from_startup(startup);
        for _ in 0..3 {
            notification.wait();
            spin_for(&clock, ms(1));
        }
        syscall::yield_now();
        TIMES[0].store(clock.now().0 as usize, Relaxed);
        note('a');
    })?;
    let begin = test.now();
    thread.start()?;
    ready.signal();
    spin_until(&test.clock, begin + parameters.period - ms(50));
    ready.signal();
    ready.signal();
    let count = events::count();
    while events::count() == count {
        relax();
    }
    let end = TIMES[0].load(Relaxed);
    Ok(Microseconds(end.wrapping_sub(begin.0 as usize) as u64))
}

fn extra_refills_bring_time_back_earlier(test: &mut Test) -> Outcome {
    let few = SchedParameters::new(ms(20), ms(200));
    // There is room for only one replenishment besides the head, so the second delays the first.
    let late = comes_back(test, few)?;
    check!(late >= few.period + ms(100), "{late}");
    // With more replenishments, budget used early is replenished early; a busy host may sometimes hide that.
    for _ in 0..10 {
        let early = comes_back(test, few.with_extra_refills(6))?;
        // A remaining budget that is too small brings the next replenishment forward by its length.
        check!(early + us(LEAST) >= few.period, "{early}");
        if early < few.period + ms(100) {
            return Ok(());
        }
    }
    check!(false, "it is never back early");
    Ok(())
}

/// Wakes a thread that cannot run for a while because the test has a higher priority, and that yields when it
/// runs. Returns the time from its first to its second run.
fn delayed(test: &mut Test, parameters: SchedParameters) -> Outcome<Microseconds> {
    let notification: Notification = test.create()?;
    let ready = test.badge(notification, 1)?;
    let startup = test.startup;
    let thread = test.timed(BELOW, parameters, move || {
        let clock = Clock::from_startup(startup);
        notification.wait();
        TIMES[0].store(clock.now().0 as usize, Relaxed);
        syscall::yield_now();
        TIMES[1].store(clock.now().0 as usize, Relaxed);
        note('a');
    })?;
    thread.start()?;
    test.let_others_run()?;
    // The budget used so far is replenished.
    test.sleep(parameters.period)?;
    ready.signal();
    spin_for(&test.clock, ms(100));
    let count = events::count();
    while events::count() == count {
        test.sleep(ms(5))?;
    }
    let [first, second] = [0, 1].map(|index| TIMES[index].load(Relaxed));
    Ok(Microseconds(second.wrapping_sub(first) as u64))
}

fn constant_bandwidth_counts_from_the_switch(test: &mut Test) -> Outcome {
    let parameters = SchedParameters::new(ms(20), ms(150));
    let delay = delayed(test, parameters)?;
    // A little was used between the switch and the reading of the clock.
    check!(delay + ms(20) >= parameters.period, "{delay}");
    Ok(())
}

fn sporadic_servers_count_from_the_wake_up(test: &mut Test) -> Outcome {
    let parameters = SchedParameters::new(ms(20), ms(150)).sporadic();
    for _ in 0..10 {
        // A busy host may sometimes hide it.
        if delayed(test, parameters)? < ms(110) {
            return Ok(());
        }
    }
    check!(false, "the wake-up never counts");
    Ok(())
}

fn a_hog_leaves_time_to_others(test: &mut Test) -> Outcome {
    let hog = test.timed(u8::MAX - 1, SchedParameters::new(ms(2), ms(20)), || spin())?;
    test.tcb.set_priority(test.tcb, PRIORITY)?;
    let begin = test.now();
    hog.start()?;
    let mut used = Microseconds(0);
    // One tenth, plus what a busy host adds for a while.
    loop {
        spin_for(&test.clock, ms(100));
        used = used + hog.sched_context.consumed()?;
        let elapsed = test.now() - begin;
        check!(used >= ms(1));
        if used.0 <= elapsed.0 / 8 {
            let stopped: Tcb = hog.tcb;
            stopped.suspend()?;
            return Ok(());
        }
    }
}
