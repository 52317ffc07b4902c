//! Timers for three clients, on the board's one-shot timer. Passive: a timer is set on the time of its client, and ends on
//! the time that a passive component has until it waits.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::Microseconds;
use userlib::drivers::OneShot;
use userlib::given::Signal;
use userlib::services::timers::{Refused, Status, Timers, requests};
use userlib::time::Clock;

userlib::component!(main);

const CLIENTS: usize = 3;
/// The clock of some boards loses time if it is not read at least every 23 minutes.
const STEP: Microseconds = Microseconds(600_000_000);

struct Service {
    timers: Timers<CLIENTS>,
    device: OneShot,
    clock: Clock,
    clients: [Signal; CLIENTS],
}

fn main(given: Given) {
    let mut service = Service {
        timers: Timers::default(),
        device: OneShot::new(given.timer, given.timer_interrupt),
        clock: given.clock,
        clients: [given.first, given.second, given.third],
    };
    service.turn();
    // After a restart the timers that they had set are gone.
    service.clients.iter().for_each(|client| client.signal());
    given.requests.serve(service)
}

impl requests::Service for Service {
    fn now(&mut self, _: usize) -> Microseconds {
        self.clock.now()
    }

    fn once(&mut self, caller: usize, timer: usize, at: Microseconds) -> Result<(), Refused> {
        self.set(caller, timer, at, None)
    }

    fn periodic(
        &mut self,
        caller: usize,
        timer: usize,
        first: Microseconds,
        period: Microseconds,
    ) -> Result<(), Refused> {
        self.set(caller, timer, first, Some(period))
    }

    fn stop(&mut self, caller: usize, timer: usize) -> Result<(), Refused> {
        // The device may end a time that no timer has: then nothing happens.
        self.timers.stop(caller, timer)
    }

    fn status(&mut self, caller: usize, timer: usize) -> Result<Status, Refused> {
        self.timers.status(caller, timer)
    }

    /// The device's time has ended.
    fn signals(&mut self, _: usize) {
        self.turn();
    }
}

impl Service {
    fn set(
        &mut self,
        caller: usize,
        timer: usize,
        first: Microseconds,
        period: Option<Microseconds>,
    ) -> Result<(), Refused> {
        let now = self.clock.now();
        self.timers.set(now, caller, timer, first, period)?;
        self.turn();
        Ok(())
    }

    /// Ends the timers whose time has come, and sets the device for the next one.
    fn turn(&mut self) {
        let now = self.clock.now();
        self.timers.end(now, |client| self.clients[client].signal());
        match self.timers.first_end() {
            Some(next) => self.device.set((next - now).min(STEP)),
            None if Clock::IS_THE_KERNELS => self.device.stop(),
            None => self.device.set(STEP),
        }
    }
}
