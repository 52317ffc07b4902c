//! The repository's own rules, which no general lint covers. Each rule is a function from the repository's
//! files to complaints.

mod coverage;
mod dependencies;
mod layers;
mod ledger;
mod length;
mod links;
mod lints;
mod names;
mod paths;
mod registry;
mod words;

use std::path::{Path, PathBuf};

use crate::Result;
use crate::crates::{self, Crate};
use crate::workspace::Workspace;

/// The files that the rules check.
#[derive(Debug)]
struct Repository {
    /// Every file, with its text unless it is binary.
    files: Vec<(PathBuf, Option<String>)>,
    crates: Vec<Crate>,
}

impl Repository {
    fn read(workspace: &Workspace) -> Result<Self> {
        let read = |path: PathBuf| {
            let text = std::fs::read_to_string(workspace.path(&path)).ok();
            (path, text)
        };
        let files = workspace.files()?.into_iter().map(read).collect();
        Ok(Self {
            files,
            crates: crates::all(workspace)?,
        })
    }

    /// The text files with names that end in one of `endings`.
    fn texts(&self, endings: &[&str]) -> impl Iterator<Item = (&Path, &str)> {
        self.files.iter().filter_map(move |(path, text)| {
            let name = path.file_name()?.to_str()?;
            let wanted = endings.iter().any(|ending| name.ends_with(ending));
            Some((path.as_path(), text.as_deref().filter(|_| wanted)?))
        })
    }

    /// Whether there is a file or folder at `path`.
    fn holds(&self, path: &Path) -> bool {
        self.files.iter().any(|(file, _)| file.starts_with(path))
    }
}

/// The lines of prose of a file, each with its number: of a page those outside of blocks of code, of other files
/// the comments.
fn prose<'a>(path: &Path, text: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let is_page = path.extension().is_some_and(|it| it == "md");
    let mut is_code = false;
    (1..).zip(text.lines()).filter_map(move |(number, line)| {
        if !is_page {
            return Some((number, comment(line)?));
        }
        is_code ^= line.trim_start().starts_with("```");
        (!is_code).then_some((number, line))
    })
}

/// The comment of a line of code that is nothing else.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    ["//", "@ ", "# "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
        .filter(|rest| !rest.starts_with('['))
}

/// All complaints of all rules.
pub(crate) fn complaints(workspace: &Workspace) -> Result<Vec<String>> {
    let repository = Repository::read(workspace)?;
    let rules = [
        coverage::complaints,
        dependencies::complaints,
        layers::complaints,
        ledger::complaints,
        length::complaints,
        links::complaints,
        lints::complaints,
        names::complaints,
        paths::complaints,
        registry::complaints,
        words::complaints,
    ];
    Ok(rules.iter().flat_map(|rule| rule(&repository)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Repository {
        /// A repository of `files`.
        pub(super) fn of(files: &[(&str, &str)]) -> Self {
            let manifests = files
                .iter()
                .filter(|(path, _)| path.ends_with("Cargo.toml"));
            let crates = manifests
                .filter_map(|(path, text)| Crate::parse(Path::new(path).parent()?, text).unwrap())
                .collect();
            let files = files
                .iter()
                .map(|(path, text)| (path.into(), Some((*text).to_string())))
                .collect();
            Self { files, crates }
        }
    }

    #[test]
    fn the_repository_keeps_its_own_rules() {
        let workspace = Workspace::find().unwrap();
        assert_eq!(complaints(&workspace).unwrap(), [""; 0]);
    }

    #[test]
    fn prose_is_what_is_no_code() {
        let page = "a\n```\nb\n```\n// c\n";
        let lines: Vec<_> = prose(Path::new("x.md"), page).collect();
        assert_eq!(lines, [(1, "a"), (4, "```"), (5, "// c")]);
        let code = "a // b\n    // c\n@ d\n#[e]\n";
        let lines: Vec<_> = prose(Path::new("x.s"), code).collect();
        assert_eq!(lines, [(2, " c"), (3, "d")]);
    }

    #[test]
    fn texts_are_chosen_by_ending() {
        let repository = Repository::of(&[("a/b.rs", "x"), ("c.md", "y")]);
        let texts: Vec<_> = repository.texts(&[".rs"]).collect();
        assert_eq!(texts, [(Path::new("a/b.rs"), "x")]);
        assert!(repository.holds(Path::new("a")) && !repository.holds(Path::new("b")));
    }
}
