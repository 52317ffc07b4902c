//! Timers for several clients: periodic ones, and ones that end once.

use crate::Microseconds;

/// Timers of each client.
pub const EACH: usize = 4;
/// The shortest period: a client can use no more of the service's time than interrupts at this rate take.
pub const SHORTEST: Microseconds = Microseconds::from_millis(1);
/// The longest time until a timer ends, and the longest period: a year.
pub const LONGEST: Microseconds = Microseconds(365 * 86_400 * 1_000_000);

crate::value! {
    /// Why a timer is not set.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// The caller has no timer of this number.
        NoTimer,
        /// The time is not after the present.
        Past,
        /// The time is more than [`LONGEST`] from now, or the period longer.
        TooLong,
        /// The period is shorter than [`SHORTEST`].
        TooShort,
    }
}

crate::value! {
    /// How a timer has done.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Status {
        /// How often it has ended since its client last asked.
        pub ended: u32,
        /// Whether it will end again.
        pub is_set: bool,
    }
}

crate::protocol! {
    /// Each client has [`EACH`] timers, numbered from 0, and a signal that says that one of them has ended. It comes also
    /// when the service has started: then no timer is set.
    pub mod requests, version 1 {
        /// The time of the service's clock, in which all times are.
        fn now() -> Microseconds;
        /// Sets a timer to end at this time, and not when it was to end before.
        fn once(timer: usize, at: Microseconds) -> Result<(), Refused>;
        /// The same, and again after each period.
        fn periodic(timer: usize, first: Microseconds, period: Microseconds) -> Result<(), Refused>;
        /// Stops a timer. How often it has ended is forgotten.
        fn stop(timer: usize) -> Result<(), Refused>;
        /// How a timer has done.
        fn status(timer: usize) -> Result<Status, Refused>;
    }
}

#[derive(Clone, Copy, Default)]
struct Timer {
    next: Option<Microseconds>,
    /// None if it ends once.
    period: Option<Microseconds>,
    ended: u32,
}

/// The timers of all clients. Client `n` calls with the badge `n + 1`.
pub struct Timers<const CLIENTS: usize>([[Timer; EACH]; CLIENTS]);

impl<const CLIENTS: usize> Default for Timers<CLIENTS> {
    fn default() -> Self {
        Self([[Timer::default(); EACH]; CLIENTS])
    }
}

impl<const CLIENTS: usize> Timers<CLIENTS> {
    fn timer(&mut self, caller: usize, timer: usize) -> Result<&mut Timer, Refused> {
        let client = self.0.get_mut(caller.wrapping_sub(1));
        let timer = client.and_then(|timers| timers.get_mut(timer));
        timer.ok_or(Refused::NoTimer)
    }

    /// Sets a timer: see [`requests::Service::once`] and [`requests::Service::periodic`].
    ///
    /// # Errors
    /// Why it is as before.
    pub fn set(
        &mut self,
        now: Microseconds,
        caller: usize,
        timer: usize,
        first: Microseconds,
        period: Option<Microseconds>,
    ) -> Result<(), Refused> {
        let timer = self.timer(caller, timer)?;
        if first <= now {
            return Err(Refused::Past);
        }
        if period.is_some_and(|period| period < SHORTEST) {
            return Err(Refused::TooShort);
        }
        if first - now > LONGEST || period.is_some_and(|period| period > LONGEST) {
            return Err(Refused::TooLong);
        }
        *timer = Timer {
            next: Some(first),
            period,
            ended: 0,
        };
        Ok(())
    }

    /// Stops a timer.
    ///
    /// # Errors
    /// If the caller has no such timer.
    pub fn stop(&mut self, caller: usize, timer: usize) -> Result<(), Refused> {
        *self.timer(caller, timer)? = Timer::default();
        Ok(())
    }

    /// How often a timer has ended since this was last called, and whether it is set.
    ///
    /// # Errors
    /// If the caller has no such timer.
    pub fn status(&mut self, caller: usize, timer: usize) -> Result<Status, Refused> {
        let timer = self.timer(caller, timer)?;
        Ok(Status {
            ended: core::mem::take(&mut timer.ended),
            is_set: timer.next.is_some(),
        })
    }

    /// Ends the timers whose time has come, in the order of their times, and calls `signal` with the client of each. A
    /// period that was missed as a whole counts, and is not signalled on its own.
    pub fn end(&mut self, now: Microseconds, mut signal: impl FnMut(usize)) {
        // Each turn moves a timer past the present.
        while let Some((client, timer, next)) = self.first().filter(|(.., next)| *next <= now) {
            let missed = match timer.period {
                Some(period) => {
                    let missed = (now - next).0 / period.0;
                    timer.next = Some(next + Microseconds((missed + 1) * period.0));
                    missed
                }
                None => {
                    timer.next = None;
                    0
                }
            };
            let ended = u32::try_from(missed + 1).unwrap_or(u32::MAX);
            timer.ended = timer.ended.saturating_add(ended);
            signal(client);
        }
    }

