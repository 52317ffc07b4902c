//! The runs of the tests on each platform, and their order.
//!
//! Behaviour that is the same on every platform is tested on platforms that declare it (`covers` in
//! `platform.toml`); the others are booted for their own features: an architecture's registers, traps,
//! address spaces and fast paths, a board's interrupts, timers and memory. `--all` tests everything
//! everywhere.

mod examples;
mod ready_made;

pub(super) use examples::{TRACED, example, require_examples};

use examples::{COMPARED, EVERYWHERE, LAST_TURN, ON_ARCHITECTURES, SYSTEM};
use ready_made::ready_made;
use std::path::Path;

use super::filter::Filter;
use super::target::{Run, bochs};
use crate::Result;
use crate::cli::{AbiOption, Cores, Emulator, Hardening, Keep, Kernel, TestArguments};
use crate::platform::{Coverage, Platform};
use crate::system::System;
use crate::workspace::Workspace;

/// All tests of the fuzzer, and no others, have names that begin with this.
const FUZZ: &str = "fuzz";
/// The same for tests of the system calls that only `bench` kernels have.
const BENCHMARK: &str = "benchmark";
/// The same for tests of large machines; the tests of boot information run with them.
const MACHINE: &str = "machine";
/// Names of tests that need several cores contain this.
const CORES: &str = "cores";
/// Those of several cores that depend on a board.
const CORES_OF_BOARD: &str = "cores::,cores_memory,cores_signals";
/// The fuzzer's test that needs several cores.
const FUZZ_OF_ALL_CORES: &str = "fuzz::from_all_cores";
/// The test of the log.
const LOG: &str = "log";
/// The tests during which several cores write the log together.
const BUSY: &str = "cores_history";
/// The tests of all kernel entries and exits of a hardened kernel.
const ENTRIES: &str = "x86_isolation,call_reply,fast_path,faults,fpu,irq";
/// Tests of a kernel that is compiled for size: those of what it does without fast paths, thresholds and criticalities.
const SMALL: &str = "arm_signals,aarch64_spaces,arm_spaces,budget::,call_reply::,cap_transfer::,deletion::,donation::,\
                     endpoint::,faults::,fpu::,notification::,reply_stack::,retype::,sched_context::,timeout::,\
                     untyped::,x86_spaces";
/// Tests of registers that threads must not share.
const HIDDEN: &str = "hidden_registers";
/// Tests of the processor's debug registers.
const BREAKPOINTS: &str = "breakpoints";
/// Tests that check progress only, in host time.
const STRESS: &str = "stress";
/// Tests that read trace events while they run.
const STREAM: &str = "stream";
/// The kinds of tests that a filter selects by the beginning of their names; all others are one.
const KINDS: [&str; 9] = [
    FUZZ, BENCHMARK, MACHINE, SYSTEM, LOG, STRESS, TRACE, STREAM, LOADER,
];
/// The test of a trace.
const TRACE: &str = "trace";
/// The example that also runs in host time, and whose trace is checked on several platforms. A short run does so beside the
/// run of the example on a platform without options, where a full run checks traces of all examples; on the others it
/// replaces that run, and costs no more than another kernel: programs are those of other runs.
const DEMO: &str = "demo";
/// The components whose response times must be in the trace of an example: the periodic tasks of one, and those that always
/// have something to do in the other.
const OBSERVED: [(&str, &[&str]); 2] = [
    ("rates", &["sensor", "control", "logger"]),
    ("demo", &["client-a", "client-b", "hog"]),
];
/// The files of the suite that depend on a board.
const BOARD: &str =
    "arm_irq,arm_signals,boot_info,budget,call_reply,fpu,hidden_registers,irq,long_time,untyped";
/// The files of the suite that depend on the machine, where the same kernel runs on another one: its processor, its
/// interrupt controller, its firmware.
const MACHINES: &str = "arm_irq,arm_signals,boot_info,fpu,irq";
/// The files of those that a kernel passes which a loader has entered, without a device tree.
const LOADED: &str = "arm_irq,arm_signals,fpu,irq";
/// The same where the boot loader brings the root task.
const MODULE: &str = "boot_info,untyped";
/// Selects the run of these.
const LOADER: &str = "loader";
/// The files of the suite that depend on an architecture or a board.
const ARCHITECTURE: &str = "arm_,asid,aarch64_,boot_info,breakpoints,budget,call_reply,fast_path,faults,fpu,frames,\
                   hidden_registers,hostile,io_ports,irq,long_time,registers,retype,stacks,syscalls,timeout,untyped,x86_";
