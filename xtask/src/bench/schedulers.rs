//! The page and the plots of what scheduling at user level costs, beside what others measured.

use std::fmt::Write;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::measurement::{Measurement, number};
use super::reference::Platform;
use crate::plot::{self, Points};

/// Others' figures, and Escapement's operations that stand beside them.
const LITERATURE: &str = include_str!("../../../benches/literature.toml");
/// The platforms that are shown, in the order of the columns.
const PLATFORMS: [&str; 3] = ["pc99", "hikey", "sabre"];
/// The suite of the plots.
const SUITE: &str = "edf";
/// The parameters that vary along the plots.
const TASKS: &str = "tasks";
const CORES: &str = "cores";
/// The number of tasks in what is shown by the number of cores.
const MOST: f64 = 128.0;
/// The source of time of results that name none.
const USUAL: &str = "YieldToTimeout";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Literature {
    table: Vec<Table>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    text: String,
    /// The columns after those of the platforms.
    #[serde(default)]
    others: Vec<String>,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    suite: String,
    operation: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    /// The cells of the other columns.
    #[serde(default)]
    others: Vec<String>,
    /// What can and cannot be compared.
    compared: Option<String>,
}

impl Row {
    /// Whether it shows a measurement: of any number of tasks, unless the row names one.
    fn shows(&self, one: &Measurement) -> bool {
        let mut rest = one.parameters.clone();
        if !self.parameters.contains_key(TASKS) {
            rest.remove(TASKS);
        }
        (&one.suite, &one.operation) == (&self.suite, &self.operation) && rest == self.parameters
    }

    /// The largest mean, and the largest sample if it is more.
    fn cell(&self, measured: &[Measurement]) -> String {
        let largest = |of: fn(&Measurement) -> f64| {
            let shown = measured.iter().filter(|one| self.shows(one)).map(of);
            shown.reduce(f64::max).map(f64::round)
        };
        match (largest(|one| one.mean), largest(|one| one.max)) {
            (Some(mean), Some(worst)) if mean == worst => number(mean),
            (Some(mean), Some(worst)) => format!("{} / {}", number(mean), number(worst)),
            _ => String::new(),
        }
    }
}

/// A plot with its table for each platform, and the tables beside others' figures.
pub(super) fn page(platforms: &[Platform]) -> String {
    let literature: Literature = toml::from_str(LITERATURE).expect("a test reads it");
    let columns = PLATFORMS.map(|name| {
        let platform = platforms.iter().find(|(other, _)| other == name);
        (name, platform.map_or(&[][..], |one| &one.1))
    });
    let mut text = String::new();
    for (name, measured) in columns {
        let parts = [
            ("Decisions", "decisions", decisions(measured)),
            (
                "Decisions by the number of cores",
                "decisions-cores",
                by_cores(measured),
            ),
            (
                "Jobs on other cores",
                "remote-decisions",
                on_other_cores(measured),
            ),
        ];
        if parts[0].2.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n## {name}");
        for (what, image, curves) in parts.iter().filter(|part| !part.2.is_empty()) {
            let path = format!("../images/{image}-{name}.svg");
            let along = if *image == "decisions-cores" {
                CORES
            } else {
                TASKS
            };
            let table = columns_of(curves, along);
            let _ = writeln!(text, "\n![{what} on {name}]({path})\n\n{table}");
        }
    }
    for table in &literature.table {
        let _ = writeln!(text, "\n## {}\n\n{}\n", table.title, table.text.trim());
        text.push_str(&table.beside(&columns));
    }
    text
}

