//! The crates that an SDK takes from the registry: their sources are in it, so that no build needs the registry.
//!
//! They are a *directory source* of cargo (The Cargo Book, "Source Replacement"). Cargo looks at the manifest of each
//! crate in the lock file, whether it compiles it or not, so a crate for other systems than an SDK's is there without its
//! sources: those for Windows would take more room than all others together.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use toml::{Table, Value};

use super::archive::Files;
use crate::Result;
use crate::cargo;
use crate::platform::Platform;
use crate::temporary;
use crate::toolchain::Toolchain;
use crate::ui::Step;

/// Their folder.
pub(crate) const FOLDER: &str = "vendor";
/// The setting that lets cargo take them from there. A project may be in the SDK's folder, and its settings give the
/// source the same name: cargo refuses two names for one folder.
const SETTING: &str = r#"
# The sources of all crates from crates.io that builds here need.
[source.crates-io]
replace-with = "sdk"

[source.sdk]
directory = "vendor"
"#;
const SETTINGS: &str = ".cargo/config.toml";
const LOCK: &str = "Cargo.lock";
const MANIFEST: &str = "Cargo.toml";
/// The systems on which the tool runs.
const HOSTS: [&str; 2] = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"];
/// Where the empty library of a crate without sources is.
const EMPTY: &str = "lib.rs";
/// What cargo reads of the manifest of a crate that it does not compile.
const READ: [&str; 7] = [
    "build-dependencies",
    "dependencies",
    // Features may name them.
    "dev-dependencies",
    "features",
    "lib",
    "package",
    "target",
];
const READ_OF_PACKAGE: [&str; 3] = ["edition", "name", "version"];

/// Adds the crates to an SDK for `platforms`, and leaves others out of its lock file.
pub(super) fn add(files: &mut Files, toolchain: &Toolchain, platforms: &[Platform]) -> Result<()> {
    let folder = temporary::Folder::new()?;
    for (path, bytes) in &*files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
        fs::write(path, bytes)?;
    }
    let call = |arguments: &[&str]| {
        let mut call = toolchain.cargo();
        call.current_dir(folder.path()).args(arguments);
        call
    };
    let step = Step::begin("copying the crates from the registry");
    let mut copy = call(&["vendor", "--quiet", "--versioned-dirs"]);
    // Without it cargo goes to crates.io even if settings name another source for its crates.
    copy.args(["--respect-source-config", FOLDER]);
    cargo::run(&step, copy.stdout(Stdio::null()))?;
    let used = used(call(&["tree", "--quiet"]), platforms)?;

    let crates = folder.path().join(FOLDER);
    for entry in fs::read_dir(&crates)? {
        let name = entry?.file_name();
        let name = name.to_str().context("a crate's name is not UTF-8")?;
        let (from, to) = (crates.join(name), format!("{FOLDER}/{name}"));
        if used.contains(name) {
            collect(&from, &to, files)?;
        } else {
            add_without_sources(&from, &to, files)
                .with_context(|| format!("cannot use the crate {name}"))?;
        }
    }
    files.insert(LOCK.to_string(), fs::read(folder.path().join(LOCK))?);
    let settings = files.entry(SETTINGS.to_string()).or_default();
    settings.extend_from_slice(SETTING.as_bytes());
    Ok(())
}

