//! Projects outside of the repository: a system in a folder of its own, built against this checkout.

pub(crate) mod check;
mod example;

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::cli::NewArguments;
use crate::sdk;
use crate::temporary;
use crate::ui::say;
use crate::workspace::Workspace;
use crate::{Outcome, Result};

pub(crate) use example::names as templates;

/// The variable with the project's folder, which its `.cargo/config.toml` sets.
pub(crate) const FOLDER: &str = "ESCAPEMENT_PROJECT";
/// The folder in a project with the types of what its components get, for editors.
pub(crate) const GIVEN: &str = "target/given";
/// The manifest in a project of its tests on the host, if it has some.
pub(crate) const TESTS: &str = "tests/Cargo.toml";
/// The folder in a project for the crates of its programs.
pub(crate) const COMPONENTS: &str = "components";
const MANIFEST: &str = "Cargo.toml";
/// Cargo's settings in a project.
const SETTINGS: &str = ".cargo/config.toml";
/// What they have besides if Escapement is an SDK.
const SETTINGS_WITH_SDK: &str = include_str!("../template/crates.toml");
/// The longest name of a project.
const LONGEST: usize = 32;

/// The files of each new project.
const FILES: &[(&str, &str)] = &[
    (SETTINGS, include_str!("../template/config.toml")),
    (
        ".github/workflows/test.yml",
        include_str!("../template/ci.yml"),
    ),
    (".gitignore", "target\n"),
    (
        ".vscode/extensions.json",
        include_str!("../template/extensions.json"),
    ),
    (
        ".vscode/settings.json",
        include_str!("../template/settings.json"),
    ),
    (MANIFEST, include_str!("../template/workspace.toml")),
    ("README.md", include_str!("../template/README.md")),
    // With rustup, a project is built by the toolchain of Escapement, and the tool is not built again by another one.
    (
        "rust-toolchain.toml",
        include_str!("../../rust-toolchain.toml"),
    ),
];
/// Those of a server and its client.
const PAIR: &[(&str, &str)] = &[
    (
        "protocols/Cargo.toml",
        include_str!("../template/protocols.toml"),
    ),
    (
        "protocols/src/lib.rs",
        include_str!("../template/protocols.rs"),
    ),
    ("system.toml", include_str!("../template/system.toml")),
    (
        "components/client/src/main.rs",
        include_str!("../template/client.rs"),
    ),
    (
        "components/server/src/lib.rs",
        include_str!("../template/adder.rs"),
    ),
    (
        "components/server/src/main.rs",
        include_str!("../template/server.rs"),
    ),
    ("tests/Cargo.toml", include_str!("../template/tests.toml")),
    (
        "tests/timing.rs",
        include_str!("../template/tests/timing.rs"),
    ),
];
const COMPONENT: &str = include_str!("../template/component.toml");

/// The folder of the project in which the tool was called, if it was in one.
pub(crate) fn folder() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

/// The tool's command here.
pub(crate) fn tool() -> &'static str {
    match folder() {
        Some(_) => "cargo escapement",
        None => "cargo xtask",
    }
}

/// The command `new`.
pub(crate) fn run(workspace: &Workspace, arguments: &NewArguments) -> Result {
    create(workspace, &arguments.path, arguments.template.as_deref())?;
    let path = arguments.path.display();
    say(&format!(
        "{path} is made; now: cd {path} && cargo escapement qemu"
    ));
    Ok(Outcome::Success)
}

/// Makes a project, of a server and its client or as a copy of an example.
pub(crate) fn create(workspace: &Workspace, path: &Path, template: Option<&str>) -> Result<()> {
    let example = template.map(|name| example::of(workspace, name));
    let example = example.transpose()?;
    let name = path.file_name().and_then(|name| name.to_str());
    let is_good = |name: &str| {
        let good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
        name.starts_with(|letter: char| letter.is_ascii_alphabetic())
            && name.chars().all(good)
            && name.len() <= LONGEST
    };
    let Some(name) = name.filter(|name| is_good(name)) else {
        bail!(
            "{} has no name for a project; begin with a letter, and use letters, digits, `-` and `_`, {LONGEST} \
             at the most",
            path.display()
        );
    };
    if path.exists() {
        bail!("{} exists already; choose another path", path.display());
    }
    let checkout = workspace
        .root()
        .to_str()
        .filter(|path| !path.contains(['"', '\'', '\\', '$', '`', ' ']));
    let Some(checkout) = checkout else {
        bail!(
            "the path of Escapement, {}, cannot be written into a project; move it to one without spaces, \
             quotes, backslashes and dollar signs",
            workspace.root().display()
        );
    };
    // Complete, or not at all.
    let context = || format!("cannot write {}", path.display());
    let folder = temporary::Folder::beside(path).with_context(context)?;
    let made = folder.path().join(name);
    write(workspace, &made, name, checkout, example.as_deref()).with_context(context)?;
    fs::rename(&made, path).with_context(context)
}

