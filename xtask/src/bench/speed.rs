//! The page that compares with the fastest kernel of this kind, operation by operation.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::measurement::{Measurement, number};
use super::reference::Platform;

/// What that kernel takes, and what is aimed at.
const AIMS: &str = include_str!("../../../benches/aims.toml");
/// The platforms that are compared, in the order of the columns.
const PLATFORMS: [&str; 3] = ["pc99", "hikey", "sabre"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Aims {
    operation: Vec<Aim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Aim {
    /// The operation in words.
    name: String,
    /// What part of the other kernel's figure is aimed at.
    aim: f64,
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

    /// Ours, the other one's and the ratio, which is bold where the aim is reached.
    fn cell(&self, (name, list): &Platform) -> String {
        let Some(ours) = list.iter().find(|one| self.is_about(one)) else {
            return String::new();
        };
        let Some(other) = self.sel4.get(name) else {
            return number(ours.mean.round());
        };
        let ratio = ours.mean / other;
        let mark = if ratio <= self.aim { "**" } else { "" };
        format!("{:.0} / {other} = {mark}{ratio:.2}{mark}", ours.mean)
    }
}

/// The table.
pub(super) fn page(platforms: &[Platform]) -> String {
    let aims: Aims = toml::from_str(AIMS).expect("a test reads it");
    let columns = PLATFORMS.map(|name| platforms.iter().find(|(other, _)| other == name));
    let mut text = String::from("\n| operation | aim |");
    for name in PLATFORMS {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(text, "\n|---|--:|{}", "--:|".repeat(PLATFORMS.len()));
    for aim in &aims.operation {
        let _ = write!(text, "| {} | {:.2} |", aim.name, aim.aim);
        for column in columns {
            let _ = write!(
                text,
                " {} |",
                column.map_or(String::new(), |column| aim.cell(column))
            );
        }
        text.push('\n');
    }
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
            text.contains("| map a page | 0.70 | 500 / 834 = **0.60** |  |  |\n"),
            "{text}"
        );
        assert!(
            text.contains("| protect a page | 0.70 | 700 / 835 = 0.84 |  |  |\n"),
            "{text}"
        );
        assert!(text.contains("| yield | 0.50 |  |  |  |\n"), "{text}");
    }

    #[test]
    fn without_the_other_figure_there_is_no_ratio() {
        let parameters = Map::from_iter([("space".to_string(), Value::from("same"))]);
        let one = Measurement::new(
            "interrupt",
            "interrupt_to_thread",
            parameters,
            "instructions",
            &[453.0],
        );
        let text = page(&[("hikey".into(), vec![one.unwrap()])]);
        assert!(
            text.contains("| interrupt to user | 0.50 |  | 453 |  |\n"),
            "{text}"
        );
    }
}
