//! From sources to a boot image: the kernel, the system's components, their archive, its root task, and the
//! file that QEMU boots.

mod bare_metal;
mod board;
mod devices;
mod kernel;
mod needs;
mod sysroot;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use system_table::Table;

pub(crate) use bare_metal::{BareMetal, Side};
pub(crate) use devices::options;
pub(crate) use kernel::{CORES, DebugInfo, Recipe, by_profile, prebuilt, prebuilt_stub};

use crate::cli::{AbiOption, Cores, Hardening, ImageArguments, Kernel, LogLevel, Tracing};
use crate::image::elf::Executable;
use crate::platform::Platform;
use crate::sdk::Sdk;
use crate::setup;
use crate::sizes::{self, Sizes};
use crate::system::{Generated, System, about, memory};
use crate::temporary;
use crate::ui::{self, say};
use crate::workspace::Workspace;
use crate::{Outcome, Result, archive, image, log, microkit, project};
use sysroot::Libraries;

/// The variable with the folder of the types of what components get, for their compilation.
pub(crate) const GIVEN: &str = "ESCAPEMENT_GIVEN";

/// The initial thread's program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RootTask<'a> {
    /// The root task of a system, to be built.
    System(&'a System),
    /// A program that was built elsewhere.
    File(&'a Path),
}

/// How components and root task are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UserProfile {
    /// As they are shipped.
    Shipped,
    /// Without optimisation at link time, which takes half of a build.
    Tests,
}

impl UserProfile {
    /// The profile's name in cargo.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Shipped => "user",
            Self::Tests => "user-tests",
        }
    }
}

/// The contents of a boot image.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) platform: &'a Platform,
    pub(crate) kernel: Kernel,
    pub(crate) abi: &'a [AbiOption],
    pub(crate) cores: Cores,
    pub(crate) hardening: &'a Hardening,
    pub(crate) log: Option<LogLevel>,
    /// The trace events that the kernel writes from boot on, if any.
    pub(crate) tracing: Option<&'a Tracing>,
    pub(crate) root_task: RootTask<'a>,
    /// Whether the platform's loader enters the kernel.
    pub(crate) loaded: bool,
    /// Whether the kernel's default features are left out: endpoint thresholds, and others that need budget
    /// checks.
    pub(crate) bare: bool,
    pub(crate) user_profile: UserProfile,
    /// Whether a debugger shows variables, of the kernel and of programs.
    pub(crate) variables: bool,
    /// Variables for the compilation of components and root task.
    pub(crate) environment: &'a [(&'a str, &'a str)],
    /// Features of the repository's crates, as `CRATE/FEATURE`.
    pub(crate) features: &'a [&'a str],
    /// What the root task finds in its archive; another value needs no other programs.
    pub(crate) parameters: &'a [(&'a str, &'a str)],
}

impl Request<'_> {
    /// How its kernel is built.
    fn recipe(&self) -> Recipe<'_> {
        Recipe {
            kernel: self.kernel,
            abi: self.abi,
            cores: self.cores,
            hardening: self.hardening,
            log: self.log,
            tracing: self.tracing,
            bare: self.bare,
            debug_info: match self.user_profile {
                _ if self.variables => DebugInfo::Variables,
                // The lines of its messages are in the debug information.
                UserProfile::Tests if self.log.is_none() => DebugInfo::Nothing,
                _ => DebugInfo::Lines,
            },
        }
    }
}

/// The results of a build.
#[derive(Debug)]
pub(crate) struct Built {
    /// The kernel with its symbols, for debuggers and the log's decoder.
    pub(crate) kernel: PathBuf,
    /// The log's decoder, if the kernel logs.
    pub(crate) log_decoder: Option<PathBuf>,
    /// The root task with its symbols.
    pub(crate) root_task: PathBuf,
    /// The system's components with their symbols.
    pub(crate) components: Vec<PathBuf>,
    /// The file that QEMU boots.
    pub(crate) image: PathBuf,
    /// The root task, if the boot loader brings it separately.
    pub(crate) module: Option<PathBuf>,
}

