//! Systems: components and the root task that starts them, as described in `systems/NAME/system.toml`. The
//! on-target tests are an ordinary system, `tests/kernel-target/system.toml`, and so is the fuzzer in
//! `tests/kernel-fuzz-target`.

pub(crate) mod about;
mod given;
mod heap;
pub(crate) mod memory;
mod table;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use system_description::file::Typed;
use system_description::{Source, outline};

use crate::cli::{AbiOption, Cores};
use crate::platform::Platform;
use crate::workspace::Workspace;
use crate::{Result, build, describe, project};

const FILE: &str = "system.toml";
/// The system that is built unless another one is chosen.
const USUAL: &str = "demo";
/// The crate of the root task of systems that have no own one.
const INITIALISER: &str = "initialiser";

/// What a build and a run need to know of a system.
#[derive(Debug)]
pub(crate) struct System {
    /// The name of its folder.
    pub(crate) name: String,
    /// The crate of the root task.
    pub(crate) root: String,
    /// Its description, if the generic initialiser sets it up.
    pub(crate) description: Option<PathBuf>,
    /// The crates of the programs in the root task's archive.
    pub(crate) components: Vec<String>,
    /// The folder of its project, if it is not a part of the repository.
    pub(crate) project: Option<PathBuf>,
    /// The platforms on which it runs, if not all.
    platforms: Option<Vec<String>>,
    /// The number of cores that it uses, and that on each platform that its description names.
    cores: u32,
    cores_on: BTreeMap<String, u32>,
    /// Whether it has a schedule of domains.
    pub(crate) has_domains: bool,
    /// For a run that must end with failure: the output that it prints before.
    dies: Vec<String>,
    /// The output that a run must print.
    prints: Vec<String>,
    /// What is typed during a test run.
    pub(crate) types: Vec<Typed>,
}

/// The name of an example on two cores.
pub(crate) fn on_two_cores(name: &str) -> String {
    format!("{name}-on-two-cores")
}

/// What is made of a description for the generic initialiser and the components.
#[derive(Debug)]
pub(crate) struct Generated {
    /// The description.
    pub(crate) system: system_description::System,
    /// The initialiser's table.
    pub(crate) table: Vec<u8>,
    /// For each program the source of the types of what it gets.
    pub(crate) given: BTreeMap<String, String>,
}

impl System {
    /// What is made of the description on a platform; none for a system with a root task of its own.
    pub(crate) fn generate(
        &self,
        workspace: &Workspace,
        platform: &Platform,
    ) -> Result<Option<Generated>> {
        let Some(file) = &self.description else {
            return Ok(None);
        };
        let system = describe::of_file(workspace, file, Some(&platform.name))?;
        let context = |error: anyhow::Error| about::placed(&error, workspace, file);
        let folder = file.parent().unwrap_or(Path::new(""));
        heap::require(&system, folder).map_err(context)?;
        let table = table::of(&system).map_err(context)?;
        // As far as it is known before the programs are built.
        memory::check(&table, platform.usable_memory(), 0, |_| Ok(None)).map_err(context)?;
        Ok(Some(Generated {
            table,
            given: given::of(&system).map_err(context)?,
            system,
        }))
    }

    /// The options of the ABI without which its devices are not there on a platform.
    pub(crate) fn options(
        &self,
        workspace: &Workspace,
        platform: &Platform,
    ) -> Result<Vec<AbiOption>> {
        let Some(file) = &self.description else {
            return Ok(Vec::new());
        };
        let system = describe::of_file(workspace, file, Some(&platform.name))?;
        Ok(build::options(&system, platform).to_vec())
    }

    /// The names of all example systems.
    pub(crate) fn names(workspace: &Workspace) -> Vec<String> {
        workspace.folders_with("systems", FILE)
    }

