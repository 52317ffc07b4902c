//! The prebuilt kernels: which there are, and how a build finds the one that it needs.

use std::collections::BTreeSet;
use std::fmt;

use anyhow::bail;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::build::{DebugInfo, Recipe};
use crate::cli::{AbiOption, Cores, Hardening, Keep, Kernel, Tracing};
use crate::platform::Platform;

/// The most cores of a prebuilt kernel. It runs on fewer, too.
const CORES: u32 = 8;

/// What prebuilt kernels that trace write.
static TRACING: Tracing = Tracing {
    keep: Keep::First,
    events: Vec::new(),
    is_unmarked: false,
};

/// A prebuilt kernel.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Prebuilt {
    pub(super) platform: String,
    pub(super) kind: Kernel,
    /// The most cores on which it runs.
    pub(super) cores: u32,
    /// Options of the ABI.
    pub(super) abi: Vec<AbiOption>,
    /// Whether it writes trace events.
    #[serde(default)]
    pub(super) is_traced: bool,
}

/// All kernels for a platform: every one of `kinds` for one core and for several, without options of the ABI and with
/// those that user programs need to have a timer; for one core the same with several domains; and for one domain the same
/// with traces, where a kernel of kind `bench` takes the place of one that cannot name its threads. If there are `more`
/// options, all kernels exist with them, too.
pub(super) fn of(platform: &Platform, kinds: &[Kernel], more: &[AbiOption]) -> Vec<Prebuilt> {
    let several = platform.cores.min(CORES);
    let cores = [1].into_iter().chain((several > 1).then_some(several));
    let timer = (!platform.timer.is_empty()).then(|| platform.timer.clone());
    let mut kernels = Vec::new();
    for (cores, timer) in cores.flat_map(|cores| {
        let timers = [Vec::new()].into_iter().chain(timer.clone());
        timers.map(move |timer| (cores, timer))
    }) {
        let prebuilt = |kind: Kernel, domains: &[AbiOption], is_traced| Prebuilt {
            platform: platform.name.clone(),
            kind,
            cores,
            abi: sorted(&[&timer, domains, kind.implied()].concat()),
            is_traced,
        };
        kernels.extend(kinds.iter().map(|&kind| prebuilt(kind, &[], false)));
        if cores == 1 {
            let domains = &[AbiOption::Domains];
            kernels.extend(kinds.iter().map(|&kind| prebuilt(kind, domains, false)));
        }
        let traced = kinds.iter().filter_map(|kind| kind.traced());
        kernels.extend(traced.map(|kind| prebuilt(kind, &[], true)));
    }
    let with_more = |one: &Prebuilt| Prebuilt {
        abi: sorted(&[&*one.abi, more].concat()),
        ..one.clone()
    };
    for one in kernels.iter().map(with_more).collect::<Vec<_>>() {
        if !kernels.contains(&one) {
            kernels.push(one);
        }
    }
    kernels
}

/// Options in their usual order, each once.
fn sorted(options: &[AbiOption]) -> Vec<AbiOption> {
    let mut options = options.to_vec();
    options.sort_unstable();
    options.dedup();
    options
}

impl Prebuilt {
    /// How it is built.
    pub(super) fn recipe<'a>(&'a self, hardening: &'a Hardening) -> Recipe<'a> {
        Recipe {
            kernel: self.kind,
            abi: &self.abi,
            cores: Cores {
                count: self.cores,
                ..Cores::ONE
            },
            hardening,
            log: None,
            tracing: self.is_traced.then_some(&TRACING),
            bare: false,
            // They take room, and the debugger's commands want a kernel of this kind without traces.
            debug_info: match self.kind {
                Kernel::Debug if !self.is_traced => DebugInfo::Variables,
                _ => DebugInfo::Lines,
            },
        }
    }

    /// Its file, relative to the SDK.
    pub(super) fn file(&self) -> String {
        let mut name = self.kind.name().to_string();
        for option in &self.abi {
            name.push('-');
            name.push_str(option.feature());
        }
        if self.cores > 1 {
            name.push_str(&format!("-smp{}", self.cores));
        }
        if self.is_traced {
            name.push_str("-traced");
        }
        format!("kernels/{}/{name}.elf", self.platform)
    }