impl Table {
    /// The rows, and what can and cannot be compared.
    fn beside(&self, columns: &[(&str, &[Measurement])]) -> String {
        let names = columns.iter().map(|(name, _)| *name);
        let names: Vec<_> = names
            .chain(self.others.iter().map(String::as_str))
            .collect();
        let mut text = format!(
            "| | {} |\n|---|{}\n",
            names.join(" | "),
            "--:|".repeat(names.len())
        );
        for row in &self.row {
            let ours = columns.iter().map(|(_, measured)| row.cell(measured));
            let cells: Vec<_> = ours.chain(row.others.iter().cloned()).collect();
            let _ = writeln!(text, "| {} | {} |", row.name, cells.join(" | "));
        }
        let compared = self
            .row
            .iter()
            .filter_map(|row| Some((&row.name, row.compared.as_ref()?)));
        for (place, (name, words)) in compared.enumerate() {
            let before = if place == 0 { "\n" } else { "" };
            let _ = writeln!(text, "{before}- *{name}*: {}", words.trim());
        }
        text
    }
}

/// A row for each curve, a column for each number of tasks or cores.
fn columns_of(curves: &[Points], along: &str) -> String {
    let mut columns: Vec<_> = curves
        .iter()
        .flat_map(|(_, points)| points)
        .map(|point| point.0)
        .collect();
    columns.sort_by(f64::total_cmp);
    columns.dedup();
    let names: Vec<_> = columns
        .iter()
        .map(|count| match count {
            1.0 => format!("1 {}", along.trim_end_matches('s')),
            _ => format!("{count} {along}"),
        })
        .collect();
    let mut text = format!(
        "| | {} |\n|---|{}",
        names.join(" | "),
        "--:|".repeat(columns.len())
    );
    for (name, points) in curves {
        let cell = |count: &f64| {
            let point = points.iter().find(|point| point.0 == *count);
            point.map_or(String::new(), |point| number(point.1.round()))
        };
        let cells: Vec<_> = columns.iter().map(cell).collect();
        let _ = write!(text, "\n| {name} | {} |", cells.join(" | "));
    }
    text
}

/// The plot of [`decisions`]; none if they were not measured, or are not shown.
pub(super) fn decisions_plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let what = "from one job to the next";
    draw(platform, what, TASKS, &decisions(measured))
}

/// The plot of [`by_cores`].
pub(super) fn cores_plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let what = "from one job to the next";
    draw(platform, what, CORES, &by_cores(measured))
}

/// The plot of [`on_other_cores`] with the usual source of time.
pub(super) fn remote_plot(platform: &str, measured: &[Measurement]) -> Option<String> {
    let mut curves = on_other_cores(measured);
    let others = sources(measured);
    curves.retain(|(name, _)| !others.iter().any(|other| name.ends_with(other)));
    draw(platform, "from the scheduler to the job", TASKS, &curves)
}

fn draw(platform: &str, what: &str, along: &str, curves: &[Points]) -> Option<String> {
    if !PLATFORMS.contains(&platform) {
        return None;
    }
    let title = format!("{platform}: instructions {what}");
    let factor = if along == TASKS { 4.0 } else { 2.0 };
    plot::draw(&title, along, Some(factor), curves)
}

/// A number among the parameters.
fn parameter(one: &Measurement, name: &str) -> Option<f64> {
    one.parameters.get(name).and_then(Value::as_f64)
}

/// The source of time that it names.
fn source(one: &Measurement) -> Option<&str> {
    one.parameters.get("source").and_then(Value::as_str)
}

/// The sources of time that results name.
fn sources(measured: &[Measurement]) -> Vec<&str> {
    measured.iter().filter_map(source).collect()
}

/// What leads to a decision of this kind, and the source of time.
fn event(one: &Measurement) -> Option<String> {
    let event = match &*one.operation {
        "preempting" => "release",
        "cooperative" => "completion",
        _ => return None,
    };
    Some(format!("{event}, {}", source(one).unwrap_or(USUAL)))
}

/// A curve for each event and source of time, on one core.
fn decisions(measured: &[Measurement]) -> Vec<Points> {
    curves(measured, |one| match parameter(one, CORES) {
        None => Some((event(one)?, parameter(one, TASKS)?)),
        Some(_) => None,
    })
}

