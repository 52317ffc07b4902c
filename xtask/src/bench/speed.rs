//! The page that compares with seL4, operation by operation.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::measurement::{Measurement, number};
use super::reference::Platform;

/// seL4's figures, and the aims.
const AIMS: &str = include_str!("../../../benches/aims.toml");
/// The platforms that are compared, in the order of the columns.
const PLATFORMS: [&str; 3] = ["pc99", "hikey", "sabre"];
/// The operation of the suite `size` that is the state of a core.
pub(super) const PER_CORE: &str = "per-core";
/// An older processor that is compared with a newer one, and the maximum ratio.
const OLDER: (&str, &str, f64) = ("kzm", "sabre", 1.1);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Aims {
    operation: Vec<Aim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Aim {
    /// The name of the operation.
    name: String,
    /// The ratio to the other kernel's figure that is aimed at.
    aim: f64,
    /// The same on platforms on which it is another one.
    #[serde(default)]
    aim_of: BTreeMap<String, f64>,
    suite: String,
    operation: String,
    parameters: Map<String, Value>,
    /// The other kernel's figures, by platform.
    sel4: BTreeMap<String, f64>,
}

impl Aim {
    fn is_about(&self, one: &Measurement) -> bool {
        (&one.suite, &one.operation) == (&self.suite, &self.operation)
            && one.parameters == self.parameters
    }

    /// The ratio that is aimed at, and the platforms with another one.
    fn aims(&self) -> String {
        let mut text = format!("{:.2}", self.aim);
        for (name, aim) in &self.aim_of {
            let _ = write!(text, ", {name} {aim:.2}");
        }
        text
    }

    /// The figures of Escapement and of the other kernel, and the ratio, in bold if the aim is reached.
    fn cell(&self, (name, list): &Platform) -> String {
        let Some(ours) = list.iter().find(|one| self.is_about(one)) else {
            return String::new();
        };
        let Some(other) = self.sel4.get(name) else {
            return number(ours.mean.round());
        };
        let aim = self.aim_of.get(name).unwrap_or(&self.aim);
        compared(ours.mean, *other, *aim)
    }

    /// The same for the older processor and the newer one.
    fn older_cell(&self, platforms: &[Platform]) -> String {
        let mean = |name| {
            let (_, list) = platforms.iter().find(|(other, _)| other == name)?;
            Some(list.iter().find(|one| self.is_about(one))?.mean)
        };
        let (older, newer, most) = OLDER;
        match (mean(older), mean(newer)) {
            (Some(older), Some(newer)) => compared(older, newer, most),
            _ => String::new(),
        }
    }
}

/// Two figures and their ratio, in bold if it does not exceed `aim`.
fn compared(one: f64, other: f64, aim: f64) -> String {
    let ratio = one / other;
    let mark = if ratio <= aim { "**" } else { "" };
    format!("{one:.0} / {other:.0} = {mark}{ratio:.2}{mark}")
}

/// The table.
pub(super) fn page(platforms: &[Platform]) -> String {
    let aims: Aims = toml::from_str(AIMS).expect("a test reads it");
    let columns = PLATFORMS.map(|name| platforms.iter().find(|(other, _)| other == name));
    let mut text = String::from("\n| operation | aim |");
    for name in PLATFORMS {
        let _ = write!(text, " {name} |");
    }
    let (older, newer, _) = OLDER;
    let _ = writeln!(text, " {older} : {newer} |");
    let _ = writeln!(text, "|---|--:|{}", "--:|".repeat(PLATFORMS.len() + 1));
    for aim in &aims.operation {
        let _ = write!(text, "| {} | {} |", aim.name, aim.aims());
        for column in columns {
            let _ = write!(
                text,
                " {} |",
                column.map_or(String::new(), |column| aim.cell(column))
            );
        }
        let _ = writeln!(text, " {} |", aim.older_cell(platforms));
    }
    text
}

/// The same operations in kernels of kind `small`, beside those of other kernels, and the bytes of code.
pub(super) fn small(plain: &[Platform], small: &[Platform]) -> String {
    let aims: Aims = toml::from_str(AIMS).expect("a test reads it");
    if small.is_empty() {
        return String::new();
    }
    let of = |platforms: &[Platform], name: &str, is_wanted: &dyn Fn(&Measurement) -> bool| {
        let (_, list) = platforms.iter().find(|(other, _)| other == name)?;
        Some(list.iter().find(|one| is_wanted(one))?.mean)
    };
    let mut text = String::from("\n## Kernels of kind `small`\n\n| operation |");
    for (name, _) in small {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(text, "\n|---|{}", "--:|".repeat(small.len()));
    let mut row = |title: &str, is_wanted: &dyn Fn(&Measurement) -> bool| {
        let _ = write!(text, "| {title} |");
        for (name, _) in small {
            let pair = (of(small, name, is_wanted), of(plain, name, is_wanted));
            let cell = match pair {
                (Some(small), Some(plain)) => {
                    format!("{small:.0} / {plain:.0} = {:.2}", small / plain)
                }
                _ => String::new(),
            };
            let _ = write!(text, " {cell} |");
        }
        text.push('\n');
    };
    for aim in &aims.operation {
        row(&aim.name, &|one| aim.is_about(one));
    }
    row("bytes of code", &|one| {
        one.suite == "size" && one.parameters() == "section text"
    });
    row("bytes of a core's state", &|one| {
        one.suite == "size" && one.operation == PER_CORE
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(operation: &str, mean: f64) -> Measurement {
        let parameters = Map::from_iter([("pages".to_string(), Value::from(1))]);
        Measurement::new("memory", operation, parameters, "instructions", &[mean]).unwrap()
    }

    #[test]
    fn an_aim_that_is_reached_is_bold() {
        let pc = vec![measured("map", 500.0), measured("protect", 700.0)];
        let text = page(&[("pc99".into(), pc)]);
        assert!(
            text.contains("| map a page | 0.60 | 500 / 834 = **0.60** |  |  |  |\n"),
            "{text}"
        );
        assert!(
            text.contains("| protect a page | 0.60 | 700 / 835 = 0.84 |  |  |  |\n"),
            "{text}"
        );
        assert!(text.contains("| yield | 0.60 |  |  |  |  |\n"), "{text}");
    }

    #[test]
    fn small_kernels_are_compared_with_others() {
        let of = |mean| vec![("pc99".to_string(), vec![measured("map", mean)])];
        assert_eq!(small(&of(500.0), &[]), "");
        let text = small(&of(500.0), &of(600.0));
        assert!(text.contains("| operation | pc99 |\n|---|--:|\n"), "{text}");
        assert!(
            text.contains("| map a page | 600 / 500 = 1.20 |\n"),
            "{text}"
        );
        assert!(text.contains("| yield |  |\n"), "{text}");
    }

    #[test]
    fn the_older_processor_may_be_a_tenth_slower() {
        let platforms =
            [("kzm", 540.0, 560.0), ("sabre", 500.0, 500.0)].map(|(name, map, protect)| {
                let list = vec![measured("map", map), measured("protect", protect)];
                (name.to_string(), list)
            });
        let text = page(&platforms);
        assert!(text.contains("| 540 / 500 = **1.08** |\n"), "{text}");
        assert!(text.contains("| 560 / 500 = 1.12 |\n"), "{text}");
    }

    /// An interrupt without a switch of address spaces.
    fn interrupt(instructions: f64) -> Measurement {
        let parameters = Map::from_iter([("space".to_string(), Value::from("same"))]);
        Measurement::new(
            "interrupt",
            "interrupt_to_thread",
            parameters,
            "instructions",
            &[instructions],
        )
        .unwrap()
    }

    #[test]
    fn without_the_other_figure_there_is_no_ratio() {
        let text = page(&[("hikey".into(), vec![interrupt(453.0)])]);
        assert!(
            text.contains("| interrupt, without switch | 0.50, sabre 0.75 |  | 453 |  |  |\n"),
            "{text}"
        );
    }

    #[test]
    fn a_platform_may_have_an_aim_of_its_own() {
        let text = page(&["pc99", "sabre"].map(|name| (name.to_string(), vec![interrupt(360.0)])));
        assert!(
            text.contains("| 360 / 699 = 0.52 |  | 360 / 491 = **0.73** |  |\n"),
            "{text}"
        );
    }
}
