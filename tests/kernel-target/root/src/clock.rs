//! The clock that ends tests which take too long.
//!
//! It is a thread with a budget that is replenished ten times a second: it signals and gives up the rest of
//! its budget. No timer driver is needed, and while the emulator is stopped no time passes: a late
//! replenishment is one tick, not many.

use suite::support::protocol::{BY_CLOCK, QUIET_SECONDS};
use userlib::cap::{Notification, SchedContext, SchedParameters};
use userlib::thread::ThreadParameters;
use userlib::{CPtr, Capability, Environment, Microseconds, Result, Rights, boot, syscall};

const TICK: SchedParameters =
    SchedParameters::new(Microseconds::from_millis(1), Microseconds::from_millis(100));

const SILENCE: SchedParameters = SchedParameters::new(
    Microseconds::from_millis(1),
    Microseconds::from_millis(QUIET_SECONDS * 1000),
);

/// The maximum duration of a test, in ticks: far longer than any test needs, even on a busy host.
pub const PATIENCE: usize = 300;
/// The same in host time, where a test that bounds its own waits takes as long as other programs of the host let it.
pub const PATIENCE_IN_HOST_TIME: usize = 3_000;
/// The same for a test that asked for quiet; the first tick may come at once.
pub const QUIET_PATIENCE: usize = 2;

/// The clock.
pub struct Ticker(SchedContext);

impl Ticker {
    /// Ticks rarely, or as usual.
    pub fn be_silent(&self, environment: &Environment, silent: bool) -> Result {
        let time = if silent { &SILENCE } else { &TICK };
        environment.sched_control.configure(self.0, time)
    }
}

/// Starts the clock: the runner gets the ticks while it receives.
pub fn start(environment: &mut Environment) -> Result<Ticker> {
    let notification: Notification = environment.allocator.create()?;
    let ticks = environment
        .allocator
        .mint(notification, Rights::ALL, BY_CLOCK)?;
    boot::TCB.bind_notification(notification)?;
    let parameters = ThreadParameters {
        priority: u8::MAX,
        time: Some(TICK),
        fault_endpoint: CPtr::NULL.cptr(),
    };
    let thread = environment.spawn(&parameters, move || {
        loop {
            ticks.signal();
            syscall::yield_now();
        }
    })?;
    Ok(Ticker(thread.sched_context))
}
