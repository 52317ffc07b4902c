//! No file contains a path that exists only on its author's machine.

use super::Repository;

/// Folders in which people and machines keep their checkouts. Written in pieces, so that this file obeys its
/// own rule.
const PRIVATE: [&str; 4] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
];

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, text) in repository.texts(&[""]) {
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(private) = PRIVATE.iter().find(|private| begins_a_path(line, private)) {
                let path = path.display();
                complaints.push(format!(
                    "{path}:{number}: a machine's own path, `{private}...`"
                ));
            }
        }
    }
    complaints
}

/// Whether `private` occurs in `line` as the beginning of a path rather than in the middle of one.
fn begins_a_path(line: &str, private: &str) -> bool {
    line.match_indices(private).any(|(index, _)| {
        let before = line[..index].chars().next_back();
        before.is_none_or(|character| !character.is_alphanumeric() && !"_-./~}".contains(character))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_paths_are_found() {
        let found = |line: &str| !complaints(&Repository::of(&[("a.md", line)])).is_empty();
        for private in PRIVATE {
            assert!(found(&format!("{private}me/x")));
            assert!(found(&format!("see `{private}x`")));
            assert!(found(&format!("path=\"{private}x\"")));
            assert!(!found(&format!("arch{private}x")));
            assert!(!found(&format!("../{}", &private[1..])));
        }
        assert!(!found("/usr/bin/cargo"));
    }
}
