//! Date and time.

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

crate::protocol! {
    /// The real-time clock.
    pub mod requests, version 1 {
        /// Date and time; none if the clock has none, or is broken.
        fn now() -> Option<DateTime>;
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
