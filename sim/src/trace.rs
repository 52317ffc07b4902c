//! Machine-readable output: a trace in the format of the Chrome and Perfetto viewers, and the same as
//! comma-separated values. The page "The simulator" of the book documents both.

use std::fmt::Write;

use crate::history::{History, Status};

fn name(history: &History, actor: Option<usize>) -> &str {
    actor.map_or("", |actor| &history.actors[actor].name)
}

const fn word(status: Status) -> &'static str {
    match status {
        Status::Runs(_) => "runs",
        Status::Ready => "ready",
        Status::Starved => "starved",
        Status::Timeless => "timeless",
        Status::Blocked => "blocked",
        Status::Stopped => "stopped",
    }
}

/// A JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            control if control < ' ' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted + "\""
}

/// The trace as JSON: a track for each thread and one for devices (number 0).
pub fn chrome(history: &History, scenario: &str) -> String {
    let mut events = vec![format!(
        r#"{{"ph":"M","name":"process_name","pid":1,"args":{{"name":{}}}}}"#,
        quoted(scenario)
    )];
    let devices = std::iter::once("devices");
    let names = history.actors.iter().map(|actor| actor.name.as_str());
    for (number, name) in devices.chain(names).enumerate() {
        events.push(format!(
            r#"{{"ph":"M","name":"thread_name","pid":1,"tid":{number},"args":{{"name":{}}}}}"#,
            quoted(name)
        ));
    }
    for actor in 0..history.actors.len() {
        for (start, end, status) in history.spans(actor) {
            if matches!(status, Status::Blocked | Status::Stopped) {
                continue;
            }
            let owner = match status {
                Status::Runs(owner) => owner,
                _ => None,
            };
            events.push(format!(
                r#"{{"ph":"X","name":"{}","pid":1,"tid":{},"ts":{start},"dur":{},"args":{{"time of":{}}}}}"#,
                word(status),
                actor + 1,
                end - start,
                quoted(name(history, owner)),
            ));
        }
    }
    for mark in &history.marks {
        events.push(format!(
            r#"{{"ph":"i","s":"t","name":{},"pid":1,"tid":{},"ts":{}}}"#,
            quoted(&mark.text),
            mark.actor.map_or(0, |actor| actor + 1),
            mark.time,
        ));
    }
    format!("{{\"traceEvents\":[\n{}\n]}}\n", events.join(",\n"))
}

/// The trace as comma-separated values, sorted by time: `time,thread,event,detail`.
pub fn csv(history: &History) -> String {
    let mut lines = Vec::new();
    for (actor, line) in history.actors.iter().enumerate() {
        for (time, status) in &line.changes {
            let owner = match status {
                Status::Runs(owner) => name(history, *owner),
                _ => "",
            };
            lines.push((*time, actor + 1, word(*status), owner.to_string()));
        }
    }
    for mark in &history.marks {
        let actor = mark.actor.map_or(0, |actor| actor + 1);
        lines.push((
            mark.time,
            actor,
            "mark",
            mark.text.replace([',', '\n'], ";"),
        ));
    }
    lines.sort_by_key(|(time, actor, ..)| (*time, *actor));
    let mut text = String::from("time_us,thread,event,detail\n");
    for (time, actor, event, detail) in lines {
        let actor = name(history, actor.checked_sub(1));
        let _ = writeln!(text, "{time},{actor},{event},{detail}");
    }
    text
}