/// The folders of the crates that are compiled for a host of the tool or for a platform, with whatever features.
fn used(mut tree: Command, platforms: &[Platform]) -> Result<BTreeSet<String>> {
    tree.args(["--workspace", "--all-features", "--edges", "normal,build"])
        .args(["--prefix", "none", "--format", "{p}"]);
    let targets = platforms.iter().map(|platform| &*platform.target);
    for target in targets.chain(HOSTS).collect::<BTreeSet<_>>() {
        tree.args(["--target", target]);
    }
    let output = tree.output().context("cannot start cargo")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo tree` fails: {errors}");
    let lines = String::from_utf8(output.stdout)?;
    Ok(lines.lines().filter_map(folder_of).collect())
}

/// The folder of a crate in a line of `cargo tree`, such as `serde v1.0.0 (*)`.
fn folder_of(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    Some(format!("{name}-{version}"))
}

/// Adds all files of a folder under another name.
fn collect(from: &Path, to: &str, files: &mut Files) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().context("a file's name is not UTF-8")?;
        let to = format!("{to}/{name}");
        match entry.file_type()?.is_dir() {
            true => collect(&entry.path(), &to, files)?,
            false => drop(files.insert(to, fs::read(entry.path())?)),
        }
    }
    Ok(())
}

/// Adds a crate that nothing compiles: what cargo reads of its manifest, its checksum in the registry, and an empty library.
fn add_without_sources(from: &Path, to: &str, files: &mut Files) -> Result<()> {
    const CHECKSUM: &str = ".cargo-checksum.json";
    let manifest = fs::read_to_string(from.join(MANIFEST))?;
    let checksum = fs::read_to_string(from.join(CHECKSUM))?;
    let checksum: serde_json::Value = serde_json::from_str(&checksum)?;
    let checksum = serde_json::json!({ "files": {}, "package": checksum["package"] });
    let mut add =
        |file: &str, text: String| files.insert(format!("{to}/{file}"), text.into_bytes());
    add(MANIFEST, without_sources(&manifest)?);
    add(CHECKSUM, checksum.to_string());
    add(EMPTY, String::new());
    Ok(())
}

/// The manifest of a crate whose only file is an empty library.
fn without_sources(manifest: &str) -> Result<String> {
    let mut manifest: Table = manifest.parse()?;
    manifest.retain(|key, _| READ.contains(&key));
    let package = manifest.get_mut("package").and_then(Value::as_table_mut);
    let package = package.context("its manifest has no `package`")?;
    package.retain(|key, _| READ_OF_PACKAGE.contains(&key));
    // Whether it runs in the compiler decides which features of others it gets.
    let macros = manifest.get("lib").and_then(|lib| lib.get("proc-macro"));
    let mut lib = Table::from_iter(macros.map(|is| ("proc-macro".to_string(), is.clone())));
    lib.insert("path".to_string(), EMPTY.into());
    manifest.insert("lib".to_string(), lib.into());
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_crate() {
        let toml = "toml v1.2.1+spec-1.1.0 (*)";
        assert_eq!(folder_of(toml).unwrap(), "toml-1.2.1+spec-1.1.0");
        assert_eq!(folder_of("a v1.0.0 (proc-macro)").unwrap(), "a-1.0.0");
        assert_eq!(folder_of(""), None);
    }

    /// A host without access to crates.io has settings that name another source.
    #[test]
    fn crates_come_from_the_source_that_cargo_s_settings_name() {
        const NAME: &str = "crate-of-this-test";
        let text = |text: String| text.into_bytes();
        let manifest = |name: &str| format!("[package]\nname = '{name}'\nversion = '1.0.0'\n");
        let uses = format!(
            "{}[dependencies]\n{NAME} = '1'\n[workspace]\n",
            manifest("user")
        );
        let settings =
            "[source.crates-io]\nreplace-with = 'other'\n[source.other]\ndirectory = 'other'\n";
        let checksum = r#"{"files":{},"package":"1"}"#;
        let in_other = |file: &str| format!("other/{NAME}-1.0.0/{file}");
        let mut files = Files::from([
            (MANIFEST.to_string(), text(uses)),
            ("src/lib.rs".to_string(), Vec::new()),
            (SETTINGS.to_string(), text(settings.to_string())),
            (in_other(MANIFEST), text(manifest(NAME))),
            (in_other("src/lib.rs"), text("// Its own.".to_string())),
            (in_other(".cargo-checksum.json"), text(checksum.to_string())),
        ]);
        add(&mut files, &Toolchain::host().unwrap(), &[]).unwrap();
        let copy = &files[&format!("{FOLDER}/{NAME}-1.0.0/src/lib.rs")];
        assert_eq!(copy, b"// Its own.");
    }

    /// Names, features and dependencies are what cargo compares with the lock file.
    #[test]
    fn a_crate_may_be_there_without_its_sources() {
        let folder = temporary::Folder::new().unwrap();
        let manifest = "[package]\nname = 'a'\nversion = '1.0.0'\nlinks = 'a'\nbuild = 'build.rs'\n\
                        [lib]\nproc-macro = true\nname = 'a_'\npath = 'src/a.rs'\n[[bench]]\nname = 'b'\n\
                        [dependencies.c]\nversion = '1'\noptional = true\n[features]\nd = ['dep:c']\n\
                        [target.'cfg(unix)'.dependencies]\ne = '1'\n";
        fs::write(folder.path().join(MANIFEST), manifest).unwrap();
        let checksum = r#"{"files":{"src/a.rs":"1"},"package":"2"}"#;
        fs::write(folder.path().join(".cargo-checksum.json"), checksum).unwrap();
        let mut files = Files::new();
        add_without_sources(folder.path(), "vendor/a-1.0.0", &mut files).unwrap();
        let file = |name: &str| {
            let bytes = files[&format!("vendor/a-1.0.0/{name}")].clone();
            String::from_utf8(bytes).unwrap()
        };
        assert_eq!(files.len(), 3);
        assert_eq!(file(EMPTY), "");
        assert_eq!(
            file(".cargo-checksum.json"),
            r#"{"files":{},"package":"2"}"#
        );
        let wanted = "[package]\nname = 'a'\nversion = '1.0.0'\n[lib]\nproc-macro = true\npath = 'lib.rs'\n\
                      [dependencies.c]\nversion = '1'\noptional = true\n[features]\nd = ['dep:c']\n\
                      [target.'cfg(unix)'.dependencies]\ne = '1'\n";
        let wanted: Table = wanted.parse().unwrap();
        assert_eq!(file(MANIFEST).parse::<Table>().unwrap(), wanted);
    }
}
