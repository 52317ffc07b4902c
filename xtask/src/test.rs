//! The command `test`: host tests, on-target tests on every platform, and one sum at the end.

mod benches;
mod book;
mod busy;
mod debugger;
mod filter;
mod heard;
mod host;
mod packages;
mod plan;
mod progress;
mod queue;
mod same_sdk;
mod screen;
mod tally;
mod target;
mod templates;
mod times;
mod toolchains;
mod typist;
mod verdict;

use std::cmp::Reverse;
use std::num::NonZero;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, ScopedJoinHandle};

use anyhow::bail;
use parking_lot::Mutex;

use crate::build::Built;
use crate::cli::{Emulator, TestArguments};
use crate::platform::Platform;
use crate::qemu::Supervisor;
use crate::setup::BuildTools;
use crate::symbols::Symbolizer;
use crate::workspace::Workspace;
use crate::{Outcome, Result, bochs, project, sdk, setup, ui};
use book::Base;
use filter::Filter;
use plan::Scope;
use progress::Progress;
use queue::Queue;
use screen::Screen;
use tally::Tally;
use target::Run;
use times::Times;

/// The command `test`.
pub(crate) fn run(workspace: &Workspace, arguments: &TestArguments) -> Result {
    let is_project = project::folder().is_some();
    let everywhere = !arguments.host && arguments.platforms.is_empty() && !is_project;
    // Short unless a part is selected by name.
    let is_short = everywhere && !arguments.all && arguments.filter.is_none();
    let platforms = platforms(workspace, arguments, everywhere)?;
    if arguments.emulator == Emulator::Bochs {
        require_bochs(arguments, &bochs::missing())?;
    }
    let filter = Filter::new(arguments.filter.as_deref());
    if !is_project {
        plan::require_examples(workspace, &filter)?;
    }
    if arguments.all && !is_project && (everywhere || arguments.host) {
        setup::readers::install(workspace)?;
    }
    let supervisor = Supervisor::new()?;
    let progress = match arguments.all {
        true => Some(Progress::open(workspace, arguments.fresh)?),
        false => None,
    };
    // Cargo locks the target folder while the host tests are built, and a build for a post-mortem would wait for that.
    // If it cannot be built, the first post-mortem says so.
    let symbolizer = match everywhere && !platforms.is_empty() {
        true => Symbolizer::build(workspace).ok(),
        false => None,
    };
    let session = Session {
        workspace,
        arguments,
        supervisor: &supervisor,
        times: Times::new(),
        failures: Mutex::default(),
        progress: progress.as_ref(),
        skips: AtomicBool::new(false),
        symbolizer,
    };

    let screen = Screen::default();
    let total: Result<Tally> = thread::scope(|scope| {
        let host = (everywhere || arguments.host || is_project).then(|| {
            let place = screen.begin();
            let session = &session;
            scope.spawn(move || session.part("host", || host::run(session, &place)))
        });
        let host = || host.map_or(Ok(Tally::default()), |host| joined(host, "the host tests"));
        targets(&session, &screen, &platforms, everywhere, is_short, host)
    });
    let total = total?;
    if supervisor.interrupted() {
        return Ok(Outcome::Interrupted);
    }
    if total == Tally::default() && !filter.is_empty() && !session.skips.load(Relaxed) {
        let of = match &*arguments.platforms {
            [] => String::new(),
            platforms => format!(" of {}", platforms.join(", ")),
        };
        bail!(
            "no test{of} has a name with `{}`; a run without --filter prints the names",
            filter.texts().join("` or `")
        );
    }
    let times = session.times.table();
    ui::say(&times);
    for part in session.failures.into_inner() {
        ui::say(&format!("failed: {part}"));
    }
    for line in screen.failures() {
        ui::say(&format!("  {line}"));
    }
    if let Some(progress) = progress {
        progress.end();
    }
    ui::print(format!("{total}\n"))?;
    Ok(if total.is_success() {
        Outcome::Success
    } else {
        Outcome::Failure
    })
}

/// Refuses a run on Bochs that is impossible here, because of Debian's packages that are missing or of the machine.
fn require_bochs(arguments: &TestArguments, missing: &[&str]) -> Result<()> {
    if arguments.cores.are_several() {
        bail!("Bochs emulates machines with one core; leave out --smp");
    }
    if !missing.is_empty() {
        bail!(
            "Bochs is not complete here; install it: apt install {}",
            missing.join(" ")
        );
    }
    Ok(())
}

