//! Date and time, and alarms for several clients.

use core::fmt;

crate::value! {
    /// A date of the Gregorian calendar, and the time of the day, as the clock of the board has them.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct DateTime {
        /// From 1970 on.
        pub year: u16,
        /// From 1.
        pub month: u8,
        /// From 1.
        pub day: u8,
        /// Up to 23.
        pub hour: u8,
        /// Up to 59.
        pub minute: u8,
        /// Up to 59.
        pub second: u8,
    }
}

crate::value! {
    /// Why a request does nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// The caller may not do this.
        NotYours,
        /// There is no such date, or the clock cannot have it.
        NoDate,
        /// The clock has no date.
        NoClock,
        /// The date is not after the present.
        Past,
        /// The clock of this board is only read.
        ReadOnly,
    }
}

crate::protocol! {
    /// The real-time clock. Each client has an alarm, and a signal that says that it has rung. The signal comes also when
    /// the service has started: then no alarm is set.
    pub mod requests, version 2 {
        /// Date and time; none if the clock has none, or is broken.
        fn now() -> Option<DateTime>;
        /// Sets the clock. Alarms for dates that have come with this ring.
        fn set(date: DateTime) -> Result<(), Refused>;
        /// Sets the alarm: it rings once, when the clock has this date or a later one, and no longer as it was set before.
        fn wake(at: DateTime) -> Result<(), Refused>;
        /// Stops the alarm.
        fn stop() -> Result<(), Refused>;
        /// When the alarm will ring; none if it is not set, or has rung.
        fn alarm() -> Result<Option<DateTime>, Refused>;
    }
}

/// The alarms of all clients. Client `n` calls with the badge `n + 1`.
pub struct Alarms<const CLIENTS: usize>([Option<DateTime>; CLIENTS]);

impl<const CLIENTS: usize> Default for Alarms<CLIENTS> {
    fn default() -> Self {
        Self([None; CLIENTS])
    }
}

impl<const CLIENTS: usize> Alarms<CLIENTS> {
    /// The alarm of the caller, to be set or stopped.
    ///
    /// # Errors
    /// If there is no such client.
    pub fn of(&mut self, caller: usize) -> Result<&mut Option<DateTime>, Refused> {
        let alarm = self.0.get_mut(caller.wrapping_sub(1));
        alarm.ok_or(Refused::NotYours)
    }

    /// Sets the alarm of the caller.
    ///
    /// # Errors
    /// Why it is as before.
    pub fn set(
        &mut self,
        now: Option<DateTime>,
        caller: usize,
        at: DateTime,
    ) -> Result<(), Refused> {
        let alarm = self.of(caller)?;
        at.to_unix().ok_or(Refused::NoDate)?;
        if at <= now.ok_or(Refused::NoClock)? {
            return Err(Refused::Past);
        }
        *alarm = Some(at);
        Ok(())
    }

    /// Calls `signal` with each client whose alarm rings at a date.
    pub fn ring(&mut self, now: DateTime, mut signal: impl FnMut(usize)) {
        for (client, alarm) in self.0.iter_mut().enumerate() {
            if alarm.take_if(|at| *at <= now).is_some() {
                signal(client);
            }
        }
    }

    /// When the next alarm rings.
    pub fn first(&self) -> Option<DateTime> {
        self.0.iter().flatten().min().copied()
    }
}

const SECONDS_OF_DAY: u64 = 86_400;

impl DateTime {
    /// So many seconds after the beginning of 1970; none after the year 65535.
    pub fn from_unix(seconds: u64) -> Option<Self> {
        let (days, rest) = (seconds / SECONDS_OF_DAY, (seconds % SECONDS_OF_DAY) as u32);
        // Years begin with March, so that a leap day is the last one of its year; 400 years have as many days as any
        // other 400 (E. G. Richards, "Calendars", in: Explanatory Supplement to the Astronomical Almanac, 3rd edition,
        // section 15.11).
        let days = days + 719_468;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, later) = if month < 10 {
            (month + 3, 0)
        } else {
            (month - 9, 1)
        };
        Some(Self {
            year: u16::try_from(400 * era + year + later).ok()?,
            month: month as u8,
            day: day as u8,
            hour: (rest / 3600) as u8,
            minute: (rest / 60 % 60) as u8,
            second: (rest % 60) as u8,
        })
    }

    /// The seconds since the beginning of 1970; none if there is no such date or time.
    pub fn to_unix(self) -> Option<u64> {
        let (year, month, day) = (
            u64::from(self.year),
            u64::from(self.month),
            u64::from(self.day),
        );
        if year < 1970
            || !(1..=12).contains(&month)
            || self.hour > 23
            || self.minute > 59
            || self.second > 59
        {
            return None;
        }
        let (year, month) = if month > 2 {
            (year, month - 3)
        } else {
            (year - 1, month + 9)
        };
        let before = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5;
        let days = (before + day).checked_sub(719_469)?;
        let of_day =
            u64::from(self.hour) * 3600 + u64::from(self.minute) * 60 + u64::from(self.second);
        let seconds = days * SECONDS_OF_DAY + of_day;
        // A day that its month does not have is one of another month.
        (Self::from_unix(seconds) == Some(self)).then_some(seconds)
    }
}

