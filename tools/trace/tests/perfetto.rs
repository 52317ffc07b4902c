//! The package `perfetto` of PyPI reads what the export to Perfetto writes.

mod common;

use std::fs;
use std::process::Command;

use common::{read, readers, simulated};
use serde_json::Value;
use simulator::scenarios::find;
use trace::{Trace, export, remaining_budget};

const READER: &str = include_str!("perfetto/reader.py");
/// What the reader ends with where the package is not installed.
const ABSENT: i32 = 3;

/// What the package finds in a trace. `None` if it is not installed.
fn found_in(trace: &Trace) -> Option<Value> {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), export::perfetto(trace)).unwrap();
    let mut python = Command::new("python3");
    let output = python.args(["-c", READER]).arg(file.path()).output();
    let Some(output) = output.ok().filter(|one| one.status.code() != Some(ABSENT)) else {
        readers::skip("package perfetto", "pip install perfetto protobuf");
        return None;
    };
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// The track with a name, below one of the three others.
fn track<'f>(found: &'f Value, parent: &str, name: &str) -> &'f Value {
    let tracks = found["tracks"].as_array().unwrap();
    let track = tracks
        .iter()
        .find(|one| (&one["parent"], &one["name"]) == (&parent.into(), &name.into()));
    track.unwrap_or_else(|| panic!("there is no track {name} of {parent}"))
}

/// Lists of whole numbers.
fn rows(list: &Value, length: usize) -> Vec<Vec<u64>> {
    let rows = list.as_array().unwrap().iter();
    rows.map(|row| {
        let row = row.as_array().unwrap()[..length].iter();
        row.map(|one| one.as_u64().unwrap()).collect()
    })
    .collect()
}

#[test]
fn a_scenario_is_read_whole() {
    let scenario = find("passive-server").expect("it exists");
    let trace = read(&simulated(scenario.setup, 20_000, 100_000));
    let Some(found) = found_in(&trace) else {
        return;
    };
    assert_eq!(found["problems"], Value::Array(Vec::new()));
    let timeline = trace::Timeline::of(&trace);
    let nanoseconds = |ticks| trace.nanoseconds(ticks);
    for lane in &timeline.contexts {
        let uses = lane.uses.iter();
        let uses: Vec<_> = uses
            .map(|span| vec![nanoseconds(span.start), nanoseconds(span.end)])
            .collect();
        let spans = rows(&track(&found, "contexts", &lane.name)["spans"], 2);
        assert_eq!(spans, uses, "{}", lane.name);
        let budget = remaining_budget(lane, timeline.end).into_iter();
        let mut budget: Vec<_> = budget
            .map(|(time, amount)| vec![nanoseconds(time), nanoseconds(amount)])
            .collect();
        // What comes after the end of the trace is before the last point.
        budget.sort_by_key(|point| point[0]);
        let name = format!("budget of {} in ns", lane.name);
        let values = rows(&track(&found, "contexts", &name)["values"], 2);
        assert_eq!(values, budget, "{}", lane.name);
    }
    for lane in &timeline.threads {
        let of_thread = &track(&found, "threads", &lane.name)["spans"];
        let runs = of_thread.as_array().unwrap().iter();
        let runs = runs.filter(|span| span[2] == "runs").count();
        let changes = lane.changes.iter();
        let expected = changes.filter(|(_, status)| matches!(status, trace::Status::Runs(_)));
        assert_eq!(runs, expected.count(), "{}", lane.name);
    }
    let moves = timeline.contexts.iter().flat_map(|lane| &lane.moves);
    let flows = moves.filter(|(_, from, to, _)| from.is_some() && to.is_some());
    assert_eq!(found["flows"], flows.count());
    assert!(found["flows"].as_u64() > Some(10));
}