/// The tests on the platforms. When `host` has returned the results of the host tests, benchmarks and builds
/// by other toolchains run beside the others.
fn targets(
    session: &Session<'_>,
    screen: &Screen,
    platforms: &[Platform],
    everywhere: bool,
    is_short: bool,
    host: impl FnOnce() -> Result<Tally> + Send,
) -> Result<Tally> {
    let (arguments, supervisor) = (session.arguments, session.supervisor);
    if platforms.is_empty() {
        return host();
    }
    let tools = setup::build_tools()?;
    setup::emulators(platforms)?;
    let is_whole = everywhere && arguments.filter.is_none();
    let has_benches =
        is_whole && arguments.emulator == Emulator::Qemu && !arguments.cores.are_several();
    let tutorials = Base::ALL.into_iter().flat_map(|base| {
        let platforms = platforms.iter().map(move |platform| (base, platform));
        platforms.filter(|(base, platform)| book::is_wanted(session, platform, *base))
    });
    let tutorials: Vec<_> = tutorials.collect();
    let tools = &tools;
    thread::scope(|scope| {
        let others = scope.spawn(move || {
            let mut total = host()?;
            // Its commands wait for one another, so that it leaves a processor idle now and then.
            let follow = move || {
                let tutorials = tutorials.into_iter();
                tutorials
                    .filter(|_| !supervisor.interrupted())
                    .map(|(base, platform)| {
                        let name = format!("{}, on {}", base.part(), platform.name);
                        session.part(&name, || book::run(session, base, platform))
                    })
                    .sum()
            };
            let tutorial = scope.spawn(follow);
            for platform in platforms {
                if debugger::is_wanted(session, platform) && !supervisor.interrupted() {
                    let name = format!("the debugger, on {}", platform.name);
                    total += session.part(&name, || debugger::run(session, tools, platform))?;
                }
                if templates::is_wanted(session) && !supervisor.interrupted() {
                    let name = format!("the templates, on {}", platform.name);
                    total += session.part(&name, || templates::run(session, platform))?;
                }
                if same_sdk::is_wanted(session, platform) && !supervisor.interrupted() {
                    total += session.part("two SDKs", || same_sdk::run(session))?;
                }
            }
            if has_benches && !supervisor.interrupted() {
                total += benches::run(session, tools, platforms, is_short)?;
            }
            if is_whole && !supervisor.interrupted() {
                total += toolchains::run(session, tools, platforms, is_short)?;
            }
            total += joined(tutorial, "the tutorial")?;
            Ok(total)
        });
        let total = on_targets(session, screen, tools, platforms, is_short);
        let others = joined(others, "the benchmarks");
        Ok([total?, others?].into_iter().sum())
    })
}

/// The result of a thread, when it has ended.
fn joined(thread: ScopedJoinHandle<'_, Result<Tally>>, name: &str) -> Result<Tally> {
    let panicked = |_| Err(anyhow::anyhow!("{name} panicked"));
    thread.join().unwrap_or_else(panicked)
}

/// The platforms to test.
fn platforms(
    workspace: &Workspace,
    arguments: &TestArguments,
    everywhere: bool,
) -> Result<Vec<Platform>> {
    let names = if everywhere {
        Platform::names(workspace)
    } else if arguments.platforms.is_empty() && !arguments.host {
        // That of a project.
        vec!["pc99".to_string()]
    } else {
        arguments.platforms.clone()
    };
    let platforms: Result<Vec<_>> = names
        .iter()
        .map(|name| Platform::load(workspace, name))
        .collect();
    let mut platforms = platforms?;
    if everywhere {
        platforms.retain(|platform| platform.has(arguments.cores));
        // The platforms with most tests come first.
        platforms.sort_by_key(|platform| Reverse(platform.covers));
    }
    for platform in &platforms {
        sdk::require_kernels(workspace, platform)?;
        platform.require(arguments.cores)?;
    }
    Ok(platforms)
}

/// One call of the command.
struct Session<'a> {
    workspace: &'a Workspace,
    arguments: &'a TestArguments,
    supervisor: &'a Supervisor,
    times: Times,
    /// The parts with failures.
    failures: Mutex<Vec<String>>,
    /// The parts that have passed already, if everything is tested.
    progress: Option<&'a Progress>,
    /// Whether a part was skipped for want of a program.
    skips: AtomicBool,
    /// What completes post-mortems, if it is built before they come.
    symbolizer: Option<Symbolizer>,
}

