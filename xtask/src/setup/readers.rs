//! The programs that others wrote, and that read exported traces in tests.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use super::install_packages;
use crate::Result;
use crate::toolchain::find_program;
use crate::ui::Step;
use crate::workspace::Workspace;

/// The names that each may have, and its package of Debian.
const PROGRAMS: [(&[&str], &str); 2] = [
    (&["babeltrace2"], "babeltrace2"),
    (
        &["chromium", "chromium-browser", "google-chrome"],
        "chromium",
    ),
];
/// What is imported from the packages of PyPI.
const MODULES: &str = "import google.protobuf, perfetto.protos.perfetto.trace.perfetto_trace_pb2";
const PACKAGES: [&str; 2] = ["perfetto", "protobuf"];

/// Installs what is missing. Packages of PyPI get an environment of Python of their own, in the target folder.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let is_missing = |names: &[&str]| names.iter().all(|name| find_program(name).is_none());
    let programs = PROGRAMS.iter().filter(|(names, _)| is_missing(names));
    let mut missing: Vec<_> = programs.map(|(_, package)| *package).collect();
    let environment = environment(workspace);
    let own = environment.join("bin/python3");
    let has_modules = [Path::new("python3"), &own]
        .iter()
        .any(|python| can_run(python, MODULES));
    if !has_modules && !can_run(Path::new("python3"), "import ensurepip, venv") {
        missing.push("python3-venv");
    }
    install_packages(&missing)?;
    if has_modules {
        return Ok(());
    }
    let _step = Step::begin(&format!("installing {} of PyPI", PACKAGES.join(" and ")));
    let mut make = Command::new("python3");
    output(make.args(["-m", "venv"]).arg(&environment))?;
    let mut pip = Command::new(&own);
    output(pip.args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))
}

/// The search path of tests: Python's own environment comes first, if it was made.
pub(crate) fn search_path(workspace: &Workspace) -> Result<Option<OsString>> {
    let folder = environment(workspace).join("bin");
    if !folder.is_dir() {
        return Ok(None);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [folder].into_iter().chain(env::split_paths(&path));
    let path = env::join_paths(folders).context("the target folder's name contains a colon")?;
    Ok(Some(path))
}

fn environment(workspace: &Workspace) -> PathBuf {
    workspace.target().join("python")
}

fn can_run(python: &Path, program: &str) -> bool {
    let mut python = Command::new(python);
    let output = python.args(["-c", program]).stdin(Stdio::null()).output();
    output.is_ok_and(|output| output.status.success())
}

fn output(command: &mut Command) -> Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {command:?}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    bail!("{command:?} failed: {}", words.trim())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn programs_and_packages_are_those_of_the_tests() {
        let workspace = Workspace::find().unwrap();
        let tests = workspace.path("tools/trace/tests");
        let read = |file: &str| fs::read_to_string(tests.join(file)).unwrap();
        let files = ["ctf.rs", "common/browser.rs"].map(read);
        for ((names, package), text) in PROGRAMS.iter().zip(&files) {
            for name in *names {
                assert!(text.contains(&format!("\"{name}\"")), "{name}");
            }
            let installation = format!("apt-get install {package}\"");
            assert!(text.contains(&installation), "{installation}");
        }
        let installation = format!("pip install {}\"", PACKAGES.join(" "));
        assert!(read("perfetto.rs").contains(&installation));
    }
}