    /// Whether it is what a build asks for.
    fn fits(&self, platform: &str, recipe: &Recipe<'_>) -> bool {
        let Recipe { cores, .. } = *recipe;
        self.platform == platform
            && self.kind == recipe.kernel
            && sorted(&self.abi) == sorted(recipe.abi)
            && cores.are_several() == (self.cores > 1)
            && cores.count <= self.cores
            && !cores.big_lock
            && !recipe.hardening.is_wanted()
            && recipe.log.is_none()
            && recipe.tracing.is_some() == self.is_traced
            && recipe.tracing.is_none_or(|tracing| *tracing == TRACING)
            && !recipe.bare
    }
}

/// The options by which it is chosen.
impl fmt::Display for Prebuilt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&options(&self.recipe(&Hardening::default())))
    }
}

/// The options by which a kernel is chosen, as they are typed.
fn options(recipe: &Recipe<'_>) -> String {
    let mut text = format!("--kernel {}", recipe.kernel.name());
    if !recipe.abi.is_empty() {
        let names: Vec<_> = recipe.abi.iter().map(|option| option.feature()).collect();
        text.push_str(&format!(" --abi {}", names.join(",")));
    }
    if recipe.cores.are_several() {
        text.push_str(&format!(" --smp {}", recipe.cores.count));
    }
    if recipe.cores.big_lock {
        text.push_str(" --big-lock");
    }
    if recipe.hardening.is_wanted() {
        let attacks = recipe.hardening.name().replace('-', ",");
        text.push_str(&format!(" --harden {attacks}"));
    }
    if let Some(level) = recipe.log {
        text.push_str(&format!(" --log {}", level.name()));
    }
    if let Some(tracing) = recipe.tracing {
        text.push_str(" --trace");
        if tracing.keep != Keep::default() {
            text.push_str(&format!(" --keep {}", tracing.keep.name()));
        }
        if !tracing.groups().is_empty() {
            text.push_str(&format!(" --events {}", tracing.groups()));
        }
    }
    text
}

/// The platforms for which there are kernels.
pub(super) fn platforms(kernels: &[Prebuilt]) -> BTreeSet<&str> {
    kernels.iter().map(|one| &*one.platform).collect()
}

/// Refuses a platform for which there are none.
pub(super) fn require(kernels: &[Prebuilt], platform: &str) -> Result<()> {
    let names = platforms(kernels);
    if names.contains(platform) {
        return Ok(());
    }
    let names: Vec<_> = names.into_iter().collect();
    bail!(
        "the SDK has no kernels for {platform}, only for {}; in a checkout of Escapement, \
         `cargo xtask sdk --platform {platform}` makes an SDK with them",
        names.join(", ")
    )
}

