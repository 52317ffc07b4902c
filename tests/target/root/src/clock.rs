//! The clock that ends tests which do not end by themselves.
//!
//! It is a thread whose budget is replenished ten times a second: it signals and gives the rest of
//! its budget away. No timer driver is needed, and while the emulator is stopped no time passes: a
//! replenishment that comes late is one tick, not many.

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

/// How long a test may take, in ticks: far longer than any needs, even on a busy host.
pub const PATIENCE: usize = 300;
/// How many ticks a test may take that asked for silence: the first may come at once.
pub const QUIET_PATIENCE: usize = 2;

/// The clock.
pub struct Ticker(SchedContext);

impl Ticker {
    /// Ticks seldom, or as usual.
    pub fn be_silent(&self, environment: &Environment, silent: bool) -> Result {
        let time = if silent { &SILENCE } else { &TICK };
        environment.sched_control.configure(self.0, time)
    }
}

/// Starts the clock: its ticks reach the runner while it receives.
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
