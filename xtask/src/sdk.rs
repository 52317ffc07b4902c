//! The SDK: one archive with which projects are built without this repository. It holds prebuilt kernels, the
//! sources of the user's side and of this tool, and the book. Unpacked, it takes the place of a checkout, and the tool
//! takes its kernels instead of compiling one.

mod archive;
mod kernels;
mod manifests;
mod vendored;

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use crate::build::{self, Recipe};
use crate::cli::{Hardening, SdkArguments};
use crate::crates::{self, Crate};
use crate::platform::Platform;
use crate::setup::{self, BuildTools};
use crate::ui;
use crate::workspace::Workspace;
use crate::{Outcome, Result, project};
use archive::Files;
use kernels::Prebuilt;
pub(crate) use vendored::FOLDER as VENDOR;

/// The file that makes a folder an SDK: its manifest.
const MANIFEST: &str = "sdk.toml";
/// The version of the SDK: that of the tool.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The crates that an SDK needs, with those on which they depend: the tool, programs that it builds when needed, what
/// user programs name, and the simulator for their tests, which has the portable kernel. The crates of the example systems come with them.
const CRATES: [&str; 11] = [
    "xtask",
    "xtask-start",
    "analyser",
    "symbols",
    "trace",
    "userlib",
    "initialiser",
    "dispatcher",
    "encoded",
    "system-table",
    "simulator",
];
/// The folders of example systems.
const EXAMPLES: &str = "systems";
/// Other files and folders that an SDK holds.
const OTHERS: [&str; 12] = [
    ".cargo/config.toml",
    "Cargo.lock",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "benches/aims.toml",
    "benches/literature.toml",
    "benches/overheads",
    "docs",
    // The base of several platforms, and what reads it.
    "platforms/board/description.rs",
    "platforms/board/virt.toml",
    "rust-toolchain.toml",
    EXAMPLES,
];
const README: &str = include_str!("../template/sdk.md");

/// What an SDK holds besides sources.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sdk {
    version: String,
    kernel: Vec<Prebuilt>,
}

impl Sdk {
    /// The SDK to which the tool belongs, if it does not belong to a checkout.
    pub(crate) fn of(workspace: &Workspace) -> Result<Option<Self>> {
        let path = workspace.path(MANIFEST);
        let context = || format!("cannot use {}", path.display());
        match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text).map(Some).with_context(context),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(context),
        }
    }

    /// The file of the kernel that a build asks for.
    pub(crate) fn kernel(
        &self,
        workspace: &Workspace,
        platform: &Platform,
        recipe: &Recipe<'_>,
    ) -> Result<PathBuf> {
        let kernel = kernels::find(&self.kernel, &platform.name, recipe)?;
        Ok(workspace.path(kernel.file()))
    }

    /// The file of a platform's stub.
    pub(crate) fn stub(workspace: &Workspace, platform: &Platform) -> PathBuf {
        workspace.path(stub_file(platform))
    }
}

/// Refuses `command` in an SDK.
pub(crate) fn require_checkout(workspace: &Workspace, command: &str) -> Result<()> {
    if Sdk::of(workspace)?.is_none() {
        return Ok(());
    }
    let folder = project::folder().map_or(String::new(), |folder| {
        format!("{}={} ", project::FOLDER, folder.display())
    });
    bail!(
        "`{command}` needs kernels and tests of which an SDK does not have the sources; in a checkout of Escapement \
         call: {folder}cargo xtask {command}"
    )
}

/// The platforms for which there are kernels: in a checkout all, because it compiles them.
pub(crate) fn platforms(workspace: &Workspace) -> Result<Vec<Platform>> {
    let mut names = Platform::names(workspace);
    if let Some(sdk) = Sdk::of(workspace)? {
        let with_kernels = kernels::platforms(&sdk.kernel);
        names.retain(|name| with_kernels.contains(&**name));
    }
    let load = |name: &String| Platform::load(workspace, name);
    names.iter().map(load).collect()
}

/// Refuses a platform for which an SDK has no kernels.
pub(crate) fn require_kernels(workspace: &Workspace, platform: &Platform) -> Result<()> {
    match Sdk::of(workspace)? {
        Some(sdk) => kernels::require(&sdk.kernel, &platform.name),
        None => Ok(()),
    }
}

fn stub_file(platform: &Platform) -> String {
    format!("kernels/{}/stub.elf", platform.name)
}

/// The command `sdk`.
pub(crate) fn run(workspace: &Workspace, arguments: &SdkArguments) -> Result {
    let name = format!("escapement-sdk-{VERSION}");
    let usual = || workspace.target().join(format!("{name}.tar"));
    let path = arguments.output.clone().unwrap_or_else(usual);
    ui::require_file(&path)?;
    let names = match &*arguments.platforms {
        [] => Platform::names(workspace),
        names => names.to_vec(),
    };
    let platforms: Result<Vec<_>> = names
        .iter()
        .map(|name| Platform::load(workspace, name))
        .collect();
    let platforms = platforms?;
    let kernels: Vec<_> = platforms
        .iter()
        .flat_map(|platform| kernels::of(platform, &arguments.kinds, &arguments.abi))
        .collect();
    let tools = setup::build_tools()?;
    let mut files = sources(workspace, &kernels)?;
    vendored::add(&mut files, &tools.toolchain, &platforms)?;
    files.extend(prebuilt(workspace, &tools, &platforms, &kernels)?);
    write(&path, &name, &files)?;
    ui::print(format!("{}\n", path.display()))?;
    Ok(Outcome::Success)
}