/// What a short run divides the number of calls of each of the fuzzer's campaigns by.
const CALLS_DIVISOR: u64 = 8;

/// The components whose response times must be in the trace of an example.
pub(super) fn observed(example: &str) -> &'static [&'static str] {
    let found = OBSERVED.iter().find(|(name, _)| *name == example);
    found.map_or(&[], |(_, components)| components)
}

/// The scope of the tests on a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Everything.
    All,
    /// All behaviour, and samples of slow tests; examples that depend on no architecture on one such platform.
    Portable,
    /// Files of the suite with these names, and tests of several cores.
    Own(&'static str),
}

impl Scope {
    /// The scope on a platform, for a short or a full run.
    pub(super) fn of(platform: &Platform, is_short: bool) -> Self {
        match platform.covers {
            _ if !is_short => Self::All,
            Coverage::Portable => Self::Portable,
            Coverage::Architecture => Self::Own(ARCHITECTURE),
            Coverage::Board => Self::Own(BOARD),
        }
    }
}

/// The boots of a platform: the suite and the fuzzer, if selected; parts of the suite that need a special
/// machine or kernel: a large machine, a `bench` kernel, the hardware debug interface; parts of both on two
/// cores; and the example systems. In the folder of a project, its system.
pub(super) fn runs<'a>(
    workspace: &'a Workspace,
    platform: &'a Platform,
    arguments: &'a TestArguments,
    project: Option<&Path>,
    scope: Scope,
) -> Result<Vec<Run<'a>>> {
    let filter = Filter::new(arguments.filter.as_deref());
    let all = filter.is_empty();
    let run = |system| Run {
        workspace,
        platform,
        system,
        kernel: Kernel::Debug,
        abi: arguments.abi.clone(),
        cores: arguments.cores,
        hardening: arguments.hardening.clone(),
        filter: String::new(),
        files: String::new(),
        memory: None,
        variant: None,
        is_loaded: false,
        fuzz_divisor: (scope != Scope::All).then_some(CALLS_DIVISOR),
        is_example: false,
        is_logged: false,
        is_traced: false,
        keep: Keep::default(),
        is_stress: false,
        arguments,
    };
    // The suite's tests of interrupts need a timer.
    let suite = || -> Result<_> {
        Ok(Run {
            abi: [&arguments.abi[..], &platform.timer].concat(),
            ..run(System::target_tests(workspace)?)
        })
    };
    let part = |filter: &str| -> Result<Run<'a>> {
        Ok(Run {
            filter: filter.to_string(),
            ..suite()?
        })
    };
    if arguments.emulator == Emulator::Bochs {
        let own = bochs(platform)?.tests.join(",");
        return Ok(vec![part(&filter.or(&own))?]);
    }
    if let Some(folder) = project {
        let system = System::of_project(workspace, folder)?;
        if !filter.wants(&example(&system.name)) {
            return Ok(Vec::new());
        }
        return Ok(vec![Run {
            is_example: true,
            abi: with_devices(&arguments.abi, &system, workspace, platform)?,
            ..run(system)
        }]);
    }
    let [
        fuzz,
        benchmark,
        machine,
        system,
        log,
        stress,
        trace,
        stream,
        loader,
    ] = KINDS.map(|kind| filter.of(kind));
    let two_cores = platform.has(Cores::TWO) && !arguments.cores.are_several();
    let own = matches!(scope, Scope::Own(_));

    // A board's own features, those of several cores and the examples are tested by one kernel.
    let is_joined = platform.covers == Coverage::Board && own && two_cores;
    let joined = |names: &str| -> Result<Run<'a>> {
        Ok(Run {
            cores: Cores::TWO,
            ..part(&format!("{names},{CORES_OF_BOARD}"))?
        })
    };
    let mut runs = Vec::new();
    if let Scope::Own(names) = scope {
        runs.push(match is_joined {
            true => joined(names)?,
            false => part(names)?,
        });
    } else {
        let others = filter.only(|text| !KINDS.iter().any(|kind| text.starts_with(kind)));
        if all || !others.is_empty() {
            runs.push(part(&others.to_string())?);
        }
    }
    if all && two_cores {
        for (name, more) in &platform.qemu.variants {
            let variant = Some((&**name, &**more));
            runs.push(Run {
                variant,
                ..joined(MACHINES)?
            });
        }
    }
    let start = match &platform.loader {
        Some(loader) => Some((LOADED, Some(loader.memory))),
        None => platform.takes_module().then_some((MODULE, None)),
    };
    if (all || !loader.is_empty())
        && two_cores
        && let Some((names, memory)) = start
    {
        // Beside each part of the suite, on the same kernel, a task that compares its memory with what it was promised.
        let beside = |part: Run<'a>| -> Result<[Run<'a>; 2]> {
            let task = Run {
                kernel: part.kernel,
                abi: part.abi.clone(),
                cores: part.cores,
                ..run(System::loaded(workspace)?)
            };
            Ok([part, task].map(|run| Run {
                is_loaded: true,
                memory,
                ..run
            }))
        };
        runs.extend(beside(match platform.loader {
            Some(_) => joined(names)?,
            None => part(names)?,
        })?);
        let kernels = (scope == Scope::All).then(|| ready_made(platform));
        for (kernel, options, cores) in kernels.into_iter().flatten() {
            let part = part(&match (kernel, cores.are_several()) {
                (Kernel::Bench, _) => BENCHMARK.to_string(),
                (_, true) => format!("{names},arm_smc,{BREAKPOINTS},{CORES_OF_BOARD}"),
                (_, false) => format!("{names},arm_smc,{BREAKPOINTS},domain"),
            })?;
            let abi = [&part.abi[..], &options].concat();
            runs.extend(beside(Run {
                kernel,
                abi,
                cores,
                ..part
            })?);
        }
    }
    // A short run builds a kernel less: those of several cores have breakpoints, too. The log, whose libraries take
    // long to compile, is tested on one platform only.
    let is_thrifty =
        scope != Scope::All && !is_joined && all && two_cores && arguments.abi.is_empty();
    let on_two_cores = |run| {
        let run = Run {
            cores: Cores::TWO,
            ..run
        };
        match is_thrifty {
            true => with_breakpoints(run),
            false => run,
        }
    };
    // Tests of several cores.
    if all && two_cores && !is_joined {
        let names = match is_thrifty {
            true => [CORES, BREAKPOINTS, HIDDEN].join(","),
            false => CORES.to_string(),
        };
        runs.push(on_two_cores(part(&names)?));
    }
    let is_logged = all && two_cores && !own && (!is_thrifty || platform.is_sample());
    if (is_logged || !log.is_empty()) && platform.has(Cores::TWO) {
        runs.push(Run {
            is_logged: true,
            ..on_two_cores(part(BUSY)?)
        });
    }
    // In host time, in which interrupts come at any time, with busy loops on the host.
    if all && !own || !stress.is_empty() {
        let demo = stressed(DEMO);
        let others = stress.only(|text| text != demo);
        if all || !others.is_empty() {
            let run = || -> Result<_> {
                Ok(Run {
                    is_stress: true,
                    ..part(&others.or(STRESS))?
                })
            };
            if two_cores {
                runs.push(on_two_cores(run()?));
            }
            runs.push(run()?);
        }
        if (all || stress.finds(&demo)) && (scope == Scope::All || platform.is_sample()) {
            runs.push(Run {
                is_example: true,
                is_stress: true,
                ..run(System::load(workspace, DEMO)?)
            });
        }
    }
    if all && !own || !benchmark.is_empty() {
        runs.push(Run {
            kernel: Kernel::Bench,
            ..part(&benchmark.or(BENCHMARK))?
        });
    }
    if all && !own && !is_thrifty && arguments.abi.is_empty() {
        runs.push(with_breakpoints(part(BREAKPOINTS)?));
    }
    if all && platform.qemu.hardened.is_some() && !arguments.hardening.is_wanted() {
        runs.push(Run {
            hardening: Hardening::all(),
            ..part(ENTRIES)?
        });
    }
    if all && scope == Scope::All && platform.covers != Coverage::Board {
        runs.push(Run {
            kernel: Kernel::SmallBench,
            ..part(SMALL)?
        });
    }
    // Without options, user mode has no access to the timer's registers.
    let hidden = filter.of(HIDDEN);
    if (all && !own || !hidden.is_empty()) && !platform.timer.is_empty() {
        runs.push(Run {
            abi: arguments.abi.clone(),
            ..part(&hidden.or(HIDDEN))?
        });
    }
    if (all || !machine.is_empty()) && platform.qemu.large_memory.is_some() {
        runs.push(Run {
            memory: platform.qemu.large_memory,
            cores: if is_joined {
                Cores::TWO
            } else {
                arguments.cores
            },
            ..part("boot_info")?
        });
    }
    let usual_abi = match is_joined {
        true => suite()?.abi,
        false => arguments.abi.clone(),
    };
    let is_traced_instead = match scope {
        Scope::All => false,
        Scope::Portable => !platform.is_sample() && two_cores,
        Scope::Own(_) => platform.covers == Coverage::Architecture && two_cores,
    };
    if all || !system.is_empty() {
        let names = System::names(workspace).into_iter();
        let is_sample = !is_thrifty || platform.is_sample();
        let is_wanted = |name: &str| {
            EVERYWHERE.contains(&name) || !own && (is_sample || ON_ARCHITECTURES.contains(&name))
        };
        for name in names.filter(|name| system.wants(&example(name)) && is_wanted(name)) {
            let system = System::load(workspace, &name)?;
            if !system.runs_on(&platform.name) {
                continue;
            }
            let needed = cores_of(&system);
            let needs_several = needed.count > arguments.cores.count;
            let example = Run {
                is_example: true,
                cores: match is_joined {
                    true => Cores::TWO,
                    false => arguments.cores,
                },
                abi: with_devices(&usual_abi, &system, workspace, platform)?,
                ..run(system)
            };
            if all && name == DEMO && is_traced_instead {
                // Where nothing depends on the architecture, on two cores.
                runs.push(Run {
                    is_traced: true,
                    keep: Keep::All,
                    cores: if own { arguments.cores } else { Cores::TWO },
                    ..example
                });
            } else if !needs_several {
                runs.push(example);
            } else if two_cores && platform.has(needed) {
                // On a kernel of the suite, if two cores suffice.
                runs.push(Run {
                    cores: needed,
                    ..on_two_cores(Run {
                        abi: suite()?.abi,
                        ..example
                    })
                });
            }
        }
    }
    if (all && (!own || is_joined) || !system.is_empty()) && two_cores {
        for service in examples::on_two_cores(workspace, platform, &system)? {
            let run = Run {
                is_example: true,
                cores: Cores::TWO,
                abi: with_devices(&suite()?.abi, &service, workspace, platform)?,
                ..run(service)
            };
            runs.push(if is_joined { run } else { on_two_cores(run) });
        }
    }
    // On the kernel of the example with domains.
    let last_turn = all || system.finds(&example(LAST_TURN));
    if last_turn && platform.is_sample() && arguments.abi.is_empty() {
        runs.push(Run {
            is_example: true,
            abi: vec![AbiOption::Domains],
            cores: Cores::ONE,
            ..run(System::last_turn(workspace)?)
        });
    }
    let is_traced = match scope {
        Scope::All => platform.covers >= Coverage::Architecture,
        Scope::Portable => platform.is_sample(),
        Scope::Own(_) => false,
    };
    let several = (two_cores && (scope == Scope::All || !stream.is_empty())).then_some(Cores::TWO);
    if all && is_traced || !stream.is_empty() {
        for cores in [Some(arguments.cores), several].into_iter().flatten() {
            runs.push(Run {
                is_traced: true,
                keep: Keep::Stream,
                cores,
                ..part(&stream.or(STREAM))?
            });
        }
    }
    // A run is always the same on one core, in virtual time.
    let is_repeatable = !arguments.cores.are_several() && !arguments.parallel;
    if is_repeatable && (all && is_traced || !trace.is_empty()) {
        runs.push(Run {
            is_example: true,
            is_traced: true,
            ..run(System::traced(workspace)?)
        });
    }
    if all && is_traced || !trace.only(|text| !text.starts_with(COMPARED)).is_empty() {
        for cores in [Some(arguments.cores), several].into_iter().flatten() {
            runs.push(Run {
                is_example: true,
                is_traced: true,
                cores,
                ..run(System::load(workspace, DEMO)?)
            });
        }
        // One platform is enough for what examples do.
        let others = System::names(workspace).into_iter();
        let others =
            others.filter(|name| name != DEMO && scope == Scope::All && platform.is_sample());
        for name in others {
            let system = System::load(workspace, &name)?;
            if !system.runs_on(&platform.name) {
                continue;
            }
            let needed = cores_of(&system);
            let needs_several = needed.count > arguments.cores.count;
            let traced = Run {
                is_example: true,
                is_traced: true,
                ..run(system)
            };
            match needs_several {
                true if two_cores && platform.has(needed) => runs.push(Run {
                    cores: needed,
                    ..on_two_cores(traced)
                }),
                true => {}
                false => runs.push(traced),
            }
        }
    }
    let fuzzer = |filter: &dyn ToString, abi| -> Result<_> {
        Ok(Run {
            filter: filter.to_string(),
            abi,
            ..run(System::fuzzer(workspace)?)
        })
    };
    if all && !own || !fuzz.is_empty() {
        runs.push(fuzzer(&fuzz, usual_abi)?);
        // Once more with what ready-made systems want, domains and breakpoints among it.
        if scope == Scope::All && start.is_some() && two_cores {
            let abi = [&arguments.abi[..], &ready_made(platform)[0].1].concat();
            runs.push(Run {
                fuzz_divisor: Some(CALLS_DIVISOR),
                ..fuzzer(&fuzz, abi)?
            });
        }
    }
    if all && two_cores && !own {
        // With the same options as the suite on two cores, so that they share what is built.
        let abi = [&arguments.abi[..], &platform.timer].concat();
        runs.push(on_two_cores(fuzzer(&FUZZ_OF_ALL_CORES, abi)?));
    }
    if scope != Scope::All {
        choose_files(
            &mut runs,
            &suite()?.system.name,
            &System::fuzzer(workspace)?.name,
        );
    }
    Ok(runs)
}

