//! Toolchains: where a compiler with the sources of `core` is, and how to call it.
//!
//! For bare-metal targets, `core` is compiled by the tool (`build::sysroot`), so the toolchain must include its
//! sources. A rustup nightly does if its component rust-src is installed; so does Debian's
//! packaged pair of cargo and rustc. In either case, its programs are called directly from its own folder
//! with rustup's variables cleared, so that no other toolchain runs.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;

use crate::Result;

/// The oldest compiler that builds the workspace.
const MINIMUM: (u32, u32) = (1, 91);

/// The folder of Debian's packaged toolchain.
const DEBIAN: &str = "/usr/bin";

/// Variables by which one toolchain's cargo would misdirect another one.
pub(crate) const MISLEADING: [&str; 9] = [
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "LD_LIBRARY_PATH",
    "RUSTC",
    "RUSTDOC",
    "RUSTDOCFLAGS",
    "RUSTFLAGS",
    "RUSTUP_TOOLCHAIN",
];

/// A compiler and its companions, all in one folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    bin: PathBuf,
    /// As `rustc --version` prints it.
    version: String,
    /// Whether it compiles for bare metal, which takes unstable flags.
    is_unstable: bool,
}

impl Toolchain {
    /// The toolchain in the folder `bin`, if there is a working compiler.
    pub(crate) fn at(bin: &Path) -> Option<Self> {
        Self::probe(bin, &|rustc| {
            let output = Command::new(rustc)
                .arg("--version")
                .env_remove("LD_LIBRARY_PATH")
                .output()
                .ok()?;
            String::from_utf8(output.stdout).ok()
        })
    }

    fn probe(bin: &Path, version: &dyn Fn(&Path) -> Option<String>) -> Option<Self> {
        let rustc = bin.join("rustc");
        if !rustc.is_file() || !bin.join("cargo").is_file() {
            return None;
        }
        let version = version(&rustc)?.trim().to_string();
        parse_release(&version)
            .is_some_and(|release| release >= MINIMUM)
            .then(|| Self {
                bin: bin.to_path_buf(),
                version,
                is_unstable: true,
            })
    }

    /// The toolchain of the cargo that started this tool; the host's programs are built with it, and with the same
    /// environment as the tool: where unstable flags are taken, build scripts find other features of the compiler, and
    /// cargo would compile the libraries of the tool once more for its tests.
    pub(crate) fn host() -> Result<Self> {
        let toolchain =
            env::var_os("CARGO").and_then(|cargo| Self::at(Path::new(&cargo).parent()?));
        let toolchain = toolchain.context("no cargo is in use; start the tool as `cargo xtask`")?;
        Ok(Self {
            is_unstable: false,
            ..toolchain
        })
    }

    /// The first toolchain that can build for bare metal.
    pub(crate) fn bare_metal() -> Option<Self> {
        Self::search(Self::candidates(), &Self::at)
    }

    /// The first toolchain that has the cargo subcommand `name`.
    pub(crate) fn with_subcommand(name: &str) -> Option<Self> {
        Self::candidates()
            .filter_map(|bin| Self::at(&bin))
            .find(|toolchain| toolchain.has_subcommand(name))
    }

    /// All toolchains that can build for bare metal, each version once.
    pub(crate) fn all_bare_metal() -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for bin in Self::candidates() {
            if let Some(toolchain) = Self::at(&bin).filter(Self::has_core_sources)
                && !all.iter().any(|one| one.version == toolchain.version)
            {
                all.push(toolchain);
            }
        }
        all
    }

    fn search(
        mut candidates: impl Iterator<Item = PathBuf>,
        at: &dyn Fn(&Path) -> Option<Self>,
    ) -> Option<Self> {
        candidates.find_map(|bin| at(&bin).filter(Self::has_core_sources))
    }

    /// The folders to search, in order: the toolchain in use, rustup's nightly, Debian's.
    fn candidates() -> impl Iterator<Item = PathBuf> {
        type Source = fn() -> Option<PathBuf>;
        let sources: [Source; 3] = [
            || Some(Path::new(&env::var_os("CARGO")?).parent()?.to_path_buf()),
            rustup_nightly,
            || Some(PathBuf::from(DEBIAN)),
        ];
        sources.into_iter().filter_map(|source| source())
    }

    /// The folder of the sources of `core` and the other libraries.
    pub(crate) fn core_sources(&self) -> PathBuf {
        self.sysroot().join("lib/rustlib/src/rust/library")
    }

    fn sysroot(&self) -> &Path {
        self.bin.parent().unwrap_or(Path::new("/"))
    }

    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    pub(crate) fn is_debian(&self) -> bool {
        self.bin == Path::new(DEBIAN)
    }

    fn has_core_sources(&self) -> bool {
        self.core_sources().join("Cargo.lock").is_file()
    }

    pub(crate) fn has_subcommand(&self, name: &str) -> bool {
        self.bin.join(format!("cargo-{name}")).is_file()
    }

    /// LLVM's linker, which some toolchains include.
    pub(crate) fn own_linker(&self) -> Option<PathBuf> {
        let hosts = self.sysroot().join("lib/rustlib").read_dir().ok()?;
        hosts
            .flatten()
            .map(|host| host.path().join("bin/gcc-ld/ld.lld"))
            .find(|linker| linker.is_file())
    }

    /// A call of cargo, to which the caller adds a subcommand.
    pub(crate) fn cargo(&self) -> Command {
        self.command(self.bin.join("cargo"))
    }

    /// A call of an external subcommand. Cargo itself would first search its own folder, which may contain
    /// rustup's proxy of another toolchain.
    pub(crate) fn subcommand(&self, name: &str) -> Command {
        let mut command = self.command(self.bin.join(format!("cargo-{name}")));
        command.arg(name);
        command
    }

    /// A call of a program that calls cargo.
    pub(crate) fn command(&self, program: PathBuf) -> Command {
        let mut command = Command::new(program);
        for variable in MISLEADING {
            command.env_remove(variable);
        }
        command
            .env("CARGO", self.bin.join("cargo"))
            .env("PATH", self.search_path());
        if self.is_unstable && !self.version.contains("nightly") {
            // Allows unstable flags, such as `-Zretpoline`, on a stable compiler.
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        command
    }

    fn search_path(&self) -> OsString {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.bin.clone()).chain(env::split_paths(&inherited));
        env::join_paths(folders).unwrap_or(inherited)
    }
}

