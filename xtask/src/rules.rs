//! The repository's own rules, which no general lint covers. Each rule is a function from the repository's
//! files to complaints.

mod coverage;
mod dependencies;
mod layers;
mod ledger;
mod length;
mod links;
mod lints;
mod paths;
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
        paths::complaints,
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
    fn texts_are_chosen_by_ending() {
        let repository = Repository::of(&[("a/b.rs", "x"), ("c.md", "y")]);
        let texts: Vec<_> = repository.texts(&[".rs"]).collect();
        assert_eq!(texts, [(Path::new("a/b.rs"), "x")]);
        assert!(repository.holds(Path::new("a")) && !repository.holds(Path::new("b")));
    }
}
