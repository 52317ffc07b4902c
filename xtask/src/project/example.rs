//! A project that begins as a copy of an example: the crates of the example are its components.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use super::{COMPONENTS, MANIFEST};
use crate::Result;
use crate::system::System;
use crate::workspace::Workspace;

/// The path of a file in the project, and its text.
pub(super) type File = (String, String);

/// The lines of a manifest in the repository's workspace, and those of the same crate in a project.
const LINES: [(&str, &str); 5] = [
    ("version.workspace = true\n", "version = \"0.1.0\"\n"),
    ("edition.workspace = true\n", "edition = \"2024\"\n"),
    ("license.workspace = true\n", ""),
    ("publish.workspace = true\n", "publish = false\n"),
    ("\n[lints]\nworkspace = true\n", ""),
];

/// The examples that may be templates: those that have no root task of their own.
pub(crate) fn names(workspace: &Workspace) -> Vec<String> {
    let mut names = System::names(workspace);
    names.retain(|name| System::load(workspace, name).is_ok_and(|system| system.is_generic()));
    names
}

/// The files of an example.
pub(super) fn of(workspace: &Workspace, name: &str) -> Result<Vec<File>> {
    let names = names(workspace);
    if !names.iter().any(|known| known == name) {
        bail!(
            "there is no template `{name}`; there are: {}",
            names.join(", ")
        );
    }
    let mut files = Vec::new();
    let folder = workspace.path(format!("systems/{name}"));
    collect(&folder, COMPONENTS, &mut files)
        .with_context(|| format!("cannot read {}", workspace.display(&folder)))?;
    // The description is beside the components.
    let description = System::file_in(Path::new(COMPONENTS));
    for (path, text) in &mut files {
        if Path::new(path) == description {
            *path = path.replacen(&format!("{COMPONENTS}/"), "", 1);
            *text = text.replacen("#:schema ../..", "#:schema @CHECKOUT@", 1);
        } else if path.ends_with(MANIFEST) {
            *text = LINES.iter().fold(text.clone(), |text, (here, there)| {
                text.replace(here, there)
            });
        }
    }
    Ok(files)
}

/// The workspace of the project, from that of a server and its client.
pub(super) fn workspace(text: &str) -> String {
    let is_wanted = |line: &&str| {
        ["default-members", "# What `cargo test`", "protocols ="]
            .iter()
            .all(|start| !line.starts_with(start))
    };
    let lines = text.lines().filter(is_wanted);
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    text.replace(", \"protocols\", \"tests\"]", "]")
}

/// Adds the files in a folder, under another name.
fn collect(folder: &Path, name: &str, files: &mut Vec<File>) -> std::io::Result<()> {
    for entry in folder.read_dir()? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push((name, fs::read_to_string(entry.path())?));
        }
    }
    Ok(())
}
