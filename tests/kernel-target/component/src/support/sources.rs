//! Sources of time of user-level schedulers, for tests with each of them.
#![allow(unused_macros, reason = "a build for some of the tests may use none")]

use super::{ABOVE, Outcome, Test, fail};
use userlib::cap::{Endpoint, Notification, Reply};
use userlib::drivers::BoardTimer;
use userlib::time::{TimeClient, TimeServer};
use userlib::{Result, Rights};

/// Runs a scenario, a function of a dispatcher that returns the source of time, with each source that permits threads of
/// higher priority on the core. `$make` makes a dispatcher with a source.
macro_rules! beside_others {
    ($test:ident, $make:expr, $scenario:expr) => {{
        use ::dispatcher::source::{OwnTimer, SharedTimer, YieldToTimeout};
        use $crate::support::{events::forget, sources};
        forget();
        let make = |test: &mut _| $make(test, |_, context| Ok(YieldToTimeout::new(context)));
        sources::run($test, make, $scenario)?;
        if let Some(timer) = sources::timer($test)? {
            forget();
            let clock = $test.clock.clone();
            let make = |test: &mut _| {
                $make(test, |environment, _| {
                    OwnTimer::new(environment, timer, clock)
                })
            };
            let timer = sources::run($test, make, $scenario)?.release($test)?;
            forget();
            let (clock, client) = ($test.clock.clone(), sources::time_server($test, timer)?);
            let make = |test: &mut _| $make(test, |_, _| Ok(SharedTimer::new(clock, client)));
            sources::run($test, make, $scenario)?;
        }
        Ok(())
    }};
}

/// The same with each source.
macro_rules! with_each_source {
    ($test:ident, $make:expr, $scenario:expr) => {{
        $crate::support::events::forget();
        let (clock, control) = ($test.clock.clone(), $test.sched_control);
        let make = |test: &mut _| {
            $make(test, |_, _| {
                Ok(::dispatcher::source::TimeoutFaults::new(clock, control))
            })
        };
        $crate::support::sources::run($test, make, $scenario)?;
        $crate::support::sources::beside_others!($test, $make, $scenario)
    }};
}

pub(crate) use {beside_others, with_each_source};

/// Runs a scenario with a dispatcher. It is on the stack only meanwhile, which has too little room for several.
#[inline(never)]
pub fn run<D, S>(
    test: &mut Test,
    make: impl FnOnce(&mut Test) -> Result<D>,
    scenario: impl FnOnce(&mut Test, D) -> Outcome<S>,
) -> Outcome<S> {
    let dispatcher = make(test)?;
    scenario(test, dispatcher)
}

/// The timer, if users have it: not every kernel gives it to them, and on i.MX boards the runner has its registers.
pub fn timer(test: &mut Test) -> Result<Option<BoardTimer>> {
    let is_there =
        BoardTimer::IS_THERE && !cfg!(any(feature = "devices-imx31", feature = "devices-imx6"));
    is_there.then(|| BoardTimer::open(test)).transpose()
}

/// The same timer behind a server, whose client is the test's first thread.
pub fn time_server(test: &mut Test, timer: BoardTimer) -> Result<TimeClient> {
    let wake: Notification = test.create()?;
    test.tcb.bind_notification(wake)?;
    let (requests, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let interrupt = timer.notification();
    let server = TimeServer::new(timer, test.clock.clone(), [wake]);
    let server = test.thread(ABOVE, move || {
        let Err(error) = server.serve(requests, reply);
        fail(format_args!("{error:?}"));
    })?;
    server.tcb.bind_notification(interrupt)?;
    server.start()?;
    Ok(TimeClient(test.allocator.mint(requests, Rights::ALL, 1)?))
}
