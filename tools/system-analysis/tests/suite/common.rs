//! Systems from texts.

use std::collections::BTreeMap;

use system_analysis::Figures;

use system_description::{Device, Platform, Size, Source, System, check};

/// Each operation of the kernel takes the same, and there are no caches.
pub fn figures(each: &str) -> Figures {
    let names = [
        "smallest-budget",
        "section",
        "release",
        "switch",
        "call",
        "interrupt",
        "timeout",
        "other-core",
    ];
    let lines: String = names
        .iter()
        .map(|name| format!("{name} = \"{each}\"\n"))
        .collect();
    Figures::read(&format!(
        "platform = \"board\"\ncache-refill = \"0 us\"\n{lines}"
    ))
    .unwrap()
}

/// What a good text describes, for a board of four cores without devices.
pub fn system(text: &str) -> Option<System> {
    board_with(text, BTreeMap::new())
}

/// The same for a board with devices.
pub fn board_with(text: &str, devices: BTreeMap<String, Device>) -> Option<System> {
    let board = Platform {
        name: "board".to_string(),
        word_bits: 64,
        cores: 4,
        memory: Size::from_bytes(1 << 30),
        devices,
    };
    let source = Source { path: "s", text };
    let mut checked = check(source, &[board]);
    for problem in checked.diagnostics.iter().filter(|_| !checked.is_good()) {
        // A test that expects a system fails, and shows this.
        println!("{}", problem.line(source));
    }
    checked.systems.pop().filter(|_| checked.is_good())
}

/// Writes proposed lines into the tables of a description, instead of what they replace.
pub fn applied(text: &str, proposed: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut table = "";
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("[component.") {
            table = name.trim_end_matches(']');
        }
        let has = |key: &str| proposed.contains(&format!("component.{table}.{key} ="));
        let key = line.split(" =").next().unwrap_or_default();
        let is_replaced = has(key)
            || key == "slice" && has("budget")
            || ["budget", "period"].contains(&key) && has("slice");
        if !is_replaced {
            lines.push(line.into());
        }
    }
    let mut first = String::new();
    for line in proposed.lines() {
        let Some(rest) = line.strip_prefix("component.") else {
            first += &format!("{line}\n");
            continue;
        };
        let (path, value) = rest.split_once(" = ").unwrap();
        let (table, key) = path.rsplit_once('.').unwrap();
        let header = format!("[component.{table}]");
        let place = lines.iter().position(|line| *line == header).unwrap();
        lines.insert(place + 1, format!("{key} = {value}"));
    }
    first + &lines.join("\n")
}
