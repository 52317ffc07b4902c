//! The real-time clock of PCs (Motorola MC146818 data sheet).

use crate::given::Ports;
use crate::services::dates::{DateTime, Refused};

const INDEX: u16 = 0;
const DATA: u16 = 1;

const SECONDS: u8 = 0;
const SECONDS_OF_ALARM: u8 = 1;
const MINUTES: u8 = 2;
const MINUTES_OF_ALARM: u8 = 3;
const HOURS: u8 = 4;
const HOURS_OF_ALARM: u8 = 5;
const DAY_OF_WEEK: u8 = 6;
const DAY: u8 = 7;
const MONTH: u8 = 8;
const YEAR: u8 = 9;
const STATUS_A: u8 = 10;
const STATUS_B: u8 = 11;
const STATUS_C: u8 = 12;
/// Where PCs have the century (the field CENTURY of ACPI's FADT says so).
const CENTURY: u8 = 0x32;
/// The index's highest bit turns off non-maskable interrupts: it stays clear.
const MOST: u8 = 0x7f;

/// Status A: the registers change soon, or now.
const UPDATES: u8 = 1 << 7;
/// Status B: numbers are binary, and not decimal digits.
const BINARY: u8 = 1 << 2;
/// Status B: hours go up to 23; without it, the highest bit of hours says that it is afternoon.
const HOURS_24: u8 = 1 << 1;
/// Status B: nothing is updated, so that the registers can be written.
const SET: u8 = 1 << 7;
/// Status B: the alarm interrupts, and so do the ends of updates and the periodic interrupt, which nothing here wants.
const ALARM: u8 = 1 << 5;
const OTHERS: u8 = 1 << 6 | 1 << 4;

/// The registers of date and time, in the order of those that are read and written.
const REGISTERS: [u8; 7] = [SECONDS, MINUTES, HOURS, DAY, MONTH, YEAR, CENTURY];

/// The most often that it looks whether an update is over. An update takes 2.3 ms, and a look two calls of the kernel.
const LOOKS: usize = 5000;

/// The clock.
pub struct Rtc(Ports);

impl Rtc {
    /// The clock of a device.
    pub fn new(device: Ports) -> Self {
        Self(device)
    }

    fn read(&self, register: u8) -> u8 {
        self.0.write8(INDEX, register & MOST);
        self.0.read8(DATA)
    }

    fn write(&self, register: u8, value: u8) {
        self.0.write8(INDEX, register & MOST);
        self.0.write8(DATA, value);
    }

    /// Date and time of one instant; none if the registers do not have one.
    pub fn now(&self) -> Option<DateTime> {
        let registers = of_one_instant(|register| self.read(register))?;
        decode(registers, self.read(STATUS_B))
    }

    /// Whether the clock can have this date.
    ///
    /// # Errors
    /// If it cannot.
    pub fn check(&self, date: DateTime) -> Result<(), Refused> {
        encode(date, 0).map(drop).ok_or(Refused::NoDate)
    }

    /// Sets date and time.
    ///
    /// # Errors
    /// If the clock cannot have this date.
    pub fn set(&self, date: DateTime) -> Result<(), Refused> {
        let status = self.read(STATUS_B);
        let registers = encode(date, status).ok_or(Refused::NoDate)?;
        self.write(STATUS_B, status | SET);
        for (register, value) in REGISTERS.into_iter().zip(registers) {
            self.write(register, value);
        }
        self.write(DAY_OF_WEEK, day_of_week(date));
        self.write(STATUS_B, status & !SET);
        Ok(())
    }

    /// Sets the alarm for a date that is to come, or stops it. It interrupts at this time of each day: which one is for the
    /// caller to find out.
    pub fn set_alarm(&self, at: Option<DateTime>) {
        let status = self.read(STATUS_B) & !(ALARM | OTHERS);
        self.write(STATUS_B, status);
        self.acknowledge();
        if let Some([seconds, minutes, hours, ..]) = at.and_then(|at| encode(at, status)) {
            self.write(SECONDS_OF_ALARM, seconds);
            self.write(MINUTES_OF_ALARM, minutes);
            self.write(HOURS_OF_ALARM, hours);
            self.write(STATUS_B, status | ALARM);
        }
    }

    /// Removes the cause of the interrupt.
    pub fn acknowledge(&self) {
        self.read(STATUS_C);
    }
}

/// What the registers contain between two updates. One may begin while they are read: then they are different when they
/// are read again.
fn of_one_instant(read: impl Fn(u8) -> u8) -> Option<[u8; 7]> {
    let registers = || REGISTERS.map(&read);
    (0..LOOKS).find_map(|_| {
        let before = (read(STATUS_A) & UPDATES == 0).then(registers)?;
        (before == registers()).then_some(before)
    })
}

/// What the registers mean.
fn decode(registers: [u8; 7], status: u8) -> Option<DateTime> {
    let [second, minute, hours, day, month, year, century] = registers;
    let number = |value: u8| match status & BINARY {
        0 => (value & 15 <= 9 && value >> 4 <= 9).then_some((value >> 4) * 10 + (value & 15)),
        _ => Some(value),
    };
    let hour = match status & HOURS_24 {
        0 => {
            let hour = number(hours & 0x7f).filter(|hour| (1..=12).contains(hour))?;
            hour % 12 + (hours >> 7) * 12
        }
        _ => number(hours)?,
    };
    let date = DateTime {
        year: u16::from(number(century)?) * 100
            + u16::from(number(year).filter(|&year| year < 100)?),
        month: number(month)?,
        day: number(day)?,
        hour,
        minute: number(minute)?,
        second: number(second)?,
    };
    date.to_unix().map(|_| date)
}