/// As ISO 8601 has it, with a space between date and time.
impl fmt::Display for DateTime {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            year,
            month,
            day,
            hour,
            minute,
            second,
        } = self;
        write!(
            out,
            "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> DateTime {
        DateTime::from_unix(seconds).unwrap()
    }

    /// The clients whose alarms ring at this time.
    fn rung(alarms: &mut Alarms<3>, seconds: u64) -> Vec<usize> {
        let mut clients = Vec::new();
        alarms.ring(at(seconds), |client| clients.push(client));
        clients
    }

    #[test]
    fn alarms_ring_once_when_their_dates_have_come() {
        let mut alarms = Alarms::<3>::default();
        assert_eq!(alarms.first(), None);
        let now = Some(at(100));
        alarms.set(now, 3, at(120)).unwrap();
        alarms.set(now, 1, at(110)).unwrap();
        alarms.set(now, 2, at(119)).unwrap();
        assert_eq!(alarms.first(), Some(at(110)));
        assert_eq!(rung(&mut alarms, 109), []);
        assert_eq!(rung(&mut alarms, 110), [0]);
        assert_eq!(*alarms.of(1).unwrap(), None);
        // The clock was set.
        assert_eq!(rung(&mut alarms, 5000), [1, 2]);
        assert_eq!(alarms.first(), None);
    }

    #[test]
    fn an_alarm_that_is_refused_is_as_before() {
        let mut alarms = Alarms::<3>::default();
        let now = Some(at(100));
        alarms.set(now, 1, at(110)).unwrap();
        for (now, caller, date, refused) in [
            (now, 0, at(120), Refused::NotYours),
            (now, 4, at(120), Refused::NotYours),
            (now, usize::MAX, at(120), Refused::NotYours),
            (None, 1, at(120), Refused::NoClock),
            (now, 1, at(100), Refused::Past),
            (now, 1, at(99), Refused::Past),
            (now, 1, DateTime { day: 0, ..at(120) }, Refused::NoDate),
        ] {
            assert_eq!(alarms.set(now, caller, date), Err(refused), "{date}");
        }
        assert_eq!(alarms.first(), Some(at(110)));
    }

    fn shown(seconds: u64) -> String {
        DateTime::from_unix(seconds).unwrap().to_string()
    }

    #[test]
    fn seconds_are_dates() {
        // By `date -u -d @SECONDS`.
        for (seconds, date) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_399, "2000-02-28 23:59:59"),
            (951_782_400, "2000-02-29 00:00:00"),
            (1_709_251_199, "2024-02-29 23:59:59"),
            (4_107_542_399, "2100-02-28 23:59:59"),
            (4_107_542_400, "2100-03-01 00:00:00"),
            (u64::from(u32::MAX), "2106-02-07 06:28:15"),
        ] {
            assert_eq!(shown(seconds), date);
        }
        assert_eq!(DateTime::from_unix(u64::MAX), None);
    }

    #[test]
    fn each_day_follows_the_last_one() {
        let mut before = DateTime::from_unix(0).unwrap();
        for day in 1..200_000 {
            let date = DateTime::from_unix(day * SECONDS_OF_DAY + 86_399).unwrap();
            assert_eq!(date.to_unix(), Some(day * SECONDS_OF_DAY + 86_399));
            let is_next =
                (date.year, date.month, date.day) == (before.year, before.month, before.day + 1);
            let is_first = date.day == 1 && before.day >= 28;
            assert!(is_next || is_first, "{before} {date}");
            before = date;
        }
    }

    #[test]
    fn what_is_no_date_has_no_seconds() {
        let good = DateTime::from_unix(951_782_399).unwrap();
        assert_eq!(good.to_unix(), Some(951_782_399));
        for bad in [
            DateTime { year: 1969, ..good },
            DateTime { month: 0, ..good },
            DateTime { month: 13, ..good },
            DateTime { day: 0, ..good },
            DateTime { day: 30, ..good },
            DateTime { day: 255, ..good },
            DateTime {
                year: 2001,
                day: 29,
                ..good
            },
            DateTime { hour: 24, ..good },
            DateTime { minute: 60, ..good },
            DateTime { second: 60, ..good },
        ] {
            assert_eq!(bad.to_unix(), None, "{bad}");
        }
    }
}
