//! The kernel: what it is built of, and the program that runs before it on some boards.

use std::path::PathBuf;

use super::{BareMetal, Side, read};
use crate::Result;
use crate::cli::{AbiOption, Attack, Cores, Hardening, Kernel, LogLevel, Tracing};
use crate::platform::Platform;
use crate::setup::BuildTools;
use crate::workspace::Workspace;

/// The variable with the maximum number of cores, for the compilation of a multicore kernel.
pub(crate) const CORES: &str = "ESCAPEMENT_CORES";

/// The variables that say which trace events a kernel keeps, and which it writes, for its compilation.
const KEPT_EVENTS: &str = "ESCAPEMENT_TRACE_KEEP";
const EVENTS: &str = "ESCAPEMENT_TRACE_EVENTS";

/// How a kernel is built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe<'a> {
    pub(crate) kernel: Kernel,
    pub(crate) abi: &'a [AbiOption],
    pub(crate) cores: Cores,
    pub(crate) hardening: &'a Hardening,
    pub(crate) log: Option<LogLevel>,
    /// The trace events that it writes from boot on, if any.
    pub(crate) tracing: Option<&'a Tracing>,
    /// Whether endpoint thresholds are left out.
    pub(crate) bare: bool,
    /// Of a kernel of kind `debug`.
    pub(crate) debug_info: DebugInfo,
}

/// What debuggers learn of a debug kernel beside the names of its functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DebugInfo {
    /// Tests need nothing: a panic names its line. Lines take a fifth of a build.
    Nothing,
    Lines,
    /// Variables too, which take another sixth.
    Variables,
}

impl<'a> BareMetal<'a> {
    /// For the kernel that `recipe` describes, and programs on it.
    pub(super) fn of(
        workspace: &'a Workspace,
        tools: &'a BuildTools,
        platform: &'a Platform,
        recipe: &Recipe<'_>,
    ) -> Self {
        let retpolines = recipe.hardening.is_against(Attack::Spectre);
        Self {
            smp: recipe.cores.are_several(),
            small: recipe.kernel.is_small(),
            tracing: recipe.tracing.is_some_and(|tracing| !tracing.is_unmarked),
            retpolines,
            libraries_with_retpolines: retpolines && recipe.kernel != Kernel::Debug,
            ..Self::new(workspace, tools, platform)
        }
    }
}

/// Builds the kernel of a platform with a profile of cargo, and nothing else. The program is not used.
pub(crate) fn by_profile(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    profile: &str,
) -> Result<()> {
    let bare_metal = BareMetal::new(workspace, tools, platform);
    let step = format!(
        "building the kernel for {} by {}",
        platform.name,
        tools.toolchain.version()
    );
    let crates = [&*platform.name];
    bare_metal.build(Side::Kernel, &step, profile, &crates, &[], &[], &[])
}

/// The file of a kernel for an SDK.
pub(crate) fn prebuilt(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
    recipe: &Recipe<'_>,
) -> Result<Vec<u8>> {
    let bare_metal = BareMetal::of(workspace, tools, platform, recipe);
    let _alone = bare_metal.lock()?;
    read(&build(&bare_metal, recipe)?)
}

/// The file of a platform's stub for an SDK, if it has one.
pub(crate) fn prebuilt_stub(
    workspace: &Workspace,
    tools: &BuildTools,
    platform: &Platform,
) -> Result<Option<Vec<u8>>> {
    let bare_metal = BareMetal::new(workspace, tools, platform);
    let _alone = bare_metal.lock()?;
    let file = build_stub(&bare_metal)?;
    file.map(|file| read(&file)).transpose()
}

/// Builds the kernel that `recipe` describes; returns its file.
pub(super) fn build(bare_metal: &BareMetal<'_>, recipe: &Recipe<'_>) -> Result<PathBuf> {
    let name = &bare_metal.platform.name;
    let mut features = match recipe.kernel {
        Kernel::Debug => vec!["debug"],
        Kernel::Release | Kernel::Small => vec![],
        Kernel::Bench | Kernel::SmallBench => vec!["bench"],
    };
    let profile = match recipe.kernel {
        Kernel::Debug => "dev",
        kind if kind.is_small() => "small",
        _ => "release",
    };
    if recipe.bare {
        features.push("fast-paths");
    }
    let mut environment = Vec::new();
    let debug_info = match recipe.debug_info {
        DebugInfo::Nothing => Some("none"),
        DebugInfo::Lines => Some("line-tables-only"),
        // As in the profile.
        DebugInfo::Variables => None,
    };
    environment.extend(debug_info.map(|kind| ("CARGO_PROFILE_DEV_DEBUG".into(), kind.into())));
    if let Some(level) = recipe.log {
        features.push("log");
        environment.push(("DEFMT_LOG".into(), level.name().into()));
    }
    if recipe.cores.are_several() {
        features.push("smp");
        environment.push((CORES.into(), recipe.cores.count.to_string().into()));
    }
    if recipe.cores.big_lock {
        features.push("big-lock");
    }
    if let Some(tracing) = recipe.tracing {
        features.push("tracing");
        environment.push((KEPT_EVENTS.into(), tracing.keep.by_kernel().name().into()));
        let groups = tracing.groups();
        if !groups.is_empty() {
            environment.push((EVENTS.into(), groups.into()));
        }
    }
    features.extend(recipe.hardening.features());
    let features: Vec<_> = features
        .iter()
        .map(|feature| format!("{name}/{feature}"))
        .collect();
    let step = format!("building the kernel for {name} ({})", recipe.kernel.name());
    let bare_metal = BareMetal {
        bare: recipe.bare,
        ..*bare_metal
    };
    bare_metal.build(
        Side::Kernel,
        &step,
        profile,
        &[name],
        &features,
        recipe.abi,
        &environment,
    )?;
    Ok(bare_metal.program(Side::Kernel, profile, name))
}

/// Builds the program that runs before the kernel, if the platform has one; returns its file.
pub(super) fn build_stub(bare_metal: &BareMetal<'_>) -> Result<Option<PathBuf>> {
    const PROFILE: &str = "release";
    let Some(stub) = bare_metal.stub else {
        return Ok(None);
    };
    let name = &*stub.package;
    let step = format!("building {name}");
    bare_metal.build(Side::Stub, &step, PROFILE, &[name], &[], &[], &[])?;
    Ok(Some(bare_metal.program(Side::Stub, PROFILE, name)))
}
