//! Code, comments and the book use the words of the glossary (`docs/src/glossary.md`), and name the actor.

use std::path::Path;

use super::{Repository, prose};

/// Words and phrases that are refused, in lower case, and what to write instead.
const REFUSED: &[(&str, &str)] = &[
    ("who", "name the actor: the thread, this core, the caller"),
    ("whoever", "name the actor"),
    ("whom", "name the actor"),
    ("somebody", "name the actor"),
    ("someone", "name the actor"),
    ("anybody", "name the actor"),
    ("everybody", "name the actors"),
    ("nobody", "`no thread`, `no core`"),
    ("stop the world", "`take the entry lock exclusively`"),
    ("yardstick", "`calibration`"),
    ("odometer", "`total consumed`"),
    ("parcel", "`resolved capability transfer`"),
    ("payer", "`current scheduling context`"),
    ("dearer", "`more expensive`"),
    ("mend", "`fix`"),
    ("mended", "`fixed`"),
    ("allowance", "`budget check threshold`"),
    ("glance", "`read of the clock`"),
    ("manner", "`invocation flags`"),
    ("moment", "`time` or `instant`"),
    ("seize", "`stall`"),
    ("seized", "`stalled`"),
    ("sweep", "`badge cancellation cursor`"),
    ("twin", "`negative control`"),
    ("urgent", "`high-priority`, `higher-priority`"),
    ("long way", "`slow path`"),
    ("short way", "`fast path`"),
    ("further core", "`secondary core`"),
    ("further cores", "`secondary cores`"),
    ("waits in line", "`is in the wait queue`"),
];

/// Files that list such words.
const EXCEPT: &[&str] = &[
    "docs/src/glossary.md",
    "docs/src/bugs.md",
    "xtask/src/rules/words.rs",
];

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let texts = repository.texts(&[".rs", ".s", ".toml", ".md"]);
    texts
        .filter(|(path, _)| !EXCEPT.iter().any(|page| path == &Path::new(page)))
        .flat_map(|(path, text)| in_file(path, text))
        .collect()
}

fn in_file(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let is_page = path.extension().is_some_and(|it| it == "md");
    let lines: Vec<_> = match is_page {
        true => prose(path, text).collect(),
        false => (1..).zip(text.lines()).collect(),
    };
    for (line, text) in lines {
        let words = words(text);
        for (refused, instead) in REFUSED {
            if words.contains(&format!(" {refused} ")) {
                let path = path.display();
                found.push(format!("{path}:{line}: `{refused}`; write {instead}"));
            }
        }
    }
    found
}

/// The words of a line in lower case, also those that make up its names, each between spaces, without what stands in
/// backticks.
fn words(line: &str) -> String {
    let mut words = String::from(" ");
    let mut before = ' ';
    for letter in line.split('`').step_by(2).flat_map(str::chars) {
        let is_start = before.is_lowercase() && letter.is_uppercase();
        if (is_start || !letter.is_alphanumeric()) && !words.ends_with(' ') {
            words.push(' ');
        }
        if letter.is_alphanumeric() {
            words.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.push(' ');
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_comments_and_pages_name_the_actor() {
        let repository = Repository::of(&[
            (
                "a.rs",
                "fn who_runs() {}\n/// Whoever waits.\nlet x = \"who\";\nstruct MostUrgent;\n\
                 let whole = 1;\n",
            ),
            (
                "b.md",
                "Nobody\n```\nnobody\n```\nthe `nobody` user, the long way\n",
            ),
            ("docs/src/glossary.md", "who"),
        ]);
        assert_eq!(
            complaints(&repository),
            [
                "a.rs:1: `who`; write name the actor: the thread, this core, the caller",
                "a.rs:2: `whoever`; write name the actor",
                "a.rs:3: `who`; write name the actor: the thread, this core, the caller",
                "a.rs:4: `urgent`; write `high-priority`, `higher-priority`",
                "b.md:1: `nobody`; write `no thread`, `no core`",
                "b.md:5: `long way`; write `slow path`",
            ]
        );
    }
}