/// The command `build`.
pub(crate) fn run(workspace: &Workspace, arguments: &ImageArguments) -> Result {
    let tracing = arguments.trace.then_some(&arguments.tracing);
    if tracing.is_none() && arguments.tracing != Tracing::default() {
        bail!("the kernel would write no trace events; add --trace");
    }
    let arguments = &arguments.build;
    let platform = Platform::load(workspace, &arguments.platform)?;
    let system = System::chosen(workspace, arguments.system.as_deref())?;
    system.require(&platform)?;
    let tools = setup::build_tools()?;
    let request = Request {
        platform: &platform,
        kernel: arguments.kernel,
        abi: &arguments.abi,
        cores: arguments.cores,
        hardening: &arguments.hardening,
        log: None,
        tracing,
        root_task: RootTask::System(&system),
        loaded: false,
        bare: false,
        user_profile: UserProfile::Shipped,
        variables: false,
        environment: &[],
        features: &[],
        parameters: &[],
    };
    let built = build(workspace, &tools, &request)?;
    let row = |name: String, file: &Path| Ok((name, Sizes::of(&read(file)?)?));
    let own = [
        (
            format!("kernel ({}, {})", platform.name, arguments.kernel.name()),
            &built.kernel,
        ),
        (format!("root task ({})", system.root), &built.root_task),
    ];
    let programs = system.components.iter().zip(&built.components);
    let programs = programs.map(|(name, file)| (format!("program ({name})"), file));
    let rows: Result<Vec<_>> = own
        .into_iter()
        .chain(programs)
        .map(|(name, file)| row(name, file))
        .collect();
    say(&sizes::table(&rows?));
    ui::print(format!("{}\n", built.image.display()))?;
    Ok(Outcome::Success)
}

/// Builds the boot image that `request` describes.
pub(crate) fn build(
    workspace: &Workspace,
    tools: &setup::BuildTools,
    request: &Request<'_>,
) -> Result<Built> {
    let options = complete_options(request);
    let request = &Request {
        abi: &options,
        ..*request
    };
    let platform = request.platform;
    platform.require(request.cores)?;
    platform.require_hardening(request.hardening)?;
    if let RootTask::System(system) = request.root_task {
        system.require_cores(platform, request.cores)?;
    }
    let recipe = request.recipe();
    let mut bare_metal = BareMetal::of(workspace, tools, platform, &recipe);
    if request.loaded {
        bare_metal.stub = platform.loader.as_ref().map(|loader| &loader.program);
    }
    // An SDK has kernels that are built already.
    let sdk = Sdk::of(workspace)?;
    let prebuilt = sdk.map(|sdk| sdk.kernel(workspace, platform, &recipe));
    let prebuilt = prebuilt.transpose()?;
    // Cargo builds each request at the same path: no other run may change the files before they are read.
    let _alone = bare_metal.lock()?;

    // A bad root task is refused before the kernel is built, which takes minutes.
    let (name, (root_task, mut task), components) = match request.root_task {
        RootTask::System(system) => {
            let program = |name: &String| user_program(&bare_metal, request, name);
            (
                system.name.clone(),
                build_system(&bare_metal, system, request)?,
                system.components.iter().map(program).collect::<Vec<_>>(),
            )
        }
        RootTask::File(file) => {
            let stem = file.file_stem().unwrap_or(file.as_os_str());
            (
                stem.to_string_lossy().into_owned(),
                (file.to_path_buf(), read_root_task(platform, file, None)?),
                Vec::new(),
            )
        }
    };
    let is_prebuilt = prebuilt.is_some();
    let kernel = match prebuilt {
        Some(file) => file,
        None => kernel::build(&bare_metal, &recipe)?,
    };
    let context = || {
        format!(
            "cannot make a boot image of the kernel {}",
            workspace.display(&kernel)
        )
    };
    let executable = Executable::parse(&read(&kernel)?).with_context(context)?;
    if request.loaded {
        microkit::promise(&mut task, &executable, platform, &recipe).with_context(context)?;
    }
    let stub = match is_prebuilt && platform.stub.is_some() {
        true => Some(Sdk::stub(workspace, platform)),
        false => kernel::build_stub(&bare_metal)?,
    };
    let stub = stub.map(|file| {
        let context = || format!("cannot use {}", workspace.display(&file));
        Executable::parse(&read(&file)?).with_context(context)
    });
    let stub = stub.transpose()?;
    let is_module = request.loaded && platform.takes_module();
    let bytes = match is_module {
        true => image::without_task(&executable, platform.image),
        false => image::assemble(&executable, &task, stub.as_ref(), platform.image),
    };
    let bytes = bytes.with_context(context)?;

    let mut file = format!("{name}-{}", request.kernel.name());
    for option in request.abi {
        file.push('-');
        file.push_str(option.feature());
    }
    if request.cores.are_several() {
        file.push_str(&format!("-smp{}", request.cores.count));
    }
    if request.cores.big_lock {
        file.push_str("-big-lock");
    }
    if request.loaded {
        file.push_str("-loaded");
    }
    for feature in request.hardening.features() {
        file.push('-');
        file.push_str(feature);
    }
    if let Some(tracing) = request.tracing {
        file.push_str("-tracing-");
        file.push_str(tracing.keep.name());
        let groups = tracing.groups();
        if !groups.is_empty() {
            file.push_str(&format!("-{}", groups.replace(',', "-")));
        }
    }
    let folder = workspace.target().join(&platform.name).join("image");
    let keep = |program: &PathBuf| image::file::keep(&folder, program);
    let components: Result<_> = components.iter().map(keep).collect();
    Ok(Built {
        kernel: keep(&kernel)?,
        log_decoder: request
            .log
            .map(|_| log::build_decoder(workspace))
            .transpose()?,
        root_task: keep(&root_task)?,
        components: components?,
        image: image::file::write(&folder, &file, &bytes)?,
        module: match is_module {
            true => Some(image::file::write(
                &folder,
                &format!("{file}-module"),
                &task.write()?,
            )?),
            false => None,
        },
    })
}