/// The kernel that a build asks for: of those that fit, the one for the fewest cores.
pub(super) fn find<'a>(
    kernels: &'a [Prebuilt],
    platform: &str,
    recipe: &Recipe<'_>,
) -> Result<&'a Prebuilt> {
    require(kernels, platform)?;
    let fitting = kernels.iter().filter(|one| one.fits(platform, recipe));
    if let Some(kernel) = fitting.min_by_key(|one| one.cores) {
        return Ok(kernel);
    }
    let of_platform = kernels.iter().filter(|one| one.platform == platform);
    let there_are: Vec<_> = of_platform.map(|one| format!("`{one}`")).collect();
    bail!(
        "the SDK has no kernel for {platform} with `{}`; it has those with: {}; in a checkout of Escapement, \
         `cargo xtask sdk --abi OPTIONS` makes an SDK with other options of the ABI, and `build` all other kernels",
        options(recipe),
        there_are.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command, LogLevel, Tracing};
    use crate::workspace::Workspace;
    use clap::Parser;

    fn kernels(name: &str) -> Vec<Prebuilt> {
        let platform = Platform::load(&Workspace::find().unwrap(), name).unwrap();
        of(&platform, &[Kernel::Debug, Kernel::Release], &[])
    }

    #[test]
    fn every_kernel_has_a_file_of_its_own_and_is_found() {
        let workspace = Workspace::find().unwrap();
        let names = Platform::names(&workspace);
        let all: Vec<_> = names.iter().flat_map(|name| kernels(name)).collect();
        let mut files: Vec<_> = all.iter().map(Prebuilt::file).collect();
        files.sort();
        files.dedup();
        assert_eq!(files.len(), all.len());
        for one in &all {
            let none = Hardening::default();
            let found = find(&all, &one.platform, &one.recipe(&none)).unwrap();
            assert_eq!(found, one);
        }
    }

    #[test]
    fn boards_with_one_core_get_kernels_for_one() {
        let files = |name| {
            let files = kernels(name).iter().map(Prebuilt::file).collect::<Vec<_>>();
            files.join(" ")
        };
        assert_eq!(
            files("kzm"),
            "kernels/kzm/debug.elf kernels/kzm/release.elf kernels/kzm/debug-domains.elf \
             kernels/kzm/release-domains.elf kernels/kzm/debug-traced.elf kernels/kzm/bench-traced.elf"
        );
        let sabre = files("sabre");
        assert_eq!(sabre.split(' ').count(), 10, "{sabre}");
        for file in ["release-smp4", "bench-smp4-traced"] {
            assert!(
                sabre.contains(&format!("kernels/sabre/{file}.elf")),
                "{sabre}"
            );
        }
        assert!(files("hikey").contains("kernels/hikey/debug-user-timer-smp8.elf"));
    }

    #[test]
    fn all_kernels_may_have_further_options() {
        let platform = Platform::load(&Workspace::find().unwrap(), "kzm").unwrap();
        let files = |more: &[AbiOption]| {
            let kernels = of(&platform, &[Kernel::Debug], more);
            let files = kernels.iter().map(Prebuilt::file);
            let files = files.map(|file| file.replace("kernels/kzm/debug", ""));
            files.collect::<Vec<_>>().join(" ")
        };
        let usual = ".elf -domains.elf -traced.elf";
        assert_eq!(files(&[]), usual);
        let hwdebug = files(&[AbiOption::Hwdebug]);
        let added = "-hwdebug.elf -hwdebug-domains.elf -hwdebug-traced.elf";
        assert_eq!(hwdebug, format!("{usual} {added}"));
        // The one with several domains exists already.
        let domains = files(&[AbiOption::Domains]);
        assert_eq!(domains, format!("{usual} -domains-traced.elf"));
    }

    #[test]
    fn fewer_cores_take_the_kernel_for_several() {
        let (kernels, none) = (kernels("sabre"), Hardening::default());
        let recipe = |count| Recipe {
            cores: Cores {
                count,
                ..Cores::ONE
            },
            ..kernels[0].recipe(&none)
        };
        let cores = |count| find(&kernels, "sabre", &recipe(count)).unwrap().cores;
        assert_eq!([1, 2, 4].map(cores), [1, 4, 4]);
    }

    #[test]
    fn the_platforms_with_kernels_are_named() {
        let all = [kernels("sabre"), kernels("kzm")].concat();
        let none = Hardening::default();
        let error = find(&all, "hikey", &all[0].recipe(&none)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the SDK has no kernels for hikey, only for kzm, sabre; in a checkout of Escapement, \
             `cargo xtask sdk --platform hikey` makes an SDK with them"
        );
    }

    #[test]
    fn a_kernel_that_is_not_there_is_named_and_so_are_the_others() {
        let (kernels, none, all) = (kernels("kzm"), Hardening::default(), Hardening::all());
        let plain = kernels[0].recipe(&none);
        let error = |recipe| find(&kernels, "kzm", &recipe).unwrap_err().to_string();
        assert_eq!(
            error(Recipe {
                abi: &[AbiOption::Hwdebug],
                ..plain
            }),
            "the SDK has no kernel for kzm with `--kernel debug --abi hwdebug`; it has those with: `--kernel debug`, \
             `--kernel release`, `--kernel debug --abi domains`, `--kernel release --abi domains`, \
             `--kernel debug --trace`, `--kernel bench --trace`; in a checkout of Escapement, \
             `cargo xtask sdk --abi OPTIONS` makes an SDK with other options of the ABI, and `build` all other kernels"
        );
        let log = Some(LogLevel::Info);
        assert!(error(Recipe { log, ..plain }).contains("`--kernel debug --log info`"));
        let last = Tracing {
            keep: Keep::Last,
            ..Tracing::default()
        };
        let tracing = Some(&last);
        let kept = error(Recipe { tracing, ..plain });
        assert!(
            kept.contains("with `--kernel debug --trace --keep last`"),
            "{kept}"
        );
        let hardening = &all;
        assert!(error(Recipe { hardening, ..plain }).contains("`--kernel debug --harden all`"));
        let call = ["cargo xtask", "build", "--harden", "mds,meltdown"];
        let Command::Build(two) = Cli::parse_from(call).command else {
            panic!("not `build`")
        };
        let hardening = &two.build.hardening;
        let error_of_two = error(Recipe { hardening, ..plain });
        assert!(
            error_of_two.contains("`--kernel debug --harden meltdown,mds`"),
            "{error_of_two}"
        );
        let cores = Cores {
            big_lock: true,
            ..Cores::TWO
        };
        assert!(error(Recipe { cores, ..plain }).contains("`--kernel debug --smp 2 --big-lock`"));
    }
}
