//! The command `system`: checks a description, and shows the system in a table and a drawing.

mod svg;
mod table;

use std::collections::BTreeSet;
use std::fs;
use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use parking_lot::Mutex;
use system_description::{Checked, Platform as Board, SCHEMA, Source, check};

use crate::cli::SystemArguments;
use crate::platform::Platform;
use crate::system::System;
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result, project};

/// The platform that is shown unless another one is chosen.
const USUAL: &str = "pc99";

/// The command `system`.
pub(crate) fn run(workspace: &Workspace, arguments: &SystemArguments) -> Result {
    if arguments.schema {
        ui::print(SCHEMA)?;
        return Ok(Outcome::Success);
    }
    if let Some(file) = &arguments.svg {
        ui::require_file(file)?;
    }
    let boards = Platform::all_for_descriptions(workspace)?;
    let file = file(workspace, arguments.system.as_deref())?;
    let system = &of_file(workspace, &file, arguments.platform.as_deref())?;
    let board = board(&boards, &system.platform)?;
    if let Some(file) = &arguments.svg {
        ui::write(file, svg::draw(system, board))?;
    }
    ui::print(table::of(system, board))?;
    Ok(Outcome::Success)
}

/// The file of the system that an argument means: a path, or the name of a system; without one, that of the project.
pub(crate) fn file(workspace: &Workspace, name: Option<&str>) -> Result<PathBuf> {
    match (name, project::folder()) {
        (Some(name), _) => path_of(workspace, name),
        (None, Some(folder)) => Ok(System::file_in(&folder)),
        (None, None) => bail!("which system? Name a folder of systems/, or a file"),
    }
}

/// The system that a file describes, on a platform; complaints about it are shown, each once.
pub(crate) fn of_file(
    workspace: &Workspace,
    path: &Path,
    wanted: Option<&str>,
) -> Result<system_description::System> {
    let shown = workspace.display(path).to_string();
    let text = read(path, &shown)?;
    let source = Source {
        path: &shown,
        text: &text,
    };
    let boards = Platform::all_for_descriptions(workspace)?;
    if let Some(wanted) = wanted {
        Platform::load(workspace, wanted)?;
    }
    let checked = check(source, &boards);
    for words in unshown(&checked, source) {
        say(&words);
    }
    if !checked.is_good() {
        bail!("{shown} describes no system; see above");
    }
    let is_wanted = |one: &system_description::System| one.platform == wanted.unwrap_or(USUAL);
    let platforms: Vec<_> = checked
        .systems
        .iter()
        .map(|one| one.platform.clone())
        .collect();
    let place = match checked.systems.iter().position(is_wanted) {
        None if wanted.is_none() && !platforms.is_empty() => Some(0),
        place => place,
    };
    let Some(place) = place else {
        bail!(
            "the system is made for {} only; choose one by --platform",
            platforms.join(", ")
        );
    };
    Ok(checked
        .systems
        .into_iter()
        .nth(place)
        .expect("it has this place"))
}

/// Complaints about the descriptions of all systems, for `check`.
pub(crate) fn complaints(workspace: &Workspace) -> Result<Vec<String>> {
    let boards = Platform::all_for_descriptions(workspace)?;
    let mut complaints = Vec::new();
    for path in System::files(workspace) {
        let shown = workspace.display(&path).to_string();
        let text = read(&path, &shown)?;
        let source = Source {
            path: &shown,
            text: &text,
        };
        let checked = check(source, &boards);
        complaints.extend(
            checked
                .diagnostics
                .iter()
                .map(|one| one.line(source).to_string()),
        );
    }
    Ok(complaints)
}

/// The file that an argument means: a path, or the name of a system.
fn path_of(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let path = Path::new(name);
    if path.extension().is_some_and(|ending| ending == "toml") || path.components().count() > 1 {
        let is_folder = path.is_dir();
        return Ok(if is_folder {
            path.join("system.toml")
        } else {
            path.to_path_buf()
        });
    }
    let known = System::names(workspace);
    if !known.iter().any(|known| known == name) {
        bail!(
            "there is no system `{name}`; there are: {}",
            known.join(", ")
        );
    }
    Ok(System::file(workspace, &format!("systems/{name}")))
}

fn read(path: &Path, shown: &str) -> Result<String> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {shown}"))?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        anyhow!("{shown} is no text: byte {offset} is not UTF-8")
    })
}

fn board<'a>(boards: &'a [Board], name: &str) -> Result<&'a Board> {
    let board = boards.iter().find(|board| board.name == name);
    board.context("a system is only checked for known platforms")
}

