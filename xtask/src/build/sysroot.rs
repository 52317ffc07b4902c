//! The libraries `core`, `alloc` and `compiler_builtins` for bare metal, compiled once for each target.
//!
//! They take longer to compile than a kernel. Under cargo's option `-Zbuild-std`, they belong to the crates that
//! use them, so cargo compiles them again for each profile and each set of flags, and it looks for the dependencies of
//! `std` in a registry, used or not. This compiles them as dependencies of a package of their own, and puts them where
//! the compiler looks for the libraries of a target: in a *sysroot* (`rustc --sysroot`).

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::setup::BuildTools;
use crate::temporary;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Result, cargo};

/// The package whose dependencies are the libraries: it is its own workspace. In its folder, `library` leads to their
/// sources, so that cargo's names for what it compiles do not depend on where these are. Release kernels take the
/// libraries' code as bitcode, for optimisation at link time. One codegen unit: optimising several together again,
/// which is the default, takes a tenth of the compiler's time.
const MANIFEST: &str = r#"[package]
name = "libraries"
version = "0.1.0"
edition = "2024"

[features]
alloc = ["dep:alloc"]

[dependencies]
alloc = { path = "library/alloc", optional = true }
core = { path = "library/core" }

[dependencies.compiler_builtins]
path = "library/compiler-builtins/compiler-builtins"
features = ["compiler-builtins", "mem"]

[workspace]
exclude = ["library"]

[profile.release]
codegen-units = 1
debug = "line-tables-only"
panic = "abort"
"#;
const SOURCE: &str = "#![no_std]\n";
/// Flags of the libraries, whatever they are linked into. Code models are the targets', which optimisation at link
/// time wants to be the same everywhere. Each crate compiles the functions that it uses as if they were its own, which
/// takes a sixth of the libraries' time, and kernels are smaller and a little faster. The last two do what cargo does under
/// `-Zbuild-std`: only libraries may use each other's unstable parts, and their warnings are not ours.
const FLAGS: [&str; 5] = [
    "-Crelocation-model=static",
    "-Cembed-bitcode=yes",
    "-Zcross-crate-inline-threshold=always",
    "-Zforce-unstable-if-unmarked",
    "-Awarnings",
];

/// The libraries that a program uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Libraries {
    /// `core` and `compiler_builtins`.
    Core,
    /// These and `alloc`.
    All,
}

impl Libraries {
    /// Cargo's options that compile them.
    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Core => &[],
            Self::All => &["--features=alloc"],
        }
    }
}

/// The sysroot for a target, with at least these libraries, compiled with `flags` beside those that all have. What is
/// missing is compiled: `alloc` when a program first wants it.
pub(super) fn sysroot(
    workspace: &Workspace,
    tools: &BuildTools,
    target: &str,
    libraries: Libraries,
    flags: &[&str],
) -> Result<PathBuf> {
    let sources = tools.toolchain.core_sources();
    let mut flags: Vec<_> = FLAGS
        .iter()
        .chain(flags)
        .map(|flag| flag.to_string())
        .collect();
    let mut hasher = DefaultHasher::new();
    (tools.toolchain.version(), &sources, MANIFEST, &flags).hash(&mut hasher);
    let parent = workspace.target().join(tools.folder).join("sysroots");
    let name = format!("{target}-{:08x}", hasher.finish() as u32);
    let folder = parent.join(&name);
    let place = folder.join("lib/rustlib").join(target).join("lib");
    if has(&place, libraries) {
        return Ok(folder);
    }
    let _alone = workspace.lock(&format!("libraries-{target}"))?;
    if has(&place, libraries) {
        return Ok(folder);
    }
    let context = || format!("cannot make the libraries in {}", parent.display());
    // Cargo's target folder is kept until `alloc` is compiled, so that cargo finds the other libraries in it then.
    let package = parent.join(format!("{name}.package"));
    fs::create_dir_all(package.join("src")).with_context(context)?;
    // By its real name, as the compiler sees it.
    let package = package.canonicalize().with_context(context)?;
    fs::write(package.join("Cargo.toml"), MANIFEST).with_context(context)?;
    fs::write(package.join("src/lib.rs"), SOURCE).with_context(context)?;
    match symlink(sources, package.join("library")) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(context);
        }
        _ => {}
    }
    // As in kernels, no folder of this host is in debug information.
    flags.push(format!("--remap-path-prefix={}=/rust", package.display()));
    let messages = package.join("messages");

    let mut command = tools.toolchain.cargo();
    command
        .current_dir(&package)
        .args(["build", "--release", "--target", target])
        .args(libraries.options())
        .args(["--message-format=json-render-diagnostics", "--target-dir"])
        .arg(package.join("target"))
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
        .stdout(File::create(&messages).with_context(context)?);
    let step = Step::begin(&format!("building the libraries for {target}"));
    cargo::run(&step, &mut command)?;

    fs::create_dir_all(&place).with_context(context)?;
    let files = artifacts(&messages).with_context(context)?;
    ensure!(!files.is_empty(), "cargo made no libraries for {target}");
    for file in files {
        let name = file.file_name().context("a library without a name")?;
        let to = place.join(name);
        if !to.exists() {
            let copy = temporary::File::beside(&to).with_context(context)?;
            fs::copy(&file, copy.path()).with_context(context)?;
            copy.keep_as(&to).with_context(context)?;
        }
    }
    fs::write(place.join(complete(libraries)), "").with_context(context)?;
    if libraries == Libraries::All {
        fs::remove_dir_all(&package).with_context(context)?;
    }
    Ok(folder)
}

/// Whether a folder of libraries has all that is wanted.
fn has(place: &Path, libraries: Libraries) -> bool {
    let made = |libraries| place.join(complete(libraries)).exists();
    made(libraries) || made(Libraries::All)
}

/// The file that says that all of these libraries are there.
fn complete(libraries: Libraries) -> &'static str {
    match libraries {
        Libraries::Core => "core.complete",
        Libraries::All => "all.complete",
    }
}

/// The libraries that cargo's messages name.
fn artifacts(messages: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for line in BufReader::new(File::open(messages)?).lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let names = message["filenames"].as_array().into_iter().flatten();
        let paths = names.filter_map(|name| Some(PathBuf::from(name.as_str()?)));
        files.extend(paths.filter(|path| path.extension() == Some(OsStr::new("rlib"))));
    }
    Ok(files)
}
