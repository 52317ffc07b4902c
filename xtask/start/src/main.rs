//! `cargo xtask`: builds the tool, and replaces itself by it.
//!
//! It has no dependencies, so it is built within a second or two, and shows cargo's own progress while cargo
//! builds the tool, which takes a minute the first time.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

/// The tool's crate, and its folder in the repository.
const TOOL: &str = "xtask";
/// The profile of the workspace for quick builds.
const PROFILE: &str = "tool";
/// Where the C compiler looks for a linker first (the manual of GCC, "Environment Variables Affecting GCC").
const LINKERS: &str = "COMPILER_PATH";
/// The exit code for a bad call or a failed build, as in the tool.
const CANNOT: u8 = 2;

fn main() -> ExitCode {
    match start() {
        Ok(never) => match never {},
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::from(CANNOT)
        }
    }
}

/// Builds the tool and replaces itself by it; returns only an error.
fn start() -> Result<std::convert::Infallible, String> {
    let own =
        env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let folder = Path::new(&own)
        .parent()
        .ok_or("the tool's folder is gone")?;
    let root = folder
        .parent()
        .ok_or("the tool's folder is not in a repository")?;
    let target =
        env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |path| root.join(path));
    let program = target.join(PROFILE).join(TOOL);

    let built = modified(&program);
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // Cargo's settings may name another target folder.
    cargo
        .current_dir(root)
        .args(["build", "--profile", PROFILE, "--package", TOOL])
        .arg("--target-dir")
        .arg(&target);
    if let (Some(linkers), None) = (linkers(&target), env::var_os(LINKERS)) {
        cargo.env(LINKERS, linkers);
    }
    if built.is_none() {
        eprintln!("building the tool, once; this takes a minute or two");
    } else if built >= newest(folder) && built >= modified(&root.join("Cargo.lock")) {
        cargo.arg("--quiet");
    }
    let status = cargo
        .status()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !status.success() {
        return Err("the tool could not be built; see cargo's output above".to_string());
    }
    let error = Command::new(&program)
        .args(env::args_os().skip(1))
        .env("CARGO_MANIFEST_DIR", folder)
        .exec();
    Err(format!("cannot start {}: {error}", program.display()))
}

/// A folder in which the C compiler, by which cargo links, finds LLVM's linker as `ld`, if that is installed: for the
/// tool and the programs that its build runs it takes a third of the time of GNU's.
fn linkers(target: &Path) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut linkers = env::split_paths(&path).map(|folder| folder.join("ld.lld"));
    let linker = linkers.find(|file| file.is_file())?;
    let folder = target.join("linkers");
    fs::create_dir_all(&folder).ok()?;
    match symlink(linker, folder.join("ld")) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => None,
        _ => Some(folder),
    }
}

/// The modification time of a file, if it exists.
fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|file| file.modified()).ok()
}

/// The modification time of the newest file below a folder.
fn newest(folder: &Path) -> Option<SystemTime> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .map(|path: PathBuf| {
            if path.is_dir() {
                newest(&path)
            } else {
                modified(&path)
            }
        })
        .max()
        .flatten()
}