/// Writes the files of a project.
fn write(
    workspace: &Workspace,
    folder: &Path,
    name: &str,
    checkout: &str,
    example: Option<&[example::File]>,
) -> io::Result<()> {
    let write = |file: &str, text: &str| {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().unwrap_or(folder))?;
        fs::write(&file, text)
    };
    // The path of a checkout can contain any text, a name cannot contain `@`.
    let filled = |text: &str| text.replace("@NAME@", name).replace("@CHECKOUT@", checkout);
    for (file, text) in FILES {
        let text = match (*file, example) {
            (MANIFEST, Some(_)) => example::workspace(text),
            (SETTINGS, _) if workspace.path(sdk::VENDOR).is_dir() => {
                [*text, SETTINGS_WITH_SDK].concat()
            }
            _ => (*text).to_string(),
        };
        write(file, &filled(&text))?;
    }
    match example {
        Some(files) => {
            for (file, text) in files {
                write(file, &filled(text))?;
            }
        }
        None => {
            for (file, text) in PAIR {
                write(file, &filled(text))?;
            }
            for component in ["client", "server"] {
                let text = COMPONENT.replace("@COMPONENT@", component);
                write(&format!("{COMPONENTS}/{component}/{MANIFEST}"), &text)?;
            }
        }
    }
    // The same versions of everything; cargo removes what the project does not use. An SDK's file may be read-only, but not
    // this one.
    let versions = fs::read(workspace.path("Cargo.lock"))?;
    fs::write(folder.join("Cargo.lock"), versions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;
    use saphyr::{LoadableYamlNode, Yaml};
    use std::os::unix::fs::PermissionsExt;
    use system_description::Source;

    #[test]
    fn a_project_is_made_where_nothing_was() {
        let workspace = Workspace::find().unwrap();
        let folder = temporary::Folder::new().unwrap();
        let path = folder.path().join("hello");
        create(&workspace, &path, None).unwrap();
        for (file, _) in FILES.iter().chain(PAIR) {
            let text = fs::read_to_string(path.join(file)).unwrap();
            assert!(
                !text.contains("@NAME@") && !text.contains("@CHECKOUT@"),
                "{file}"
            );
        }
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "only the project is left");
        let error = create(&workspace, &path, None).unwrap_err().to_string();
        assert!(
            error.ends_with("hello exists already; choose another path"),
            "{error}"
        );
        let error = create(&workspace, &folder.path().join("9 lives"), None).unwrap_err();
        assert!(
            error.to_string().contains("has no name for a project"),
            "{error}"
        );
    }

    /// They are to be changed if Escapement moves.
    #[test]
    fn the_readme_names_the_files_with_the_path_of_escapement() {
        let readme = include_str!("../template/README.md");
        for (file, text) in FILES.iter().chain(PAIR) {
            let has_path = text.contains("@CHECKOUT@");
            assert!(!has_path || readme.contains(&format!("`{file}`")), "{file}");
        }
        assert!(!COMPONENT.contains("@CHECKOUT@"));
    }

    #[test]
    fn the_files_are_what_they_claim_to_be() {
        let workspace = Workspace::find().unwrap();
        let folder = temporary::Folder::new().unwrap();
        let path = folder.path().join("hello");
        create(&workspace, &path, None).unwrap();
        let components = ["client", "server"].map(|name| format!("components/{name}/Cargo.toml"));
        let components = components.iter().map(String::as_str);
        let files = FILES.iter().chain(PAIR).map(|(file, _)| *file);
        for file in files.chain(components) {
            let text = fs::read_to_string(path.join(file)).unwrap();
            match Path::new(file)
                .extension()
                .and_then(|ending| ending.to_str())
            {
                Some("toml") => drop(text.parse::<toml::Table>().expect(file)),
                Some("json") => drop(serde_json::from_str::<serde_json::Value>(&text).expect(file)),
                Some("yml") => {
                    let files = Yaml::load_from_str(&text).expect(file);
                    let steps = &files[0]["jobs"]["test"]["steps"];
                    let last = steps.as_vec().and_then(|steps| steps.last());
                    let command = last.and_then(|step| step["run"].as_str()).unwrap();
                    assert!(command.starts_with("cargo escapement test"), "{command}");
                }
                _ => {}
            }
        }
        let settings = fs::read_to_string(path.join(".vscode/settings.json")).unwrap();
        let settings: serde_json::Value = serde_json::from_str(&settings).unwrap();
        let schemas = &settings["evenBetterToml.schema.associations"];
        let schema = schemas["^.*/system\\.toml$"].as_str().unwrap();
        let schema = schema.strip_prefix("file://").unwrap();
        assert_eq!(
            fs::read_to_string(schema).unwrap(),
            system_description::SCHEMA
        );
    }

    #[test]
    fn the_description_is_accepted_for_every_platform() {
        let workspace = Workspace::find().unwrap();
        let folder = temporary::Folder::new().unwrap();
        let path = folder.path().join("hello");
        create(&workspace, &path, None).unwrap();
        let text = fs::read_to_string(path.join("system.toml")).unwrap();
        let source = Source {
            path: "system.toml",
            text: &text,
        };
        let boards = Platform::all_for_descriptions(&workspace).unwrap();
        let checked = system_description::check(source, &boards);
        assert_eq!(checked.diagnostics, []);
        assert_eq!(checked.systems.len(), boards.len());
    }

    #[test]
    fn a_path_may_contain_what_a_template_replaces() {
        let workspace = Workspace::find().unwrap();
        let folder = temporary::Folder::new().unwrap();
        let checkout = "checkouts/NAME@NAME@";
        write(&workspace, folder.path(), "hello", checkout, None).unwrap();
        let text = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        let userlib = format!("{checkout}/userlib");
        assert!(text.contains(&userlib), "{text}");
    }

    #[test]
    fn a_project_takes_the_crates_of_an_sdk() {
        let folder = temporary::Folder::new().unwrap();
        let sdk = folder.path().join("sdk");
        fs::create_dir_all(&sdk).unwrap();
        let versions = sdk.join("Cargo.lock");
        fs::write(&versions, "").unwrap();
        fs::set_permissions(&versions, fs::Permissions::from_mode(0o444)).unwrap();
        let settings = |name: &str| {
            let path = folder.path().join(name);
            create(&Workspace::at(&sdk), &path, None).unwrap();
            let versions = fs::metadata(path.join("Cargo.lock")).unwrap();
            assert!(!versions.permissions().readonly());
            let text = fs::read_to_string(path.join(SETTINGS)).unwrap();
            text.parse::<toml::Table>().unwrap()
        };
        assert!(!settings("of-checkout").contains_key("source"));
        let crates = sdk.join("vendor");
        fs::create_dir(&crates).unwrap();
        let sources = &settings("of-sdk")["source"];
        assert_eq!(sources["crates-io"]["replace-with"].as_str(), Some("sdk"));
        assert_eq!(sources["sdk"]["directory"].as_str(), crates.to_str());
    }

    /// Each example that may be a template is accepted as a project, and asks nothing of a workspace but the userlib.
    #[test]
    fn a_project_may_begin_as_an_example() {
        let workspace = Workspace::find().unwrap();
        let folder = temporary::Folder::new().unwrap();
        let error = create(&workspace, &folder.path().join("a"), Some("weights")).unwrap_err();
        let error = error.to_string();
        let begin = "there is no template `weights`; there are: actions, apart, ";
        assert!(error.starts_with(begin), "{error}");
        let (_, names) = error.split_once("there are: ").unwrap();
        assert!(names.split(", ").count() > 10, "{names}");
        let boards = Platform::all_for_descriptions(&workspace).unwrap();
        for name in names.split(", ") {
            let path = folder.path().join(name);
            create(&workspace, &path, Some(name)).unwrap();
            let text = fs::read_to_string(path.join("system.toml")).unwrap();
            let source = Source {
                path: "system.toml",
                text: &text,
            };
            assert!(
                system_description::check(source, &boards).is_good(),
                "{name}"
            );
            let schema = text.lines().next().unwrap().strip_prefix("#:schema ");
            assert!(Path::new(schema.unwrap()).exists(), "{name}");
            for component in fs::read_dir(path.join(COMPONENTS)).unwrap() {
                let manifest = fs::read_to_string(component.unwrap().path().join(MANIFEST));
                let manifest = manifest.unwrap();
                assert!(manifest.contains("\nedition = \"2024\"\n"), "{manifest}");
                let asked = ["encoded.workspace = true", "userlib.workspace = true"]
                    .iter()
                    .chain(&["userlib = { workspace = true,"])
                    .fold(manifest.clone(), |text, known| text.replace(known, ""));
                assert!(!asked.contains("workspace = true"), "{manifest}");
            }
            let all = fs::read_to_string(path.join(MANIFEST)).unwrap();
            assert!(!all.contains("protocols"), "{all}");
        }
    }
}