/// Writes the archive completely, or not at all.
fn write(path: &Path, name: &str, files: &Files) -> Result<()> {
    let mut bytes = Vec::new();
    archive::write(&mut bytes, name, files)?;
    ui::write(path, bytes)
}

/// The kernels, and the stubs for `platforms`. Those for different targets are built at the same time.
fn prebuilt(
    workspace: &Workspace,
    tools: &BuildTools,
    platforms: &[Platform],
    kernels: &[Prebuilt],
) -> Result<Files> {
    let targets: BTreeSet<_> = platforms.iter().map(|platform| &*platform.target).collect();
    thread::scope(|scope| {
        let builders = targets.into_iter().map(|target| {
            let is_for_it = move |one: &&Platform| one.target == target;
            let platforms = platforms.iter().filter(is_for_it);
            scope.spawn(move || in_turn(workspace, tools, platforms, kernels))
        });
        let builders: Vec<_> = builders.collect();
        let mut files = Files::new();
        for builder in builders {
            let built = builder.join().unwrap_or_else(|panic| resume_unwind(panic));
            files.extend(built?);
        }
        Ok(files)
    })
}

/// The kernels, and the stubs for `platforms`, one after the other.
fn in_turn<'a>(
    workspace: &Workspace,
    tools: &BuildTools,
    platforms: impl Iterator<Item = &'a Platform>,
    kernels: &[Prebuilt],
) -> Result<Files> {
    let hardening = Hardening::default();
    let mut files = Files::new();
    for platform in platforms {
        for kernel in kernels.iter().filter(|one| one.platform == platform.name) {
            let recipe = kernel.recipe(&hardening);
            let bytes = build::prebuilt(workspace, tools, platform, &recipe)?;
            files.insert(kernel.file(), bytes);
        }
        if let Some(bytes) = build::prebuilt_stub(workspace, tools, platform)? {
            files.insert(stub_file(platform), bytes);
        }
    }
    Ok(files)
}

/// The repository's files in an SDK.
fn sources(workspace: &Workspace, kernels: &[Prebuilt]) -> Result<Files> {
    let all = crates::all(workspace)?;
    let examples = all.iter().filter(|one| one.folder.starts_with(EXAMPLES));
    let roots: Vec<_> = CRATES
        .into_iter()
        .chain(examples.map(|one| &*one.name))
        .collect();
    let names = crates::closure(&all, &roots);
    // The innermost crate is the one to which a file belongs.
    let owner = |file: &Path| {
        let crates = all.iter().filter(|one| file.starts_with(&one.folder));
        crates.max_by_key(|one| one.folder.iter().count())
    };
    // Descriptions of systems also name platforms for which there are no kernels.
    let is_platform =
        |file: &Path| file.starts_with("platforms") && file.ends_with("platform.toml");
    let is_wanted = |file: &Path| {
        let is_in_crate = owner(file).is_some_and(|one| names.contains(&&*one.name));
        is_in_crate || is_platform(file) || OTHERS.iter().any(|other| file.starts_with(other))
    };
    let mut files = Files::new();
    for path in workspace.files()?.iter().filter(|path| is_wanted(path)) {
        let context = || format!("cannot read {}", path.display());
        let mut bytes = fs::read(workspace.path(path)).with_context(context)?;
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            let text = String::from_utf8(bytes).with_context(context)?;
            let text = manifests::of_crate(&text);
            bytes = text
                .with_context(|| format!("cannot use {}", path.display()))?
                .into_bytes();
        }
        let path = path.to_str().context("a path is not UTF-8")?;
        files.insert(path.to_string(), bytes);
    }
    let is_member = |one: &&Crate| names.contains(&&*one.name);
    let members = all.iter().filter(is_member).map(|one| {
        let folder = one.folder.to_string_lossy().into_owned();
        (folder, one.name.clone())
    });
    let members: Vec<_> = members.collect();
    let text = fs::read_to_string(workspace.path("Cargo.toml"))?;
    let text = manifests::of_workspace(&text, &members)?;
    files.insert("Cargo.toml".to_string(), text.into_bytes());
    files.insert("README.md".to_string(), README.as_bytes().to_vec());
    let sdk = Sdk {
        version: VERSION.to_string(),
        kernel: kernels.to_vec(),
    };
    files.insert(MANIFEST.to_string(), toml::to_string(&sdk)?.into_bytes());
    Ok(files)
}

#[cfg(test)]
mod tests;