/// The options of the ABI: a system with a schedule of domains has several domains, and a small kernel has one criticality,
/// whether it is said or not.
fn complete_options(request: &Request<'_>) -> Vec<AbiOption> {
    let mut abi = request.abi.to_vec();
    let has_domains = match request.root_task {
        RootTask::System(system) => system.is_generic() && system.has_domains,
        RootTask::File(_) => false,
    };
    if has_domains && !abi.contains(&AbiOption::Domains) {
        abi.push(AbiOption::Domains);
    }
    let implied = request.kernel.implied().iter();
    let missing: Vec<_> = implied.filter(|one| !abi.contains(one)).collect();
    abi.extend(missing);
    abi
}

/// Builds components and root task; returns the root task's file, and the task with its archive.
fn build_system(
    bare_metal: &BareMetal<'_>,
    system: &System,
    request: &Request<'_>,
) -> Result<(PathBuf, Executable)> {
    let build = |bare_metal: &BareMetal<'_>,
                 what: &str,
                 crates: &[&str],
                 environment: &[(String, std::ffi::OsString)]| {
        let step = format!(
            "building {what} of `{}` for {}",
            system.name, bare_metal.platform.name
        );
        let mut features = request.features.to_vec();
        // All tests of the repository share one `userlib`, whether or not a program has a heap.
        if request.user_profile == UserProfile::Tests && bare_metal.project.is_none() {
            features.push("userlib/heap");
        }
        // Cargo wants the crates of features to be built, too.
        let owners = features
            .iter()
            .filter_map(|feature| feature.split_once('/'));
        let owners = owners.map(|(name, _)| name);
        let crates: Vec<_> = crates.iter().copied().chain(owners).collect();
        let features: Vec<_> = features.iter().map(|feature| feature.to_string()).collect();
        bare_metal.build(
            Side::User,
            &step,
            request.user_profile.name(),
            &crates,
            &features,
            request.abi,
            environment,
        )
    };
    let wanted = request.environment.iter();
    let mut environment: Vec<_> = wanted
        .map(|&(name, value)| (name.into(), value.into()))
        .collect();
    if request.variables {
        let profile = request.user_profile.name().replace('-', "_");
        let variable = format!("CARGO_PROFILE_{}_DEBUG", profile.to_uppercase());
        environment.push((variable, "full".into()));
    }
    let folder = bare_metal.user_files();
    let generated = system.generate(bare_metal.workspace, bare_metal.platform)?;
    if let Some(generated) = &generated {
        devices::require(&generated.system, request)?;
        needs::require(&generated.system, request.kernel, request.abi)?;
        // Systems of the repository with the same programs share what they get: another path would compile them again.
        let folder = folder.join("given");
        let folder = match &system.project {
            Some(_) => folder.join(&system.name),
            None => folder,
        };
        write_given(&folder, generated)?;
        if let Some(project) = &system.project {
            write_given(&project.join(project::GIVEN), generated)?;
        }
        environment.push((GIVEN.into(), folder.into()));
    }
    let table = generated.as_ref().map(|generated| &*generated.table);
    let libraries = libraries(system, request, table);
    let components: Vec<&str> = system.components.iter().map(String::as_str).collect();
    if !components.is_empty() {
        let bare_metal = BareMetal {
            project: system.project.as_deref(),
            libraries,
            ..*bare_metal
        };
        build(&bare_metal, "the components", &components, &environment)?;
    }
    let files: Result<Vec<_>> = components
        .iter()
        .map(|&name| Ok((name, read(&user_program(bare_metal, request, name))?)))
        .collect();
    let files = files?;
    let programs = files.iter().map(|(name, bytes)| (*name, &**bytes));
    let archive = archive::pack(programs, table, request.parameters)?;

    // The initialiser is a part of this repository, also for a project.
    let own = BareMetal {
        project: system.project.as_deref().filter(|_| !system.is_generic()),
        libraries,
        ..*bare_metal
    };
    build(&own, "the root task", &[&system.root], &environment)?;
    let platform = bare_metal.platform;
    let root_task = user_program(bare_metal, request, &system.root);
    let task = read_root_task(platform, &root_task, Some(archive))?;
    if let (Some(table), Some(file)) = (table, &system.description) {
        let program = |name: &str| {
            let file = files.iter().find(|(known, _)| *known == name);
            file.map(|(_, bytes)| Executable::parse(bytes)).transpose()
        };
        let image = image::page_count(&task);
        memory::check(table, platform.usable_memory(), image, program)
            .map_err(|error| about::placed(&error, bare_metal.workspace, file))?;
    }
    Ok((root_task, task))
}