impl Session<'_> {
    /// Performs a part, unless it has passed already.
    fn part(&self, name: &str, perform: impl FnOnce() -> Result<Tally>) -> Result<Tally> {
        if let Some(tally) = self.passed(name) {
            return Ok(tally);
        }
        let tally = self.times.of(name, perform)?;
        self.note(name, tally);
        Ok(tally)
    }

    /// The tally of a part that has passed already.
    fn passed(&self, name: &str) -> Option<Tally> {
        let tally = self.progress?.of(name)?;
        ui::say(&format!("{name}: {tally}, before the interruption"));
        Some(tally)
    }

    /// Says why a part is skipped.
    fn skip(&self, why: &str) {
        ui::say(&format!("skipped: {why}"));
        self.skips.store(true, Relaxed);
    }

    fn note(&self, name: &str, tally: Tally) {
        if tally.failed > 0 {
            self.failures.lock().push(name.to_string());
        }
        if let Some(progress) = self.progress
            && !self.supervisor.interrupted()
        {
            progress.note(name, tally);
        }
    }
}

/// Builds as many runs at once as the host has processors, if they are for different targets, and boots as many.
fn on_targets(
    session: &Session<'_>,
    screen: &Screen,
    tools: &BuildTools,
    platforms: &[Platform],
    is_short: bool,
) -> Result<Tally> {
    let (workspace, supervisor) = (session.workspace, session.supervisor);
    let project = project::folder();
    let runs: Result<Vec<_>> = platforms
        .iter()
        .map(|platform| {
            let scope = Scope::of(platform, is_short);
            plan::runs(
                workspace,
                platform,
                session.arguments,
                project.as_deref(),
                scope,
            )
        })
        .collect();
    let runs = plan::interleave(runs?);
    let mut total = Tally::default();
    let mut left = Vec::new();
    for run in &runs {
        match session.passed(&run.label()) {
            Some(tally) => total += tally,
            None => left.push((&*run.platform.target, run)),
        }
    }
    let queue = Queue::new(left);
    // A failed build of one platform must not hide the others' results.
    let failure = |error: anyhow::Error| {
        ui::error(&error);
        Tally::FAILURE
    };
    // A builder keeps its image until it can be booted.
    let (images, booted) = mpsc::sync_channel::<(&Run<'_>, Built)>(0);
    let booted = Arc::new(Mutex::new(booted));
    let build = |images: SyncSender<_>| {
        let mut total = Tally::default();
        while !supervisor.interrupted() {
            let next = queue.next(|run| {
                let part = format!("building {}", run.label());
                session.times.of(part, || run.build(workspace, tools))
            });
            match next {
                None => break,
                Some((run, Err(error))) => {
                    session.note(&format!("building {}", run.label()), Tally::FAILURE);
                    total += failure(error);
                }
                // Nothing is booted any more after an interruption.
                Some((run, Ok(built))) => drop(images.send((run, built))),
            }
        }
        total
    };
    let boot = |images: Arc<Mutex<Receiver<(&Run<'_>, Built)>>>| {
        let mut total = Tally::default();
        let next = || images.lock().recv();
        while !supervisor.interrupted()
            && let Ok((run, built)) = next()
        {
            let (label, place) = (run.label(), screen.begin());
            let tally = session
                .times
                .of(&*label, || run.start(&built, session, place))
                .unwrap_or_else(failure);
            session.note(&label, tally);
            total += tally;
        }
        total
    };
    let most = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let mut workers = Vec::new();
        for _ in 0..most {
            let (images, booted) = (images.clone(), booted.clone());
            workers.push(scope.spawn(|| Ok(build(images))));
            workers.push(scope.spawn(|| Ok(boot(booted))));
        }
        drop((images, booted));
        for worker in workers {
            total += joined(worker, "the tests on the platforms")?;
        }
        Ok(total)
    })
}

/// The program of this tool, by a name that stays valid if another build replaces the file meanwhile.
fn this_tool() -> Command {
    Command::new("/proc/self/exe")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::cli::{self, Cli};

    #[test]
    fn bochs_that_is_not_there_is_asked_for() {
        let check = |more: &[&str], missing: &[&str]| {
            let line = [
                "cargo xtask",
                "test",
                "--platform",
                "pc99",
                "--emulator",
                "bochs",
            ];
            let cli::Command::Test(arguments) = Cli::parse_from([&line, more].concat()).command
            else {
                panic!("not `test`")
            };
            require_bochs(&arguments, missing).map_err(|error| error.to_string())
        };
        assert_eq!(check(&[], &[]), Ok(()));
        let missing = "Bochs is not complete here; install it: apt install bochs mtools";
        assert_eq!(check(&[], &["bochs", "mtools"]), Err(missing.to_string()));
        assert!(check(&["--smp", "2"], &[]).is_err());
    }
}