    /// The system called `name`.
    pub(crate) fn load(workspace: &Workspace, name: &str) -> Result<Self> {
        let known = Self::names(workspace);
        if !known.iter().any(|known| known == name) {
            bail!(
                "there is no system `{name}`; there are: {}",
                known.join(", ")
            );
        }
        Self::read(workspace, &format!("systems/{name}"))
    }

    /// An example on a platform with two cores, of which `component` has the second one to itself.
    pub(crate) fn on_two_cores(
        workspace: &Workspace,
        name: &str,
        component: &str,
        platform: &Platform,
    ) -> Result<Self> {
        let text = fs::read_to_string(Self::file(workspace, &format!("systems/{name}")))?;
        let platform = &platform.name;
        let variant = format!("\n[platform.{platform}.component.{component}]\ncore = 1\n");
        let folder = workspace.target().join(platform).join(on_two_cores(name));
        fs::create_dir_all(&folder)?;
        let file = Self::file_in(&folder);
        build::write_if_changed(&file, (text + &variant).as_bytes())?;
        Self::of_file(workspace, &file)
    }

    /// The system called `name`; without a name, that of the project in which the tool was called, or else the demo.
    pub(crate) fn chosen(workspace: &Workspace, name: Option<&str>) -> Result<Self> {
        match (name, project::folder()) {
            (None, Some(folder)) => Self::of_project(workspace, &folder),
            (name, _) => Self::load(workspace, name.unwrap_or(USUAL)),
        }
    }

    /// The system of a project.
    pub(crate) fn of_project(workspace: &Workspace, folder: &Path) -> Result<Self> {
        Ok(Self {
            project: Some(folder.to_path_buf()),
            ..Self::of_file(workspace, &Self::file_in(folder))?
        })
    }

    /// Whether the generic initialiser sets it up.
    pub(crate) fn is_generic(&self) -> bool {
        self.description.is_some()
    }

    /// The on-target tests.
    pub(crate) fn target_tests(workspace: &Workspace) -> Result<Self> {
        Self::read(workspace, "tests/kernel-target")
    }

    /// The on-target benchmarks.
    pub(crate) fn benches(workspace: &Workspace) -> Result<Self> {
        Self::read(workspace, "benches")
    }

    /// The fuzzer.
    pub(crate) fn fuzzer(workspace: &Workspace) -> Result<Self> {
        Self::read(workspace, "tests/kernel-fuzz-target")
    }

    /// The root task that a loader starts.
    pub(crate) fn loaded(workspace: &Workspace) -> Result<Self> {
        Self::read(workspace, "tests/kernel-loaded")
    }

    /// The root task of several domains whose end ends the run.
    pub(crate) fn last_turn(workspace: &Workspace) -> Result<Self> {
        Self::read(workspace, "tests/last-turn")
    }

    /// The root task whose trace has the events of the simulator.
    pub(crate) fn traced(workspace: &Workspace) -> Result<Self> {
        Self::read(workspace, "tests/traced")
    }

    /// Every system of the repository.
    pub(crate) fn all(workspace: &Workspace) -> Result<Vec<Self>> {
        let mut systems = Self::names(workspace)
            .iter()
            .map(|name| Self::load(workspace, name))
            .collect::<Result<Vec<_>>>()?;
        systems.push(Self::target_tests(workspace)?);
        systems.push(Self::benches(workspace)?);
        systems.push(Self::fuzzer(workspace)?);
        systems.push(Self::loaded(workspace)?);
        systems.push(Self::last_turn(workspace)?);
        systems.push(Self::traced(workspace)?);
        Ok(systems)
    }

    /// The descriptions of all systems of the repository.
    pub(crate) fn files(workspace: &Workspace) -> Vec<PathBuf> {
        let names = Self::names(workspace).into_iter();
        let folders = names.map(|name| format!("systems/{name}"));
        let others = [
            "tests/kernel-target",
            "benches",
            "tests/kernel-fuzz-target",
            "tests/kernel-loaded",
            "tests/last-turn",
            "tests/traced",
        ];
        let folders = folders.chain(others.map(str::to_string));
        folders
            .map(|folder| Self::file(workspace, &folder))
            .collect()
    }

