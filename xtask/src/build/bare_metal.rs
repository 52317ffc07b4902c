//! Calls of cargo for bare metal: target, flags, and the libraries.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{self, Path, PathBuf};
use std::process::Command;

use parking_lot::FairMutexGuard;

use super::board;
use super::sysroot::{Libraries, sysroot};
use crate::cli::AbiOption;
use crate::platform::{Platform, Stub};
use crate::setup::BuildTools;
use crate::ui::Step;
use crate::workspace::Workspace;
use crate::{Result, cargo};

/// The two sides of the system-call boundary, which differ in flags, and the stub that runs before the
/// kernel, which may differ in its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Kernel,
    User,
    Stub,
}

/// The flag for indirect branches that no training of the branch prediction redirects.
const RETPOLINES: &str = "-Zretpoline";
/// The flags with which what is never to happen stops the core at once, without words and places that would take memory.
const WITHOUT_PANICS: [&str; 2] = ["-Zunstable-options", "-Cpanic=immediate-abort"];
/// The flag that allows libraries without it.
const OTHER_LIBRARIES: &str = "-Cunsafe-allow-abi-mismatch=retpoline";

/// Where cargo unpacks what it downloads (The Cargo Book, "Cargo Home").
fn registry() -> Option<PathBuf> {
    let home = match env::var_os("CARGO_HOME").filter(|home| !home.is_empty()) {
        Some(home) => path::absolute(home).ok()?,
        None => env::home_dir()?.join(".cargo"),
    };
    Some(home.join("registry/src"))
}

/// Compiles for one platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BareMetal<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) tools: &'a BuildTools,
    pub(crate) platform: &'a Platform,
    /// What runs before the kernel.
    pub(crate) stub: Option<&'a Stub>,
    /// Whether default features are left out.
    pub(crate) bare: bool,
    /// Whether the kernel is compiled for size.
    pub(crate) small: bool,
    /// Whether the interface is that of multicore kernels.
    pub(crate) smp: bool,
    /// Whether programs mark points in the kernel's trace.
    pub(crate) tracing: bool,
    /// Whether the kernel's indirect branches are compiled as retpolines, so that branch prediction cannot be
    /// trained.
    pub(crate) retpolines: bool,
    /// Whether the libraries are compiled with retpolines, too.
    pub(crate) libraries_with_retpolines: bool,
    /// The folder of the project whose crates are built, if they are not the repository's.
    pub(crate) project: Option<&'a Path>,
    /// What user programs use of the libraries.
    pub(crate) libraries: Libraries,
}

impl<'a> BareMetal<'a> {
    /// For one core and without special wishes.
    pub(crate) fn new(
        workspace: &'a Workspace,
        tools: &'a BuildTools,
        platform: &'a Platform,
    ) -> Self {
        Self {
            workspace,
            tools,
            platform,
            stub: platform.stub.as_ref(),
            bare: false,
            small: false,
            smp: false,
            tracing: false,
            retpolines: false,
            libraries_with_retpolines: false,
            project: None,
            libraries: Libraries::All,
        }
    }