/// The folder of rustup's nightly, if there is one.
fn rustup_nightly() -> Option<PathBuf> {
    let output = Command::new("rustup")
        .args(["which", "--toolchain", "nightly", "rustc"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let rustc = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    Some(rustc.parent()?.to_path_buf())
}

/// The version in a text such as `rustc 1.96.0 (ac68faa20 2026-05-25)`.
fn parse_release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.strip_prefix("rustc ")?.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

/// The program `name`, if it is on the search path.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;
    use std::fs;

    /// A folder with the files of a toolchain.
    fn fake(parent: &Path, name: &str, sources: bool) -> PathBuf {
        let bin = parent.join(name).join("bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("cargo"), "").unwrap();
        fs::write(bin.join("rustc"), "").unwrap();
        if sources {
            let library = parent.join(name).join("lib/rustlib/src/rust/library");
            fs::create_dir_all(&library).unwrap();
            fs::write(library.join("Cargo.lock"), "").unwrap();
        }
        bin
    }

    fn search(candidates: Vec<PathBuf>, version: &str) -> Option<PathBuf> {
        let at = |bin: &Path| Toolchain::probe(bin, &|_| Some(version.to_string()));
        Toolchain::search(candidates.into_iter(), &at).map(|toolchain| toolchain.bin)
    }

    #[test]
    fn the_first_toolchain_with_sources_wins() {
        let folder = temporary::Folder::new().unwrap();
        let bare = fake(folder.path(), "bare", false);
        let first = fake(folder.path(), "first", true);
        let second = fake(folder.path(), "second", true);
        let missing = folder.path().join("missing/bin");
        let candidates = vec![missing, bare, first.clone(), second];
        assert_eq!(search(candidates, "rustc 1.97.0-nightly (x)"), Some(first));
    }

    #[test]
    fn no_sources_no_toolchain() {
        let folder = temporary::Folder::new().unwrap();
        let bare = fake(folder.path(), "bare", false);
        assert_eq!(search(vec![bare], "rustc 1.97.0 (x)"), None);
    }

    #[test]
    fn an_old_compiler_is_passed_over() {
        let folder = temporary::Folder::new().unwrap();
        let old = fake(folder.path(), "old", true);
        assert_eq!(search(vec![old.clone()], "rustc 1.75.0 (x)"), None);
        assert_eq!(search(vec![old.clone()], "garbage"), None);
        assert_eq!(search(vec![old.clone()], "rustc 2.0.0 (x)"), Some(old));
    }

    #[test]
    fn only_a_stable_compiler_is_told_to_take_unstable_flags() {
        let toolchain = |version: &str| Toolchain {
            bin: "/x/bin".into(),
            version: version.into(),
            is_unstable: true,
        };
        let bootstraps = |toolchain: Toolchain| {
            toolchain
                .cargo()
                .get_envs()
                .any(|(name, value)| name == "RUSTC_BOOTSTRAP" && value.is_some())
        };
        assert!(bootstraps(toolchain("rustc 1.96.0 (x)")));
        assert!(!bootstraps(toolchain("rustc 1.97.0-nightly (x)")));
        assert!(!bootstraps(Toolchain {
            is_unstable: false,
            ..toolchain("rustc 1.96.0 (x)")
        }));
    }
}
