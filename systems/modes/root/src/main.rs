//! Which thread keeps its budget in an overload.
//!
//! A display has short deadlines, and therefore the higher priority; a brake has longer ones, but is the
//! critical one. While both use their planned budgets, the processor suffices for both. Then the display gets
//! more than planned, and the brake nearly nothing. Raising the criticality level gives the brake its share
//! back, with one system call, however many threads there are; lowering it gives the display precedence
//! again.
//!
//! Neither thread is involved: they compute, and the root task reads their consumed time from the kernel.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::arch::nops;
use userlib::cap::{SchedContext, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::{BootInfo, Environment, Microseconds, Result, Thread, boot, println, syscall};

/// How long each mode is measured.
const SPAN: Microseconds = Microseconds::from_millis(200);
/// The root task's budget for changing modes.
const CHANGE: Microseconds = Microseconds::from_millis(5);

/// The more critical of the two has the lower priority.
const DISPLAY_PRIORITY: u8 = 120;
const BRAKE_PRIORITY: u8 = 100;
/// The criticality level at which the brake takes precedence.
const EMERGENCY: u8 = 1;

/// Budgets and periods in milliseconds. Frequent preemption splits a budget into several replenishments.
const BRAKE: SchedParameters = time(20, 50).with_extra_refills(8);
const DISPLAY_AS_PLANNED: SchedParameters = time(4, 10).with_extra_refills(8);
const DISPLAY_OVERLOADED: SchedParameters = time(9, 10).with_extra_refills(8);

const fn time(budget: u64, period: u64) -> SchedParameters {
    SchedParameters::new(
        Microseconds::from_millis(budget),
        Microseconds::from_millis(period),
    )
}

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result<usize> {
    let mut environment = Environment::from_boot_info(boot);
    // The root task has the highest priority: it measures once per span, and sleeps in between.
    let own = SchedParameters::new(CHANGE, SPAN);
    environment
        .sched_control
        .configure(boot::SCHED_CONTEXT, &own)?;

    let display = compute(&mut environment, DISPLAY_PRIORITY, DISPLAY_AS_PLANNED)?;
    let brake = compute(&mut environment, BRAKE_PRIORITY, BRAKE)?;
    display.set_name("display");
    brake.set_name("brake");
    brake.tcb.set_criticality(environment.tcb, EMERGENCY)?;
    environment
        .tcb
        .set_criticality(environment.tcb, EMERGENCY)?;
    let control = environment.sched_control;

    println!("                      display   brake");
    let mut good = true;
    let mut watch = |mode: &str, expected: [u64; 2]| -> Result {
        // Discards the measurement of a span that began in another mode.
        let _ = shares([display.sched_context, brake.sched_context])?;
        let shares = shares([display.sched_context, brake.sched_context])?;
        println!("{mode:20} {:6} % {:5} %", shares[0], shares[1]);
        good &= (0..2).all(|index| shares[index].abs_diff(expected[index]) <= TOLERANCE);
        Ok(())
    };
    watch("as planned", [40, 40])?;
    control.configure(display.sched_context, &DISPLAY_OVERLOADED)?;
    watch("overload", [90, 8])?;
    control.set_criticality_level(EMERGENCY)?;
    watch("emergency", [58, 40])?;
    control.set_criticality_level(0)?;
    watch("overload again", [90, 8])?;
    control.configure(display.sched_context, &DISPLAY_AS_PLANNED)?;
    watch("as planned again", [40, 40])?;

    println!("{}as it should be", if good { "" } else { "not " });
    Ok(usize::from(!good))
}

/// Tolerance of shares in hundredths: emulated processors are not exact.
const TOLERANCE: u64 = 5;

/// Starts a thread that computes forever.
fn compute(environment: &mut Environment, priority: u8, time: SchedParameters) -> Result<Thread> {
    let parameters = ThreadParameters {
        priority,
        time: Some(time),
        fault_endpoint: userlib::CPtr::NULL,
    };
    environment.spawn(&parameters, || {
        loop {
            nops();
        }
    })
}

/// Sleeps for a span; returns the shares of it that were used, in hundredths.
fn shares(contexts: [SchedContext; 2]) -> Result<[u64; 2]> {
    for context in contexts {
        context.consumed()?;
    }
    syscall::yield_now();
    let mut shares = [0; 2];
    for (share, context) in shares.iter_mut().zip(contexts) {
        *share = context.consumed()?.0 * 100 / SPAN.0;
    }
    Ok(shares)
}
