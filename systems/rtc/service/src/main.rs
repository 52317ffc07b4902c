//! Tells date and time by the board's clock, sets the clock for one client, and rings at dates. Passive: requests are served on
//! the time of the clients, and alarms ring on the time that a passive component has until it waits.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::drivers::Rtc;
use userlib::given::{Interrupt, Signal};
use userlib::services::dates::{Alarms, DateTime, Refused, requests};

userlib::component!(main);

const CLIENTS: usize = 2;

struct Service {
    clock: Rtc,
    interrupt: Interrupt,
    alarms: Alarms<CLIENTS>,
    /// The badge of the client that may set the clock.
    setter: usize,
    clients: [Signal; CLIENTS],
}

fn main(given: Given) {
    let mut service = Service {
        clock: Rtc::new(given.rtc),
        interrupt: given.rtc_interrupt,
        alarms: Alarms::default(),
        setter: given.setter,
        clients: [given.first, given.second],
    };
    // The clock may have an alarm of earlier times.
    requests::Service::signals(&mut service, 0);
    // After a restart the alarms that they had set are gone.
    service.clients.iter().for_each(|client| client.signal());
    given.requests.serve(service)
}

impl requests::Service for Service {
    fn now(&mut self, _: usize) -> Option<DateTime> {
        self.clock.now()
    }

    fn set(&mut self, caller: usize, date: DateTime) -> Result<(), Refused> {
        if caller != self.setter {
            return Err(Refused::NotYours);
        }
        self.clock.set(date)?;
        self.turn();
        Ok(())
    }

    fn wake(&mut self, caller: usize, at: DateTime) -> Result<(), Refused> {
        self.clock.check(at)?;
        self.alarms.set(self.clock.now(), caller, at)?;
        self.turn();
        Ok(())
    }

    fn stop(&mut self, caller: usize) -> Result<(), Refused> {
        *self.alarms.of(caller)? = None;
        self.turn();
        Ok(())
    }

    fn alarm(&mut self, caller: usize) -> Result<Option<DateTime>, Refused> {
        self.alarms.of(caller).copied()
    }

    /// The clock's alarm has rung.
    fn signals(&mut self, _: usize) {
        self.clock.acknowledge();
        self.interrupt.acknowledge();
        self.turn();
    }
}

impl Service {
    /// Rings the alarms whose dates have come, and sets that of the clock for the next one.
    fn turn(&mut self) {
        while let Some(now) = self.clock.now() {
            self.alarms
                .ring(now, |client| self.clients[client].signal());
            let next = self.alarms.first();
            self.clock.set_alarm(next);
            // The clock rings at no date that has come before it was set for that.
            let has_come = |next| self.clock.now().is_some_and(|now| next <= now);
            if !next.is_some_and(has_come) {
                break;
            }
        }
    }
}