    /// The description of the system in a folder, relative to the root.
    pub(crate) fn file(workspace: &Workspace, folder: &str) -> PathBuf {
        Self::file_in(&workspace.path(folder))
    }

    /// The description of the system in a folder.
    pub(crate) fn file_in(folder: &Path) -> PathBuf {
        folder.join(FILE)
    }

    /// The system in a folder, relative to the root.
    fn read(workspace: &Workspace, folder: &str) -> Result<Self> {
        Self::of_file(workspace, &Self::file(workspace, folder))
    }

    /// The system that a file describes, named after its folder.
    fn of_file(workspace: &Workspace, path: &Path) -> Result<Self> {
        let shown = workspace.display(path).to_string();
        let text = fs::read_to_string(path).with_context(|| format!("cannot use {shown}"))?;
        let source = Source {
            path: &shown,
            text: &text,
        };
        let outline = outline(source).map_err(|diagnostics| {
            let lines = diagnostics.iter().map(|one| one.line(source).to_string());
            anyhow!(lines.collect::<Vec<_>>().join("\n"))
        })?;
        if outline.root.is_none() && outline.programs.is_empty() {
            bail!("{shown} names no program, so there is nothing to build");
        }
        Ok(Self {
            name: path.parent().and_then(Path::file_name).map_or_else(
                || "system".to_string(),
                |name| name.to_string_lossy().into_owned(),
            ),
            project: None,
            description: outline.root.is_none().then(|| path.to_path_buf()),
            root: outline.root.unwrap_or_else(|| INITIALISER.to_string()),
            components: outline.programs,
            platforms: outline.platforms,
            cores: outline.cores,
            cores_on: outline.cores_on,
            has_domains: outline.has_domains,
            dies: outline.fails_after,
            prints: outline.prints,
            types: outline.types,
        })
    }

