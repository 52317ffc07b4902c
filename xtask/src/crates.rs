//! The repository's crates, and the layer of each.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::Result;
use crate::workspace::Workspace;

/// The layer of a crate, which determines its allowed dependencies and where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The interface between kernel and users.
    Abi,
    Kernel,
    Arch,
    Platform,
    /// Libraries that user programs share with the host.
    Userlib,
    /// Programs that run on the kernel: example systems, on-target tests, the fuzzer.
    System,
    /// Programs and tests that run on the host.
    Host,
}

impl Layer {
    /// The layer of the crate in `folder`, a path relative to the root.
    pub(crate) fn of(folder: &Path) -> Self {
        let mut parts = folder.iter().map(|part| part.to_str().unwrap_or_default());
        match (parts.next(), parts.next()) {
            (Some("kernel"), Some("abi" | "trace-format")) => Self::Abi,
            (Some("kernel"), _) => Self::Kernel,
            (Some("arch"), _) => Self::Arch,
            (Some("platforms"), _) => Self::Platform,
            (Some("systems" | "benches"), _)
            | (Some("userlib"), Some("initialiser"))
            | (
                Some("tests"),
                Some(
                    "kernel-target" | "kernel-fuzz-target" | "kernel-loaded" | "last-turn"
                    | "traced",
                ),
            ) => Self::System,
            (Some("userlib"), _)
            | (
                Some("tests"),
                Some("kernel-fuzz-methods" | "kernel-scenarios" | "traced-threads"),
            ) => Self::Userlib,
            _ => Self::Host,
        }
    }
}

/// One crate of the workspace.
#[derive(Debug)]
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Relative to the repository's root.
    pub(crate) folder: PathBuf,
    pub(crate) layer: Layer,
    pub(crate) manifest: toml::Table,
}

impl Crate {
    /// The crate of the manifest `text`, if it is one and not only the manifest of a workspace.
    pub(crate) fn parse(folder: &Path, text: &str) -> Result<Option<Self>> {
        let manifest: toml::Table = text
            .parse()
            .with_context(|| format!("cannot use {}", folder.join("Cargo.toml").display()))?;
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name")?.as_str());
        Ok(name.map(str::to_string).map(|name| Self {
            name,
            folder: folder.to_path_buf(),
            layer: Layer::of(folder),
            manifest,
        }))
    }

    /// Whether its tests run on the host: this holds for the portable crates, and for any other crate that
    /// sets it in `package.metadata.escapement`.
    pub(crate) fn is_tested_on_host(&self) -> bool {
        let portable = [Layer::Abi, Layer::Kernel, Layer::Userlib, Layer::Host];
        portable.contains(&self.layer) || self.says("host-tests")
    }

    /// Whether its tests are built apart from those of other crates, so that cargo does not compile common libraries
    /// again, with the features that only this crate wants. The crate sets it in `package.metadata.escapement`.
    pub(crate) fn is_tested_apart(&self) -> bool {
        self.says("tests-apart")
    }

    /// Whether it is never in a registry. The crates that users name say nothing about it.
    pub(crate) fn is_private(&self) -> bool {
        self.manifest
            .get("package")
            .is_some_and(|package| package.get("publish").is_some())
    }

    /// Whether the manifest has a key of this name that is true, in `package.metadata.escapement`.
    fn says(&self, key: &str) -> bool {
        let metadata = || {
            let package = self.manifest.get("package")?;
            package.get("metadata")?.get("escapement")
        };
        let value = metadata().and_then(|metadata| metadata.get(key)?.as_bool());
        value == Some(true)
    }

    /// The crates that its manifest names as dependencies for building, on any target.
    pub(crate) fn dependencies(&self) -> Vec<String> {
        const TABLES: [&str; 2] = ["dependencies", "build-dependencies"];
        let targets = self
            .manifest
            .get("target")
            .and_then(|targets| targets.as_table());
        let tables = targets.into_iter().flat_map(|targets| targets.values());
        tables
            .filter_map(|target| target.as_table())
            .chain([&self.manifest])
            .flat_map(|table| {
                TABLES
                    .iter()
                    .filter_map(|name| table.get(*name)?.as_table())
            })
            .flatten()
            .map(|(name, value)| {
                // A dependency may be renamed.
                let package = value.get("package").and_then(|package| package.as_str());
                package.unwrap_or(name).to_string()
            })
            .collect()
    }
}

/// The names of `roots` and of the repository's crates on which they depend.
pub(crate) fn closure<'a>(crates: &'a [Crate], roots: &[&str]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut waiting: Vec<String> = roots.iter().map(|&root| root.to_string()).collect();
    while let Some(name) = waiting.pop() {
        let Some(one) = crates.iter().find(|one| one.name == name) else {
            continue;
        };
        if !found.contains(&&*one.name) {
            found.push(&*one.name);
            waiting.extend(one.dependencies());
        }
    }
    found
}

/// All crates of the repository, sorted by folder.
pub(crate) fn all(workspace: &Workspace) -> Result<Vec<Crate>> {
    let mut crates = Vec::new();
    for path in workspace.files()? {
        if path.file_name().is_some_and(|name| name == "Cargo.toml") {
            let text = fs::read_to_string(workspace.path(&path))?;
            crates.extend(Crate::parse(path.parent().unwrap_or(Path::new("")), &text)?);
        }
    }
    Ok(crates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_tell_the_layer() {
        let layer = |folder: &str| Layer::of(Path::new(folder));
        assert_eq!(layer("kernel/abi"), Layer::Abi);
        assert_eq!(layer("kernel"), Layer::Kernel);
        assert_eq!(layer("arch/x86_64"), Layer::Arch);
        assert_eq!(layer("platforms/pc99"), Layer::Platform);
        assert_eq!(layer("userlib/serial"), Layer::Userlib);
        assert_eq!(layer("systems/demo/client"), Layer::System);
        assert_eq!(layer("tests/kernel-target"), Layer::System);
        assert_eq!(layer("tests/kernel-fuzz-target/root"), Layer::System);
        assert_eq!(layer("tests/kernel-fuzz-methods"), Layer::Userlib);
        assert_eq!(layer("tests/kernel-scenarios"), Layer::Userlib);
        assert_eq!(layer("tests/host-machine"), Layer::Host);
        assert_eq!(layer("xtask"), Layer::Host);
    }

    #[test]
    fn the_closure_holds_the_repository_s_own_crates() {
        let one = |name: &str, uses: &str| {
            let text = format!("package.name = '{name}'\ndependencies.{uses} = '1'");
            Crate::parse(Path::new(name), &text).unwrap().unwrap()
        };
        let crates = [
            one("a", "b"),
            one("b", "c"),
            one("c", "spin"),
            one("d", "a"),
        ];
        assert_eq!(closure(&crates, &["a"]), ["a", "b", "c"]);
    }

    #[test]
    fn a_crate_may_ask_for_host_tests() {
        let parse = |text| Crate::parse(Path::new("arch/arm"), text).unwrap();
        let plain = parse("package.name = 'arch-arm'").unwrap();
        assert!(!plain.is_tested_on_host() && !plain.is_tested_apart());
        let text = "[package]\nname = 'arch-arm'\nmetadata.escapement.host-tests = true";
        let asking = parse(text).unwrap();
        assert!(asking.is_tested_on_host() && !asking.is_tested_apart());
        let text = text.replace("host-tests", "tests-apart");
        assert!(parse(&text).unwrap().is_tested_apart());
        assert!(parse("[workspace]").is_none());
    }
}