/// What the programs of a system use of the libraries: those of a described one use `alloc` if a component has a heap.
fn libraries(system: &System, request: &Request<'_>, table: Option<&[u8]>) -> Libraries {
    let has_heap = || {
        let table = table.and_then(|table| Table::parse(table).ok());
        table.is_none_or(|table| table.components().any(|(one, _)| one.heap_pages > 0))
    };
    let is_test = request.user_profile == UserProfile::Tests;
    match system.project.is_some() || is_test || has_heap() {
        true => Libraries::All,
        false => Libraries::Core,
    }
}

/// Writes the types of what components get, a file for each program.
pub(crate) fn write_given(folder: &Path, generated: &Generated) -> Result<()> {
    for (program, source) in &generated.given {
        write_if_changed(&folder.join(format!("{program}.rs")), source.as_bytes())?;
    }
    Ok(())
}

/// The file of a root task or component.
fn user_program(bare_metal: &BareMetal<'_>, request: &Request<'_>, name: &str) -> PathBuf {
    bare_metal.program(Side::User, request.user_profile.name(), name)
}

/// Reads and checks a root task, and puts its archive behind it.
pub(crate) fn read_root_task(
    platform: &Platform,
    file: &Path,
    archive: Option<Vec<u8>>,
) -> Result<Executable> {
    // What is there and is no file, as a device, may have no end.
    if file.exists() && !file.is_file() {
        bail!("{} is no file", file.display());
    }
    let memory = u64::from(platform.qemu.memory) << 20;
    image::root_task(&read(file)?, archive, platform.user.elf, memory).with_context(|| {
        format!(
            "{} cannot be a root task on {}",
            file.display(),
            platform.name
        )
    })
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}

/// Writes a file atomically, unless it already holds `bytes`, so that its dependents are not built again.
pub(crate) fn write_if_changed(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let context = || format!("cannot write {}", path.display());
    let file = temporary::File::beside(path).with_context(context)?;
    file.handle().write_all(bytes).with_context(context)?;
    file.keep_as(path).with_context(context)?;
    Ok(())
}