/// Chooses the files of the suite that are compiled: programs with the same options hold the tests of all runs on them,
/// and no others. The fuzzer, which uses what the tests share, takes the suite as these runs have it, and none of its
/// tests where there is no such run.
fn choose_files(runs: &mut [Run<'_>], suite: &str, fuzzer: &str) {
    let is_of = |run: &Run<'_>, system: &str| run.system.name == system;
    let options = |run: &Run<'_>| (run.abi.clone(), run.cores.are_several());
    let parts = runs.iter().filter(|run| is_of(run, suite));
    let parts: Vec<_> = parts
        .map(|run| (options(run), run.filter.clone()))
        .collect();
    for run in runs.iter_mut() {
        if !is_of(run, suite) && !is_of(run, fuzzer) {
            continue;
        }
        let own = options(run);
        let same = parts.iter().filter(|(options, _)| *options == own);
        let mut same: Vec<_> = same.map(|(_, filter)| &**filter).collect();
        same.dedup();
        run.files = match &*same {
            [] => FUZZ.to_string(),
            // An empty filter lets all tests through.
            same if same.contains(&"") => String::new(),
            same => same.join(","),
        };
    }
}

/// The options `abi`, and those without which the devices of a system are not there.
fn with_devices(
    abi: &[AbiOption],
    system: &System,
    workspace: &Workspace,
    platform: &Platform,
) -> Result<Vec<AbiOption>> {
    let mut all = [abi, &system.options(workspace, platform)?].concat();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// A run on a kernel whose ABI has the processor's debug registers.
fn with_breakpoints(mut run: Run<'_>) -> Run<'_> {
    run.abi.push(AbiOption::Hwdebug);
    run
}

/// Orders the runs of several platforms so that failures show early: the first run of each platform, then the
/// second ones, and so on; the fuzzer's runs are the last.
pub(super) fn interleave<T>(platforms: Vec<Vec<T>>) -> Vec<T> {
    let mut queues: Vec<_> = platforms.into_iter().map(Vec::into_iter).collect();
    let mut all = Vec::new();
    loop {
        let before = all.len();
        all.extend(queues.iter_mut().filter_map(Iterator::next));
        if all.len() == before {
            return all;
        }
    }
}

/// The cores that a system needs.
const fn cores_of(system: &System) -> Cores {
    Cores {
        count: system.cores,
        ..Cores::TWO
    }
}

/// The name of an example system's run in host time as a test.
pub(super) fn stressed(system: &str) -> String {
    format!("{STRESS}::{system}")
}

#[cfg(test)]
mod tests;
