//! Pins of general-purpose I/O for two clients, each of which has some of them. Passive: requests are served on the time of
//! the clients, and interrupts on the time that a passive component has until it waits.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::drivers::Gpio;
use userlib::given::{Interrupt, Signal};
use userlib::services::pins::{Direction, PINS, Refused, Trigger, WATCHABLE, requests};

userlib::component!(main);

const CLIENTS: usize = 2;

struct Service {
    port: Gpio,
    interrupt: Interrupt,
    /// The pins of each client, one bit each. Client `n` calls with the badge `n + 1`.
    pins: [usize; CLIENTS],
    clients: [Signal; CLIENTS],
}

fn main(given: Given) {
    let port = Gpio::new(given.gpio);
    given.gpio_interrupt.acknowledge();
    given.requests.serve(Service {
        port,
        interrupt: given.gpio_interrupt,
        pins: [given.first_pins, given.second_pins],
        clients: [given.first, given.second],
    })
}

impl Service {
    /// Refuses pins that are not the caller's.
    fn check(&self, caller: usize, pin: usize) -> Result<(), Refused> {
        let pins = self.pins.get(caller.wrapping_sub(1)).copied();
        let is_own = pin < PINS && pins.unwrap_or_default() >> pin & 1 != 0;
        is_own.then_some(()).ok_or(Refused::NotYours)
    }

    fn check_direction(
        &self,
        caller: usize,
        pin: usize,
        direction: Direction,
    ) -> Result<(), Refused> {
        self.check(caller, pin)?;
        let has_it = self.port.direction(pin) == direction;
        has_it.then_some(()).ok_or(Refused::OtherDirection)
    }
}

impl requests::Service for Service {
    fn turn(&mut self, caller: usize, pin: usize, direction: Direction) -> Result<(), Refused> {
        self.check(caller, pin)?;
        self.port.ignore(pin);
        self.port.turn(pin, direction);
        Ok(())
    }

    fn set(&mut self, caller: usize, pin: usize, is_high: bool) -> Result<(), Refused> {
        self.check_direction(caller, pin, Direction::Output)?;
        self.port.set(pin, is_high);
        Ok(())
    }

    fn read(&mut self, caller: usize, pin: usize) -> Result<bool, Refused> {
        self.check(caller, pin)?;
        Ok(self.port.read(pin))
    }

    fn watch(&mut self, caller: usize, pin: usize, trigger: Trigger) -> Result<(), Refused> {
        self.check_direction(caller, pin, Direction::Input)?;
        if pin >= WATCHABLE {
            return Err(Refused::NoInterrupt);
        }
        self.port.watch(pin, trigger);
        Ok(())
    }

    fn is_watched(&mut self, caller: usize, pin: usize) -> Result<bool, Refused> {
        self.check(caller, pin)?;
        Ok(self.port.is_watched(pin))
    }

    /// Pins have interrupted.
    fn signals(&mut self, _: usize) {
        let pins = self.port.take() as usize;
        // The interrupt comes as long as a pin gives cause.
        self.interrupt.acknowledge();
        for (own, client) in self.pins.iter().zip(&self.clients) {
            if own & pins != 0 {
                client.signal();
            }
        }
    }
}
