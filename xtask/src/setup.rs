//! The tool's requirements, and their installation: QEMU, LLVM's linker, and a toolchain with the sources of
//! `core`.
//!
//! Each command requests what it needs; if that is present, the request takes no time. Otherwise it is
//! installed at once if the user is root; other users get the command line to type.

pub(crate) mod readers;

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::platform::Platform;
use crate::toolchain::{Toolchain, find_program};
use crate::ui::{Step, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result, sdk};

/// Debian's toolchain that is new enough, with the sources of `core`.
const DEBIAN_TOOLCHAIN: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// The tools for bare-metal builds.
#[derive(Debug)]
pub(crate) struct BuildTools {
    pub(crate) toolchain: Toolchain,
    pub(crate) linker: PathBuf,
    /// The folder in cargo's target folder. Builds by other toolchains need not wait for those by the usual
    /// one.
    pub(crate) folder: &'static str,
}

/// The command `setup`; with the readers of exported traces if they are wanted.
pub(crate) fn run(workspace: &Workspace, with_readers: bool) -> Result {
    let platforms = sdk::platforms(workspace)?;
    // All emulators and the linker in one call of apt.
    let mut missing = missing_emulators(&platforms);
    if linker(Toolchain::bare_metal().as_ref()).is_none() {
        missing.push("lld");
    }
    install_packages(&missing)?;
    if with_readers {
        readers::install(workspace)?;
    }
    let tools = build_tools()?;
    say(&format!("toolchain: {}", tools.toolchain.version()));
    say(&format!("linker:    {}", tools.linker.display()));
    for platform in &platforms {
        say(&format!(
            "{:<10} {}",
            format!("{}:", platform.name),
            emulator(platform)?.display()
        ));
    }
    say("nothing is missing");
    Ok(Outcome::Success)
}

/// The tools for building; installed if missing.
pub(crate) fn build_tools() -> Result<BuildTools> {
    let toolchain = match Toolchain::bare_metal() {
        Some(toolchain) => toolchain,
        None => install_toolchain()?,
    };
    let linker = match linker(Some(&toolchain)) {
        Some(linker) => linker,
        None => {
            install_packages(&["lld"])?;
            linker(Some(&toolchain)).context("the package `lld` has no program `ld.lld`")?
        }
    };
    Ok(BuildTools {
        toolchain,
        linker,
        folder: "bare-metal",
    })
}

/// The tools for building with other toolchains that are present and differ in their version.
pub(crate) fn other_build_tools(tools: &BuildTools) -> Vec<BuildTools> {
    let others = Toolchain::all_bare_metal().into_iter();
    others
        .filter(|toolchain| toolchain.version() != tools.toolchain.version())
        .map(|toolchain| BuildTools {
            toolchain,
            linker: tools.linker.clone(),
            folder: "bare-metal-others",
        })
        .collect()
}

/// A toolchain with the cargo subcommand `name`; Debian's `package` is installed if it is missing.
pub(crate) fn subcommand(name: &str, package: &str) -> Result<Toolchain> {
    let find = || Toolchain::with_subcommand(name);
    if find().is_none() {
        let hint = || format!("there is no `cargo {name}`; try `rustup component add {name}`");
        install_packages(&[package]).with_context(hint)?;
    }
    find().with_context(|| format!("the package `{package}` has no `cargo {name}`"))
}

/// Adds clippy to the toolchain for bare metal.
pub(crate) fn bare_metal_clippy(toolchain: &Toolchain) -> Result<()> {
    if toolchain.has_subcommand("clippy") {
        return Ok(());
    }
    if toolchain.is_debian() {
        return install_packages(&["rust-web-clippy"]);
    }
    bail!(
        "the toolchain {} has no clippy; try `rustup component add clippy`",
        toolchain.version()
    )
}

/// The emulator of `platform`; installed if missing.
pub(crate) fn emulator(platform: &Platform) -> Result<PathBuf> {
    let qemu = &platform.qemu;
    if find_program(&qemu.binary).is_none() {
        install_packages(&[&qemu.package])?;
    }
    find_program(&qemu.binary).with_context(|| {
        format!(
            "the package `{}` has no program `{}`",
            qemu.package, qemu.binary
        )
    })
}

/// Installs the emulators of all `platforms` in one step.
pub(crate) fn emulators(platforms: &[Platform]) -> Result<()> {
    install_packages(&missing_emulators(platforms))
}

fn missing_emulators(platforms: &[Platform]) -> Vec<&str> {
    let mut missing: Vec<_> = platforms
        .iter()
        .filter(|platform| find_program(&platform.qemu.binary).is_none())
        .map(|platform| &*platform.qemu.package)
        .collect();
    missing.dedup();
    missing
}

/// LLVM's linker: on the search path, or that of the toolchain.
pub(crate) fn linker(toolchain: Option<&Toolchain>) -> Option<PathBuf> {
    find_program("ld.lld").or_else(|| toolchain?.own_linker())
}

/// Gets a toolchain with core's sources: by rustup, else by apt.
fn install_toolchain() -> Result<Toolchain> {
    const WANTED: &str = "rustup toolchain install nightly --component rust-src";
    if find_program("rustup").is_some() {
        let step = Step::begin("adding core's sources to rustup's nightly");
        let _ = Command::new("rustup")
            .args(["component", "add", "rust-src", "--toolchain", "nightly"])
            .env("RUSTUP_MAX_RETRIES", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        if let Some(toolchain) = Toolchain::bare_metal() {
            return Ok(toolchain);
        }
        step.say("rustup could not add them; trying Debian's packages");
    }
    install_packages(&DEBIAN_TOOLCHAIN)
        .with_context(|| format!("no toolchain has core's sources (with rustup: {WANTED})"))?;
    Toolchain::bare_metal()
        .with_context(|| format!("no toolchain has core's sources (with rustup: {WANTED})"))
}

/// Installs Debian packages as root; for other users, the error contains the command line.
fn install_packages(packages: &[&str]) -> Result<()> {
    if packages.is_empty() {
        return Ok(());
    }
    let packages_line = packages.join(" ");
    if find_program("apt-get").is_none() {
        bail!(
            "this host lacks what Debian has in the packages {packages_line}; install that, and type the command again"
        );
    }
    if !nix::unistd::geteuid().is_root() {
        bail!("this host lacks {packages_line}; type: sudo apt-get install {packages_line}");
    }
    apt(
        &format!("installing {packages_line}: reading lists"),
        &["update"],
    )?;
    let mut arguments = vec!["install", "--yes", "--no-install-recommends"];
    arguments.extend_from_slice(packages);
    apt(&format!("installing {packages_line}"), &arguments)
}

fn apt(step: &str, arguments: &[&str]) -> Result<()> {
    let _step = Step::begin(step);
    let output = Command::new("apt-get")
        .arg("--quiet=2")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .output()
        .context("cannot start apt-get")?;
    // Outdated third-party package lists make an update fail, but rarely the installation.
    if output.status.success() || arguments == ["update"] {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    bail!("apt-get {} failed: {}", arguments.join(" "), words.trim())
}
