//! The costs of hardening: the main operations of a plain kernel beside those of hardened ones.

use std::fmt::Write;

use super::reference::{Platform, cell};

/// The operations that are shown, and their parameters.
const ROWS: [(&str, &str); 11] = [
    ("null_call", ""),
    (
        "call",
        "words 0, space other, server passive, priority equal",
    ),
    (
        "replyrecv",
        "words 0, space other, server passive, priority equal",
    ),
    (
        "call",
        "words 0, space same, server passive, priority equal",
    ),
    (
        "replyrecv",
        "words 0, space same, server passive, priority equal",
    ),
    ("signal", "space other, priority higher"),
    ("signal", "space other, priority lower"),
    ("interrupt_to_thread", "space other"),
    ("interrupt_to_lower_priority", ""),
    ("map", "pages 1"),
    ("fault_both", "handler equal"),
];

/// A table with a column for each kernel, from one without hardening on.
pub(super) fn page(kernels: &[Platform]) -> String {
    let mut text = "\n| operation | parameters |".to_string();
    for (name, _) in kernels {
        let _ = write!(text, " {name} |");
    }
    let _ = writeln!(text, "\n|---|---|{}", "--:|".repeat(kernels.len()));
    for (operation, parameters) in ROWS {
        let _ = write!(text, "| {operation} | {parameters} |");
        for (_, list) in kernels {
            let mut list = list.iter();
            let one = list.find(|one| one.operation == operation && one.parameters() == parameters);
            let _ = write!(text, " {} |", one.map_or(String::new(), cell));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measurement::tests::example;

    #[test]
    fn kernels_are_columns() {
        let of = |count| vec![example("null_call", &[count])];
        let text = page(&[("none".into(), of(100.0)), ("mds".into(), of(110.0))]);
        assert!(text.contains("| operation | parameters | none | mds |\n"));
        assert!(text.contains("| null_call |  | 100 | 110 |\n"), "{text}");
    }
}
