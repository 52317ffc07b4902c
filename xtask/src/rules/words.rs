//! Comments and the book use the words of the glossary (`docs/src/glossary.md`), and name the actor.

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
    ("waits in line", "`is in the wait queue`"),
];

/// Pages that list such words.
const EXCEPT: &[&str] = &["docs/src/glossary.md", "docs/src/bugs.md"];

pub(super) fn complaints(repository: &Repository) -> Vec<String> {
    let texts = repository.texts(&[".rs", ".s", ".md"]);
    texts
        .filter(|(path, _)| !EXCEPT.iter().any(|page| path == &Path::new(page)))
        .flat_map(|(path, text)| in_file(path, text))
        .collect()
}

fn in_file(path: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (line, prose) in prose(path, text) {
        let words = words(prose);
        for (refused, instead) in REFUSED {
            if words.contains(&format!(" {refused} ")) {
                let path = path.display();
                found.push(format!("{path}:{line}: `{refused}`; write {instead}"));
            }
        }
    }
    found
}

/// The words of a line in lower case, each between spaces, without what stands in backticks.
fn words(line: &str) -> String {
    let prose: String = line.split('`').step_by(2).collect();
    let letters = prose.to_lowercase();
    let words = letters.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_pages_name_the_actor() {
        let repository = Repository::of(&[
            (
                "a.rs",
                "fn who() {}\n/// Whoever waits.\nlet x = \"who\";\n",
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
                "a.rs:2: `whoever`; write name the actor",
                "b.md:1: `nobody`; write `no thread`, `no core`",
                "b.md:5: `long way`; write `slow path`",
            ]
        );
    }
}
