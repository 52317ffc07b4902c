//! Durations and sizes, written with their units.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// A length of time, in nanoseconds. In a description it is a text such as `"2.5 ms"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Duration(u64);

/// An amount of memory, in bytes. In a description it is a text such as `"64 KiB"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(u64);

/// A unit and its value, smallest first.
type Units = &'static [(&'static str, u64)];

const DURATIONS: Units = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
];
const SIZES: Units = &[
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

impl Duration {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// From nanoseconds.
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// From microseconds.
    pub const fn from_micros(microseconds: u64) -> Self {
        Self(microseconds * 1_000)
    }

    /// From milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1_000_000)
    }

    /// Nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Whole microseconds, the kernel's unit.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// Whether it is a whole number of microseconds.
    pub const fn is_whole_micros(self) -> bool {
        self.0.is_multiple_of(1_000)
    }

    /// The sum, or the longest duration if that is longer.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Size {
    /// A page, the unit of memory mappings.
    pub const PAGE: Self = Self(4096);

    /// From bytes.
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Bytes.
    pub const fn as_bytes(self) -> u64 {
        self.0
    }

    /// Whether it is a whole number of pages.
    pub const fn is_whole_pages(self) -> bool {
        self.0.is_multiple_of(Self::PAGE.0)
    }
}

/// Reads a decimal number with a unit, exactly.
fn parse(text: &str, units: Units, example: &str) -> Result<u64, String> {
    let names = || {
        units
            .iter()
            .map(|unit| unit.0)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let text = text.trim();
    let end = text
        .find(|letter: char| !letter.is_ascii_digit() && !matches!(letter, '.' | '_'))
        .unwrap_or(text.len());
    let (number, unit) = (text[..end].replace('_', ""), text[end..].trim_start());
    let (whole, part) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || part.contains('.') {
        return Err(format!(
            "`{text}` is no number with a unit, such as `{example}`"
        ));
    }
    let unit = match unit {
        "" => return Err(format!("`{text}` has no unit; the units are {}", names())),
        "µs" | "μs" => "us",
        unit => unit,
    };
    let Some((_, factor)) = units.iter().find(|known| known.0 == unit) else {
        return Err(format!(
            "there is no unit `{unit}`; the units are {}",
            names()
        ));
    };
    let too_large = || format!("`{text}` is too large; write a smaller one");
    let digits: u128 = format!("{whole}{part}").parse().map_err(|_| too_large())?;
    let places = u32::try_from(part.len()).ok();
    let divisor = places.and_then(|places| 10_u128.checked_pow(places));
    let product = digits.checked_mul(u128::from(*factor));
    let (Some(product), Some(divisor)) = (product, divisor) else {
        return Err(too_large());
    };
    if !product.is_multiple_of(divisor) {
        let smallest = units[0].0;
        return Err(format!("`{text}` is no whole number of {smallest}"));
    }
    u64::try_from(product / divisor).map_err(|_| too_large())
}

impl FromStr for Duration {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, DURATIONS, "10 ms").map(Self)
    }
}

impl FromStr for Size {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        parse(text, SIZES, "64 KiB").map(Self)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let fits = |unit: &&(&str, u64)| unit.0 != "min" && self.0 >= unit.1;
        let (name, factor) = DURATIONS.iter().rev().find(fits).unwrap_or(&DURATIONS[0]);
        let (whole, rest) = (self.0 / factor, self.0 % factor);
        if rest == 0 {
            return write!(out, "{whole} {name}");
        }
        let places = factor.ilog10() as usize;
        let part = format!("{rest:0places$}");
        write!(out, "{whole}.{} {name}", part.trim_end_matches('0'))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let divides = |unit: &&(&str, u64)| self.0 >= unit.1 && self.0.is_multiple_of(unit.1);
        let (name, factor) = SIZES.iter().rev().find(divides).unwrap_or(&SIZES[0]);
        write!(out, "{} {name}", self.0 / factor)
    }
}

/// Reads a text with a unit; a bare number is refused with a proposal.
struct Quantity {
    expecting: &'static str,
    unit: &'static str,
}

impl Visitor<'_> for Quantity {
    type Value = String;

    fn expecting(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(self.expecting)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<String, E> {
        let unit = self.unit;
        Err(E::custom(format_args!(
            "{number} has no unit; write for example \"{number} {unit}\""
        )))
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let quantity = Quantity {
            expecting: "a duration such as \"10 ms\"",
            unit: "ms",
        };
        let text = from.deserialize_any(quantity)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let quantity = Quantity {
            expecting: "a size such as \"64 KiB\"",
            unit: "KiB",
        };
        let text = from.deserialize_any(quantity)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// A text that is read as exactly this size.
impl Serialize for Size {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_exact() {
        for (text, nanoseconds) in [
            ("10 ms", 10_000_000),
            ("2.5ms", 2_500_000),
            ("0.3 us", 300),
            ("1_000 µs", 1_000_000),
            ("2 min", 120_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Duration(nanoseconds)), "{text}");
        }
    }

    #[test]
    fn quantities_are_shown_as_they_are_written() {
        for text in ["10 ms", "2.5 ms", "300 ns", "20 us", "90 s", "1.000001 ms"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
        for text in ["0 B", "100 B", "64 KiB", "1536 KiB", "2 GiB"] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn bad_quantities_are_refused_in_one_sentence() {
        let duration = |text: &str| text.parse::<Duration>().unwrap_err();
        assert_eq!(
            duration("10"),
            "`10` has no unit; the units are ns, us, ms, s, min"
        );
        assert_eq!(
            duration("10 KiB"),
            "there is no unit `KiB`; the units are ns, us, ms, s, min"
        );
        for text in ["", "ms", "1.2.3 ms", ".5 ms"] {
            assert!(
                duration(text).contains("is no number with a unit"),
                "{text}"
            );
        }
        assert_eq!(duration("0.5 ns"), "`0.5 ns` is no whole number of ns");
        assert_eq!(
            duration("99999999999999999999 s"),
            "`99999999999999999999 s` is too large; write a smaller one"
        );
        assert!(
            duration(&format!("1.{} s", "0".repeat(60)))
                .ends_with("is too large; write a smaller one")
        );
        assert_eq!(
            "1 kB".parse::<Size>().unwrap_err(),
            "there is no unit `kB`; the units are B, KiB, MiB, GiB"
        );
    }
}
