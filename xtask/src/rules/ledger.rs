//! The bug ledger has each number once, in ascending order. Merges of two branches that both append to it
//! could otherwise leave rows twice.

use super::Repository;

const LEDGER: &str = "docs/src/bugs.md";

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let ledger = repository
        .texts(&["bugs.md"])
        .filter(|(path, _)| path.ends_with(LEDGER));
    ledger.flat_map(|(_, text)| unordered(text)).collect()
}

fn unordered(text: &str) -> Vec<String> {
    let number = |line: &str| {
        line.strip_prefix("| ")?
            .split(' ')
            .next()?
            .parse::<u32>()
            .ok()
    };
    let mut last = 0;
    let mut complaints = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(number) = number(line) else { continue };
        if number <= last {
            complaints.push(format!(
                "{LEDGER}:{}: bug {number} comes after {last}; number rows in ascending order",
                index + 1
            ));
        }
        last = number;
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_there_twice_are_found() {
        let text = "| no. | bug |\n|---|---|\n| 1 | a |\n| 3 | b |\n| 3 | b |\n";
        assert_eq!(
            complaints(&Repository::of(&[(LEDGER, text)])),
            ["docs/src/bugs.md:5: bug 3 comes after 3; number rows in ascending order"]
        );
        assert!(complaints(&Repository::of(&[("other/bugs.md", text)])).is_empty());
    }
}