/// The complaints that were not shown before: a command reads the same file for each build, and when it plans them.
fn unshown(checked: &Checked, source: Source) -> Vec<String> {
    static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let colour = stderr().is_terminal();
    let all = checked.diagnostics.iter();
    let all = all.map(|one| one.render(source, colour));
    let mut shown = SHOWN.lock();
    all.filter(|words| shown.insert(words.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;
    use system_description::Size;

    #[test]
    fn every_description_of_the_repository_is_accepted() {
        let workspace = Workspace::find().unwrap();
        assert_eq!(complaints(&workspace).unwrap(), [""; 0]);
    }

    #[test]
    fn every_example_system_is_described_with_its_time() {
        let workspace = Workspace::find().unwrap();
        let boards = Platform::all_for_descriptions(&workspace).unwrap();
        for name in System::names(&workspace) {
            let path = System::file(&workspace, &format!("systems/{name}"));
            let text = fs::read_to_string(&path).unwrap();
            let source = Source {
                path: &name,
                text: &text,
            };
            for system in check(source, &boards).systems {
                assert!(system.components.len() > 1, "{name} on {}", system.platform);
                let board = board(&boards, &system.platform).unwrap();
                assert!(!table::of(&system, board).is_empty());
                let drawing = svg::draw(&system, board);
                assert!(drawing.ends_with("</svg>\n"), "{name}");
                for core in system.cores() {
                    for (name, ..) in system.contexts(core) {
                        assert!(drawing.contains(&format!("\">{name} ")), "{name}");
                    }
                }
                for one in system.components.iter().filter(|one| one.program.is_some()) {
                    let bytes = one.stack.as_bytes() + one.heap.as_bytes();
                    let part = format!("\">{} {}<", one.name, Size::from_bytes(bytes));
                    assert!(drawing.contains(&part), "{name}: {part}");
                }
                for region in &system.regions {
                    let part = format!("\">{} (shared) {}<", region.name, region.size);
                    assert!(drawing.contains(&part), "{name}: {part}");
                }
                for device in system.components.iter().flat_map(|one| &one.devices) {
                    for range in &device.resources.registers {
                        let place = format!("at {:#x}", range.address);
                        assert!(drawing.contains(&place), "{name}: {place}");
                    }
                }
            }
        }
    }

    /// The page with all keys.
    fn page() -> String {
        let workspace = Workspace::find().unwrap();
        fs::read_to_string(workspace.path("docs/src/reference/system-description.md")).unwrap()
    }

    #[test]
    fn the_example_of_the_book_is_accepted() {
        let page = page();
        let (_, example) = page.split_once("```toml\n").unwrap();
        let (example, _) = example.split_once("```").unwrap();
        let source = Source {
            path: "system.toml",
            text: example,
        };
        let boards = Platform::all_for_descriptions(&Workspace::find().unwrap()).unwrap();
        let checked = check(source, &boards);
        assert_eq!(checked.diagnostics, []);
        assert_eq!(checked.systems.len(), boards.len());
        // The mistake that the page shows.
        let text = example.replace("priority = 150", "priority = 110");
        let source = Source {
            path: "system.toml",
            text: &text,
        };
        let shown = check(source, &boards).diagnostics[0].render(source, false);
        assert!(page.contains(&shown), "{shown}");
    }

    #[test]
    fn the_book_lists_every_key() {
        let page = page();
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let mut tables = vec![&schema];
        tables.extend(schema["$defs"].as_object().unwrap().values());
        let keys = tables
            .iter()
            .filter_map(|table| table["properties"].as_object());
        for key in keys.flat_map(|keys| keys.keys()) {
            let is_listed = [format!("`{key}`"), format!("`{key}."), format!("{{ {key}")];
            assert!(is_listed.iter().any(|form| page.contains(form)), "{key}");
        }
    }

    #[test]
    fn the_book_lists_every_device() {
        let (page, workspace) = (page(), Workspace::find().unwrap());
        for board in Platform::all_for_descriptions(&workspace).unwrap() {
            for name in board.devices.keys() {
                let row = page
                    .lines()
                    .find(|line| line.starts_with(&format!("| `{name}` |")));
                let row = row.unwrap_or_else(|| panic!("{name}"));
                assert!(
                    row.contains(&board.name) || row.ends_with("| all |"),
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn a_warning_is_shown_once() {
        let boards = Platform::all_for_descriptions(&Workspace::find().unwrap()).unwrap();
        let source = Source {
            path: "the system of this test",
            text: "memory.m.size = \"4 KiB\"",
        };
        let shown = || unshown(&check(source, &boards), source);
        let first = shown();
        let warning = "no component uses the memory `m`";
        assert!(first.iter().any(|one| one.contains(warning)), "{first:?}");
        assert_eq!(shown(), [""; 0]);
    }

    #[test]
    fn files_and_names_are_told_apart() {
        let workspace = Workspace::find().unwrap();
        let path = |name| path_of(&workspace, name).unwrap();
        assert!(path("demo").ends_with("systems/demo/system.toml"));
        assert_eq!(path("other.toml"), Path::new("other.toml"));
        assert_eq!(
            path("nowhere/system.toml"),
            Path::new("nowhere/system.toml")
        );
        let error = path_of(&workspace, "abacus").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no system `abacus`; there are: actions, apart, "),
            "{error}"
        );
    }

    #[test]
    fn files_that_are_no_text_are_refused() {
        let folder = temporary::Folder::new().unwrap();
        let path = folder.path().join("system.toml");
        fs::write(&path, b"title = \"\xff\"").unwrap();
        let error = read(&path, "s").unwrap_err().to_string();
        assert_eq!(error, "s is no text: byte 9 is not UTF-8");
        let missing = read(&folder.path().join("x"), "x").unwrap_err().to_string();
        assert_eq!(missing, "cannot read x");
    }
}
