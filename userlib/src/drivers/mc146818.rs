//! The real-time clock of PCs (Motorola MC146818 data sheet).

use crate::given::Ports;
use crate::services::dates::DateTime;

const INDEX: u16 = 0;
const DATA: u16 = 1;

const SECONDS: u8 = 0;
const MINUTES: u8 = 2;
const HOURS: u8 = 4;
const DAY: u8 = 7;
const MONTH: u8 = 8;
const YEAR: u8 = 9;
const STATUS_A: u8 = 10;
const STATUS_B: u8 = 11;
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

    /// Date and time of one instant; none if the registers do not have one.
    pub fn now(&self) -> Option<DateTime> {
        let registers = of_one_instant(|register| self.read(register))?;
        decode(registers, self.read(STATUS_B))
    }
}

/// What the registers contain between two updates. One may begin while they are read: then they are different when they
/// are read again.
fn of_one_instant(read: impl Fn(u8) -> u8) -> Option<[u8; 7]> {
    let registers = || [SECONDS, MINUTES, HOURS, DAY, MONTH, YEAR, CENTURY].map(&read);
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
                let place = [SECONDS, MINUTES, HOURS, DAY, MONTH, YEAR, CENTURY]
                    .iter()
                    .position(|&one| one == register);
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