    /// When the next timer ends.
    pub fn first_end(&mut self) -> Option<Microseconds> {
        self.first().map(|(.., next)| next)
    }

    /// The timer that ends first, with its client and time.
    fn first(&mut self) -> Option<(usize, &mut Timer, Microseconds)> {
        let timers = self.0.iter_mut().enumerate();
        let timers =
            timers.flat_map(|(client, timers)| timers.iter_mut().map(move |one| (client, one)));
        let set = timers.filter_map(|(client, timer)| timer.next.map(|next| (client, timer, next)));
        set.min_by_key(|(.., next)| *next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Microseconds {
        Microseconds::from_millis(milliseconds)
    }

    /// The clients that are signalled at this time.
    fn signalled(timers: &mut Timers<3>, now: Microseconds) -> Vec<usize> {
        let mut clients = Vec::new();
        timers.end(now, |client| clients.push(client));
        clients
    }

    #[test]
    fn timers_end_in_the_order_of_their_times() {
        let mut timers = Timers::<3>::default();
        timers.set(at(0), 3, 0, at(5), None).unwrap();
        timers.set(at(0), 1, 3, at(7), None).unwrap();
        timers.set(at(0), 2, 1, at(6), Some(at(10))).unwrap();
        assert_eq!(timers.first_end(), Some(at(5)));
        assert_eq!(signalled(&mut timers, at(4)), []);
        assert_eq!(signalled(&mut timers, at(5)), [2]);
        assert_eq!(signalled(&mut timers, at(8)), [1, 0]);
        assert_eq!(timers.first_end(), Some(at(16)));
        let once = Status {
            ended: 1,
            is_set: false,
        };
        assert_eq!(timers.status(1, 3), Ok(once));
        assert_eq!(timers.status(1, 3), Ok(Status::default()));
    }

    #[test]
    fn missed_periods_count_and_do_not_move_the_next_one() {
        let mut timers = Timers::<3>::default();
        timers.set(at(0), 1, 0, at(10), Some(at(2))).unwrap();
        assert_eq!(signalled(&mut timers, at(15)), [0]);
        assert_eq!(timers.first_end(), Some(at(16)));
        assert_eq!(timers.status(1, 0).unwrap().ended, 3);
        timers.stop(1, 0).unwrap();
        assert_eq!(timers.first_end(), None);
        assert_eq!(signalled(&mut timers, at(100)), []);
    }

    #[test]
    fn a_clock_that_jumps_takes_no_longer() {
        let mut timers = Timers::<3>::default();
        timers.set(at(0), 1, 0, at(1), Some(SHORTEST)).unwrap();
        assert_eq!(signalled(&mut timers, Microseconds(1 << 62)), [0]);
        assert_eq!(timers.status(1, 0).unwrap().ended, u32::MAX);
    }

    #[test]
    fn what_is_no_timer_is_refused_and_changes_nothing() {
        let mut timers = Timers::<3>::default();
        timers.set(at(50), 1, 0, at(60), Some(at(10))).unwrap();
        let mut set =
            |caller, timer, first, period| timers.set(at(50), caller, timer, first, period);
        for (caller, timer) in [(0, 0), (4, 0), (usize::MAX, 0), (1, EACH), (1, usize::MAX)] {
            let refused = set(caller, timer, at(60), None);
            assert_eq!(refused, Err(Refused::NoTimer), "{caller} {timer}");
        }
        assert_eq!(set(1, 0, at(50), None), Err(Refused::Past));
        assert_eq!(set(1, 0, at(0), Some(at(5))), Err(Refused::Past));
        for period in [Microseconds(0), SHORTEST - Microseconds(1)] {
            assert_eq!(set(1, 0, at(60), Some(period)), Err(Refused::TooShort));
        }
        let late = at(50) + LONGEST + Microseconds(1);
        for (first, period) in [
            (late, None),
            (Microseconds(u64::MAX), None),
            (at(60), Some(LONGEST + Microseconds(1))),
            (at(60), Some(Microseconds(u64::MAX))),
        ] {
            assert_eq!(set(1, 0, first, period), Err(Refused::TooLong));
        }
        assert_eq!(timers.stop(1, EACH), Err(Refused::NoTimer));
        assert_eq!(timers.status(0, 0), Err(Refused::NoTimer));
        assert_eq!(timers.first_end(), Some(at(60)));
    }
}