    /// Builds `crates` in one go.
    #[expect(
        clippy::too_many_arguments,
        reason = "a call of cargo has as many parts"
    )]
    pub(crate) fn build(
        &self,
        side: Side,
        step: &str,
        profile: &str,
        crates: &[&str],
        features: &[String],
        abi: &[AbiOption],
        environment: &[(String, OsString)],
    ) -> Result<()> {
        let mut command = self.tools.toolchain.cargo();
        command.args(["build", "--profile", profile]);
        self.complete(&mut command, side, crates, features, abi)?;
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        cargo::run(&Step::begin(step), &mut command)
    }

    /// Adds the arguments for this platform to a call of cargo, and the flags with which rustdoc checks its crates.
    /// Builds the libraries of its target, unless they are there, and makes what a board's kernel includes.
    pub(crate) fn complete(
        &self,
        command: &mut Command,
        side: Side,
        crates: &[&str],
        features: &[String],
        abi: &[AbiOption],
    ) -> Result<()> {
        let sysroot = format!("--sysroot={}", self.sysroot(side)?.display());
        let rustdoc = format!("-Dwarnings\x1f{sysroot}");
        let mut flags = self.rustflags(side);
        flags.push(sysroot);
        command
            .current_dir(self.project.unwrap_or(self.workspace.root()))
            .args(["--target", self.target(side)])
            .arg("--target-dir")
            .arg(self.target_folder(side))
            .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"))
            .env("CARGO_ENCODED_RUSTDOCFLAGS", rustdoc);
        if let (Side::Kernel, Some(board)) = (side, &self.platform.board) {
            let folder = board::write(self.workspace, self.platform, board)?;
            command.env(board::FOLDER, folder);
        }
        for name in crates {
            command.args(["-p", name]);
        }
        if self.bare || (self.small && side == Side::Kernel) {
            command.arg("--no-default-features");
        }
        let mut features = features.to_vec();
        // The stub does not depend on the ABI.
        let is_for_abi = side != Side::Stub;
        let more = [(self.smp, "smp"), (self.tracing, "tracing")];
        let more = more.iter().filter(|(wanted, _)| *wanted && is_for_abi);
        let options = abi.iter().map(|option| option.feature());
        let options: Vec<_> = options.chain(more.map(|(_, option)| *option)).collect();
        // Cargo unifies the options for all crates. A project can name only crates on which it depends, and
        // userlib hands them on.
        let unified = match self.project {
            Some(_) => "userlib",
            None => "abi",
        };
        if !options.is_empty() && self.project.is_none() {
            command.args(["-p", unified]);
        }
        features.extend(options.iter().map(|option| format!("{unified}/{option}")));
        if let (Side::User, Some(devices)) = (side, &self.platform.user.devices) {
            if self.project.is_some() {
                features.push(format!("userlib/devices-{devices}"));
            } else {
                // Cargo enables it in userlib and in each of the other crates that has it.
                command.args(["-p", "userlib"]);
                features.push(format!("devices-{devices}"));
            }
        }
        if !features.is_empty() {
            command.arg("--features").arg(features.join(","));
        }
        Ok(())
    }

    /// The sysroot of a side. All programs for a target share it; only a kernel with retpolines needs its own, because
    /// code of `core` may branch indirectly, too. Debug kernels share it all the same, which saves the time to compile
    /// the libraries: they are not for use, and each crate compiles what it uses of `core`, so that next to nothing
    /// comes from the library.
    fn sysroot(&self, side: Side) -> Result<PathBuf> {
        let flags: &[&str] = match side {
            Side::Kernel if self.small => &WITHOUT_PANICS,
            Side::Kernel if self.libraries_with_retpolines => &[RETPOLINES],
            _ => &[],
        };
        let libraries = match side {
            Side::User => self.libraries,
            Side::Kernel | Side::Stub => Libraries::Core,
        };
        sysroot(
            self.workspace,
            self.tools,
            self.target(side),
            libraries,
            flags,
        )
    }

    fn rustflags(&self, side: Side) -> Vec<String> {
        let mut flags = vec![
            format!("-Clinker={}", self.tools.linker.display()),
            "-Crelocation-model=static".to_string(),
        ];
        if side != Side::User {
            // Debug information without folders of this host: an SDK has the same bytes from every checkout and user.
            let root = self.workspace.root().display();
            flags.push(format!("--remap-path-prefix={root}=/escapement"));
            if let Some(registry) = registry() {
                let registry = registry.display();
                flags.push(format!("--remap-path-prefix={registry}=/registry"));
            }
        }
        match side {
            // The build scripts of kernel and stub pass their link scripts.
            Side::Kernel => {
                flags.extend_from_slice(&self.platform.kernel.rustflags);
                if self.small {
                    flags.extend(WITHOUT_PANICS.map(String::from));
                }
                if self.retpolines {
                    flags.push(RETPOLINES.to_string());
                    let shared = !self.libraries_with_retpolines;
                    flags.extend(shared.then(|| OTHER_LIBRARIES.to_string()));
                }
            }
            Side::Stub => {
                flags.extend(
                    self.stub
                        .into_iter()
                        .flat_map(|stub| stub.rustflags.clone()),
                );
            }
            Side::User => {
                let script = self.workspace.path("userlib/component.ld");
                flags.push(format!("-Clink-arg=-T{}", script.display()));
                flags.extend_from_slice(&self.platform.user.rustflags);
            }
        }
        flags
    }

    fn target(&self, side: Side) -> &str {
        match (side, self.stub) {
            (Side::Stub, Some(stub)) => &stub.target,
            (Side::Kernel, _) if self.small => self.platform.small_target(),
            _ => &self.platform.target,
        }
    }

    /// Cargo's target folder. Platforms with the same target share that of programs: cargo gives different names to
    /// what it builds with different flags. The programs have the same paths, so they are to be read before the next
    /// build, under the same lock. Kernels and stubs have a folder for each set of flags: if paths are mapped, cargo
    /// leaves the flags out of the names, so that the same sources give the same bytes, and would build again what
    /// other flags have overwritten.
    fn target_folder(&self, side: Side) -> PathBuf {
        let tools = self.workspace.target().join(self.tools.folder);
        let folder = tools.join(&self.platform.target);
        match side {
            Side::User => folder,
            Side::Kernel | Side::Stub => folder.join(format!("kernels-{:04x}", self.flags(side))),
        }
    }

    /// A number for the flags of a side.
    fn flags(&self, side: Side) -> u16 {
        let mut hasher = DefaultHasher::new();
        self.rustflags(side).hash(&mut hasher);
        hasher.finish() as u16
    }

    /// Waits until nothing else builds in this target folder.
    pub(super) fn lock(&self) -> Result<(FairMutexGuard<'static, ()>, File)> {
        self.workspace.lock(&self.platform.target)
    }

    /// A folder for files that go into user programs: one for each combination of target, flags and devices.
    pub(crate) fn user_files(&self) -> PathBuf {
        let flags = self.flags(Side::User);
        let devices = self.platform.user.devices.as_deref().unwrap_or("none");
        let name = format!("{}-{flags:04x}-{devices}", self.target(Side::User));
        self.target_folder(Side::User).join("files").join(name)
    }

    /// The path at which cargo puts the program `name`.
    pub(crate) fn program(&self, side: Side, profile: &str, name: &str) -> PathBuf {
        let folder = if profile == "dev" { "debug" } else { profile };
        self.target_folder(side)
            .join(self.target(side))
            .join(folder)
            .join(name)
    }
}
