//! The book and comments name no function, field, module or file that does not exist.

use std::collections::HashSet;
use std::path::Path;

use super::{Repository, comment, prose};

/// Folders that are not here: that of build outputs, and those that a reader of the book makes.
const MADE: &[&str] = &[
    "target/",
    "systems/hello",
    ".vscode/",
    "components/",
    "protocols/",
];

/// The page with the words of other systems, in the first column of its tables.
const OTHERS: &str = "docs/src/coming-from.md";

/// The endings of the files that a path may name.
const ENDINGS: &[&str] = &[".rs", ".s", ".ld", ".toml", ".json", ".md", ".py"];

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let code = words_of_code(repository);
    let mut complaints = Vec::new();
    for (path, text) in repository.texts(&[".rs", ".s", ".md"]) {
        for (number, line) in prose(path, text) {
            let line = match line.rsplit_once(" | ") {
                Some((_, ours)) if path == Path::new(OTHERS) => ours,
                _ => line,
            };
            // Every other piece between backquotes is code.
            for span in line.split('`').skip(1).step_by(2) {
                if is_name(span) && !span.split("::").all(|word| code.contains(word)) {
                    let path = path.display();
                    complaints.push(format!("{path}:{number}: there is no `{span}`"));
                } else if is_path(span) && !is_file(repository, span) {
                    let path = path.display();
                    complaints.push(format!("{path}:{number}: there is no file `{span}`"));
                }
            }
        }
    }
    complaints
}

/// All words of the code, without its comments.
fn words_of_code(repository: &Repository) -> HashSet<&str> {
    let files = repository.texts(&[".rs", ".s", ".toml", ".py", ".ld"]);
    files
        .flat_map(|(_, text)| text.lines())
        .filter(|line| comment(line).is_none())
        .flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
        .collect()
}

/// Whether `span` is a name with an underscore: other words in backquotes may be those of processors, other
/// systems or files.
fn is_name(span: &str) -> bool {
    is_made_of(span, "_:") && span.contains('_') && !span.starts_with('_') && !span.ends_with('_')
}

/// Whether `span` is the path of a file in a folder. Capitals are a placeholder.
fn is_path(span: &str) -> bool {
    span.contains('/')
        && ENDINGS.iter().any(|ending| span.ends_with(ending))
        && is_made_of(span, "/_-.")
        && !MADE.iter().any(|folder| span.starts_with(folder))
}

/// Whether `span` consists of small letters, digits and `others`.
fn is_made_of(span: &str, others: &str) -> bool {
    span.chars().all(|letter| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || others.contains(letter)
    })
}

/// Whether the path of a file ends in `span`.
fn is_file(repository: &Repository, span: &str) -> bool {
    repository
        .files
        .iter()
        .any(|(file, _)| file.ends_with(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(page: &str) -> Vec<String> {
        let code = "/// Not `old_name`.\nfn new_name() {}\n";
        complaints(&Repository::of(&[("docs/a.md", page), ("a/b/c.rs", code)]))
    }

    #[test]
    fn names_exist() {
        let missing = found("`new_name`, `b::new_name` and\n`old_name`\n");
        assert_eq!(
            missing,
            [
                "docs/a.md:1: there is no `b::new_name`",
                "docs/a.md:2: there is no `old_name`",
                "a/b/c.rs:1: there is no `old_name`",
            ]
        );
    }

    #[test]
    fn words_of_others_are_in_the_first_column() {
        let code = "fn new_name() {}\n";
        let page = "| `their_name` | `new_name` |\n| `new_name` | `their_name` |\n";
        let found = complaints(&Repository::of(&[(OTHERS, page), ("c.rs", code)]));
        let missing = "docs/src/coming-from.md:2: there is no `their_name`";
        assert_eq!(found, [missing]);
    }

    #[test]
    fn files_exist() {
        let page = "`b/c.rs` `b/d.rs` `b/NAME.rs` `target/d.rs` `.vscode/d.json` `systems/hello/d.rs` `d.rs`";
        assert_eq!(found(page)[0], "docs/a.md:1: there is no file `b/d.rs`",);
        assert_eq!(found(page).len(), 2);
    }
}
