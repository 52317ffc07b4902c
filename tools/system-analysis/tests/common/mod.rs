//! Systems from texts.

use std::collections::BTreeMap;

use system_analysis::Figures;
use system_description::{Platform, Size, Source, System, check};

/// Each operation of the kernel takes the same.
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
    Figures::read(&format!("platform = \"board\"\n{lines}")).unwrap()
}

/// What a good text describes, for a board of four cores.
pub fn system(text: &str) -> Option<System> {
    let board = Platform {
        name: "board".to_string(),
        word_bits: 64,
        cores: 4,
        memory: Size::from_bytes(1 << 30),
        devices: BTreeMap::new(),
    };
    let source = Source { path: "s", text };
    check(source, &[board]).systems.pop()
}