    /// The crates of all its programs.
    pub(crate) fn crates(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.root)
            .chain(&self.components)
            .map(String::as_str)
    }

    pub(crate) fn runs_on(&self, platform: &str) -> bool {
        self.platforms
            .as_ref()
            .is_none_or(|platforms| platforms.iter().any(|name| name == platform))
    }

    /// The complaint about a run that printed `output` and then ended with success or failure; none if this is
    /// the expected end.
    pub(crate) fn complaint(&self, succeeded: bool, output: &str) -> Option<String> {
        match (succeeded, self.dies.is_empty()) {
            (true, false) => return Some("it did not end with failure".to_string()),
            (false, true) => return Some("the guest reported failure".to_string()),
            _ => {}
        }
        let mut words = self.dies.iter().chain(&self.prints);
        let missing = words.find(|words| !output.contains(*words))?;
        Some(format!("it did not print `{}`", missing.trim_end()))
    }

    /// The number of cores that it uses on a platform.
    pub(crate) fn cores(&self, platform: &Platform) -> u32 {
        let known = self.cores_on.get(&platform.name);
        known.copied().unwrap_or(self.cores)
    }

    /// Refuses a machine with fewer cores than the system uses.
    pub(crate) fn require_cores(&self, platform: &Platform, cores: Cores) -> Result<()> {
        let needed = self.cores(platform);
        if needed > cores.count {
            let name = &self.name;
            bail!("the system `{name}` uses {needed} cores; add --smp {needed}");
        }
        Ok(())
    }

    /// Refuses a platform that the system does not support.
    pub(crate) fn require(&self, platform: &Platform) -> Result<()> {
        if self.runs_on(&platform.name) {
            return Ok(());
        }
        let platforms = self.platforms.as_deref().unwrap_or_default().join(", ");
        bail!(
            "the system `{}` is not made for {}, only for: {platforms}",
            self.name,
            platform.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

    fn repository(description: &str) -> (temporary::Folder, Workspace) {
        let folder = temporary::Folder::new().unwrap();
        fs::create_dir_all(folder.path().join("systems/demo")).unwrap();
        fs::write(folder.path().join("systems/demo/system.toml"), description).unwrap();
        let workspace = Workspace::at(folder.path());
        (folder, workspace)
    }

    #[test]
    fn a_description_is_read() {
        let (_folder, workspace) = repository("root = 'demo'\nprograms = ['client']");
        let system = System::load(&workspace, "demo").unwrap();
        assert_eq!(system.crates().collect::<Vec<_>>(), ["demo", "client"]);
        assert!(system.runs_on("pc99"));
    }

    #[test]
    fn a_system_may_be_made_for_some_platforms() {
        let (_folder, workspace) = repository("root = 'demo'\nplatforms = ['sabre']");
        let system = System::load(&workspace, "demo").unwrap();
        assert!(system.runs_on("sabre") && !system.runs_on("pc99"));
    }

    #[test]
    fn a_system_may_be_made_to_die() {
        let (_folder, workspace) =
            repository("root = 'demo'\ntest.fails-after = ['first', 'last words']");
        let system = System::load(&workspace, "demo").unwrap();
        assert_eq!(system.complaint(false, "first, last words"), None);
        let complaint = system.complaint(false, "last words").unwrap();
        assert_eq!(complaint, "it did not print `first`");
        assert!(system.complaint(true, "first, last words").is_some());
        let (_folder, workspace) = repository("root = 'demo'");
        let system = System::load(&workspace, "demo").unwrap();
        assert!(system.complaint(false, "first, last words").is_some());
        assert_eq!(system.complaint(true, ""), None);
    }

    #[test]
    fn a_system_may_have_to_print_something() {
        let (_folder, workspace) = repository("root = 'demo'\ntest.prints = ['hello']");
        let system = System::load(&workspace, "demo").unwrap();
        assert_eq!(system.complaint(true, "hello"), None);
        let complaint = system.complaint(true, "good bye").unwrap();
        assert_eq!(complaint, "it did not print `hello`");
    }

    #[test]
    fn each_platform_has_its_own_cores() {
        let (_folder, workspace) = repository(
            "component.a = { program = 'a', core = 1 }\nplatform.kzm.component.a.core = 0",
        );
        let system = System::load(&workspace, "demo").unwrap();
        let require = |name| {
            let platform = Platform::load(&Workspace::find().unwrap(), name).unwrap();
            system.require_cores(&platform, Cores::ONE)
        };
        require("kzm").unwrap();
        assert_eq!(
            require("sabre").unwrap_err().to_string(),
            "the system `demo` uses 2 cores; add --smp 2"
        );
    }

    #[test]
    fn without_a_root_task_the_initialiser_is_it() {
        let (_folder, workspace) = repository("component.client.program = 'client'");
        let system = System::load(&workspace, "demo").unwrap();
        assert_eq!(
            system.crates().collect::<Vec<_>>(),
            ["initialiser", "client"]
        );
        assert!(system.description.is_some());
        let (_folder, workspace) = repository("component.client.priority = 1");
        let error = System::load(&workspace, "demo").unwrap_err().to_string();
        assert_eq!(
            error,
            "systems/demo/system.toml names no program, so there is nothing to build"
        );
    }

    #[test]
    fn mistakes_say_where_they_are() {
        let (_folder, workspace) = repository("rot = 'demo'");
        let error = System::load(&workspace, "demo").unwrap_err().to_string();
        assert_eq!(
            error,
            "systems/demo/system.toml:1:1: error: there is no key `rot` here; did you mean `root`?"
        );
        let error = System::load(&workspace, "abacus").unwrap_err().to_string();
        assert_eq!(error, "there is no system `abacus`; there are: demo");
    }
}