/// The registers that mean a date; none if there is no such date, or it needs more digits.
fn encode(date: DateTime, status: u8) -> Option<[u8; 7]> {
    date.to_unix()?;
    let century = u8::try_from(date.year / 100).ok()?;
    let number = |value: u8| match status & BINARY {
        0 => ((value / 10) << 4) | (value % 10),
        _ => value,
    };
    let hours = match (status & HOURS_24, date.hour) {
        (0, hour) => number((hour + 11) % 12 + 1) | (hour / 12) << 7,
        (_, hour) => number(hour),
    };
    let registers = [
        number(date.second),
        number(date.minute),
        hours,
        number(date.day),
        number(date.month),
        number((date.year % 100) as u8),
        number(century),
    ];
    (century < 100).then_some(registers)
}

/// The day of the week, from Sunday, which is 1. The first day of 1970 was a Thursday.
fn day_of_week(date: DateTime) -> u8 {
    let days = date.to_unix().unwrap_or_default() / 86_400;
    ((days + 4) % 7 + 1) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_between_two_reads_is_seen() {
        let before = [0x59, 0x59, 0x23, 0x31, 0x12, 0x99, 0x19];
        let after = [0, 0, 0, 0x01, 0x01, 0x00, 0x20];
        // The update begins at any read, and is announced a few reads before, or not at all, when the reader was preempted.
        for (begin, notice) in (0..40).flat_map(|begin| [(begin, 0), (begin, 3)]) {
            let reads = core::cell::Cell::new(0);
            let read = |register| {
                let time = reads.replace(reads.get() + 1);
                let place = REGISTERS.iter().position(|&one| one == register);
                match place {
                    Some(place) if time < begin => before[place],
                    Some(place) => after[place],
                    None if (begin - notice..begin).contains(&time) => UPDATES,
                    None => 0,
                }
            };
            let registers = of_one_instant(read).unwrap();
            assert!(
                registers == before || registers == after,
                "{begin}: {registers:x?}"
            );
        }
        assert_eq!(of_one_instant(|_| UPDATES), None);
    }

    #[test]
    fn registers_are_dates_in_each_mode() {
        let shown = |registers, status| decode(registers, status).map(|date| date.to_string());
        let date = Some("2028-02-29 23:59:58".to_string());
        let digits = [0x58, 0x59, 0x23, 0x29, 0x02, 0x28, 0x20];
        assert_eq!(shown(digits, HOURS_24), date);
        assert_eq!(shown([58, 59, 23, 29, 2, 28, 20], HOURS_24 | BINARY), date);
        assert_eq!(shown([0x58, 0x59, 0x91, 0x29, 0x02, 0x28, 0x20], 0), date);
        assert_eq!(shown([58, 59, 128 + 11, 29, 2, 28, 20], BINARY), date);
        let midnight = decode([0, 0, 0x12, 0x29, 0x02, 0x28, 0x20], 0).unwrap();
        let noon = decode([0, 0, 0x92, 0x29, 0x02, 0x28, 0x20], 0).unwrap();
        assert_eq!((midnight.hour, noon.hour), (0, 12));
    }

    #[test]
    fn dates_are_registers_in_each_mode() {
        for hour in 0..24 {
            for date in [(1970, 1, 1), (1999, 12, 31), (2028, 2, 29), (9999, 10, 10)] {
                let (year, month, day) = date;
                let date = DateTime {
                    year,
                    month,
                    day,
                    hour,
                    minute: 59,
                    second: 58,
                };
                for status in [0, BINARY, HOURS_24, HOURS_24 | BINARY] {
                    let registers = encode(date, status).unwrap();
                    assert_eq!(decode(registers, status), Some(date), "{registers:x?}");
                }
            }
        }
        let digits = [0x58, 0x59, 0x23, 0x29, 0x02, 0x28, 0x20];
        let date = decode(digits, HOURS_24).unwrap();
        assert_eq!(encode(date, HOURS_24), Some(digits));
        assert_eq!(encode(date, 0).unwrap()[2], 0x91);
        // It was a Tuesday.
        assert_eq!(day_of_week(date), 3);
        let wrong = [
            DateTime {
                year: 10_000,
                ..date
            },
            DateTime { year: 1969, ..date },
            DateTime { month: 13, ..date },
        ];
        for wrong in wrong {
            assert_eq!(encode(wrong, HOURS_24), None, "{wrong}");
        }
    }

    #[test]
    fn registers_without_a_date_have_none() {
        let good = [0x58, 0x59, 0x23, 0x29, 0x02, 0x28, 0x20];
        for place in 0..good.len() {
            for wrong in [0x0a, 0xff] {
                let mut registers = good;
                registers[place] = wrong;
                assert_eq!(decode(registers, HOURS_24), None, "{place} {wrong:#x}");
            }
        }
        assert_eq!(decode([0; 7], HOURS_24), None);
        assert_eq!(decode([255; 7], HOURS_24 | BINARY), None);
        assert_eq!(decode([0, 0, 0, 1, 1, 0x28, 0x20], 0), None);
    }
}