/// The same by the number of cores, with the most tasks; none if several cores were not measured.
fn by_cores(measured: &[Measurement]) -> Vec<Points> {
    let all = curves(measured, |one| match parameter(one, TASKS) {
        Some(MOST) => Some((event(one)?, parameter(one, CORES).unwrap_or(1.0))),
        _ => None,
    });
    if all.iter().any(|curve| curve.1.len() > 1) {
        all
    } else {
        Vec::new()
    }
}

/// A curve for each number of cores, state of the other core and source of time, and one for the scheduler's own core; none if
/// jobs on other cores were not measured.
fn on_other_cores(measured: &[Measurement]) -> Vec<Points> {
    let all = curves(measured, |one| {
        let cores = one.parameters.get(CORES);
        let name = match (&*one.operation, cores) {
            // Both together.
            ("schedule" | "context_switch", None) => "own core, the only one".to_string(),
            ("remote", Some(cores)) => {
                let other = one.parameters.get("other")?.as_str()?;
                let source = source(one).map_or(String::new(), |source| format!(", {source}"));
                format!("other core {other}, of {cores} cores{source}")
            }
            _ => return None,
        };
        Some((name, parameter(one, TASKS)?))
    });
    if all.len() > 1 { all } else { Vec::new() }
}

/// The means: a curve for each name, in the order of the names, with the points that `place` tells; measurements of one point
/// are added.
fn curves(
    measured: &[Measurement],
    place: impl Fn(&Measurement) -> Option<(String, f64)>,
) -> Vec<Points> {
    let mut all: Vec<Points> = Vec::new();
    for one in measured.iter().filter(|one| one.suite == SUITE) {
        let Some((name, along)) = place(one) else {
            continue;
        };
        let place = all
            .iter()
            .position(|curve| curve.0 == name)
            .unwrap_or_else(|| {
                all.push((name, Vec::new()));
                all.len() - 1
            });
        let points = &mut all[place].1;
        match points.iter_mut().find(|point| point.0 == along) {
            Some(point) => point.1 += one.mean,
            None => points.push((along, one.mean)),
        }
    }
    for (_, points) in &mut all {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measurement;
    use serde_json::json;

    fn one(operation: &str, parameters: Value, samples: &[f64]) -> Measurement {
        let Value::Object(parameters) = parameters else {
            panic!("parameters are an object")
        };
        Measurement::new(SUITE, operation, parameters, "instructions", samples).unwrap()
    }

    fn some() -> Vec<Measurement> {
        vec![
            one("preempting", json!({"tasks": 2}), &[1500.0]),
            one("preempting", json!({"tasks": 128}), &[1600.0, 1700.0]),
            one(
                "preempting",
                json!({"source": "own timer", "tasks": 8}),
                &[5000.0],
            ),
            one("schedule", json!({"tasks": 2}), &[400.0]),
            one("context_switch", json!({"tasks": 2}), &[600.0]),
            one(
                "remote",
                json!({"cores": 4, "other": "busy", "tasks": 2}),
                &[8000.0],
            ),
            one(
                "remote",
                json!({"cores": 4, "other": "busy", "tasks": 2, "source": "own timer"}),
                &[9000.0],
            ),
            one("preempting", json!({"cores": 4, "tasks": 128}), &[3000.0]),
            one("preempting", json!({"cores": 2, "tasks": 128}), &[2500.0]),
            one("preempting", json!({"cores": 2, "tasks": 8}), &[2400.0]),
        ]
    }

    /// Each row has a cell for each column, and shows an operation that is measured.
    #[test]
    fn others_stand_beside_what_is_measured() {
        let literature: Literature = toml::from_str(LITERATURE).unwrap();
        let reference = include_str!("../../../benches/reference/pc99.json");
        let reference = measurement::parse_list(reference).unwrap();
        for table in &literature.table {
            for row in &table.row {
                assert_eq!(row.others.len(), table.others.len(), "{}", row.name);
                assert_eq!(
                    row.compared.is_some(),
                    !row.others.is_empty(),
                    "{}",
                    row.name
                );
                assert!(!row.cell(&reference).is_empty(), "{}", row.name);
            }
        }
    }

    /// By the usual source of time on one core. A mean, since a sample contains a part of the loop that a release interrupts.
    #[test]
    fn the_aims_are_reached_on_pc99() {
        let reference = include_str!("../../../benches/reference/pc99.json");
        let curves = decisions(&measurement::parse_list(reference).unwrap());
        let range = |event: &str| {
            let name = format!("{event}, {USUAL}");
            let (_, points) = curves.iter().find(|curve| curve.0 == name).unwrap();
            let means = points.iter().map(|point| point.1);
            (
                means.clone().fold(f64::MAX, f64::min),
                means.fold(0.0, f64::max),
            )
        };
        let (least, most) = range("release");
        assert!(most <= 1600.0 && most <= 1.1 * least, "{least} to {most}");
        let (_, most) = range("completion");
        assert!(most <= 2000.0, "{most}");
    }

    #[test]
    fn the_page_shows_the_largest_beside_those_of_others() {
        let text = page(&[("pc99".into(), some())]);
        assert!(
            text.contains("| a release preempts | 1650 / 1700 |  |  | 3,160 to 3,300 cycles |"),
            "{text}"
        );
        assert!(
            text.contains("- *a release preempts*: the event is the same"),
            "{text}"
        );
        assert!(
            text.contains("| remote reschedule, four cores | 8000 |  |  |  |  | 2,373 / 2,537 |"),
            "{text}"
        );
        assert!(!text.contains("## hikey"), "{text}");
    }

    #[test]
    fn numbers_of_tasks_are_columns() {
        let text = page(&[("pc99".into(), some())]);
        assert!(
            text.contains("| | 2 tasks | 8 tasks | 128 tasks |\n|---|--:|--:|--:|\n"),
            "{text}"
        );
        assert!(
            text.contains("\n| release, YieldToTimeout | 1500 |  | 1650 |\n"),
            "{text}"
        );
        assert!(
            text.contains("\n| release, own timer |  | 5000 |  |\n"),
            "{text}"
        );
        // The decision and the switch.
        assert!(
            text.contains("\n| own core, the only one | 1000 |\n"),
            "{text}"
        );
        assert!(
            text.contains("\n| other core busy, of 4 cores | 8000 |\n"),
            "{text}"
        );
        assert!(
            text.contains("\n| other core busy, of 4 cores, own timer | 9000 |\n"),
            "{text}"
        );
    }

    #[test]
    fn numbers_of_cores_are_columns() {
        let text = page(&[("pc99".into(), some())]);
        assert!(
            text.contains(
                "| | 1 core | 2 cores | 4 cores |\n|---|--:|--:|--:|\n| release, YieldToTimeout | 1650 | 2500 | 3000 |\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn curves_are_drawn_for_the_platforms_that_are_shown() {
        let svg = decisions_plot("pc99", &some()).unwrap();
        assert!(svg.contains(">release, YieldToTimeout</text>"), "{svg}");
        assert!(svg.contains(">release, own timer</text>"), "{svg}");
        assert!(svg.contains("\"64.0,267.6 530.0,257.2\""), "{svg}");
        let svg = remote_plot("pc99", &some()).unwrap();
        assert!(svg.contains(">other core busy, of 4 cores</text>"), "{svg}");
        assert!(!svg.contains("of 4 cores, own timer"), "{svg}");
        let svg = cores_plot("pc99", &some()).unwrap();
        assert!(svg.contains(">release, YieldToTimeout</text>"), "{svg}");
        assert!(decisions_plot("tx1", &some()).is_none());
        // Jobs on other cores were not measured.
        assert!(remote_plot("pc99", &some()[..5]).is_none());
        assert!(cores_plot("pc99", &some()[..5]).is_none());
    }
}
