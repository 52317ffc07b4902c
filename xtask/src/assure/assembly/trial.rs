//! Runs of the tests, until one fails. Their timeouts count processor time, not that of a clock: a busy
//! computer must not look like a mutant that hangs.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::unistd::{SysconfVar, sysconf};

use crate::Result;
use crate::cli::{Cores, Hardening};
use crate::platform::Platform;
use crate::qemu::{Ending, Machine, Supervisor};
use crate::setup;

/// How long the emulator may use no processor time: then its program waits for ever.
const STANDSTILL: Duration = Duration::from_secs(120);
/// The pause between two looks at the emulator.
const PAUSE: Duration = Duration::from_millis(200);

/// The result of a run of the tests.
pub(super) enum Verdict {
    Passed,
    /// The first test that failed, or how the run ended.
    Failed(String),
    Interrupted,
}

/// The tests on a machine.
pub(super) struct Trial<'a> {
    platform: &'a Platform,
    cores: Cores,
    emulator: PathBuf,
    /// The file for the image.
    image: &'a Path,
    supervisor: &'a Supervisor,
    /// The processor time of the last run, and the longest allowed.
    used: Duration,
    limit: Duration,
}

impl<'a> Trial<'a> {
    pub(super) fn new(
        platform: &'a Platform,
        cores: Cores,
        image: &'a Path,
        supervisor: &'a Supervisor,
    ) -> Result<Self> {
        Ok(Self {
            platform,
            cores,
            emulator: setup::emulator(platform)?,
            image,
            supervisor,
            used: Duration::ZERO,
            limit: Duration::MAX,
        })
    }

    /// Limits further runs to a few times the processor time of the last one.
    pub(super) fn limit(&mut self) {
        self.limit = 4 * self.used + Duration::from_secs(5);
    }

    /// Runs the tests in an image until one fails.
    pub(super) fn run(&mut self, image: &[u8]) -> Result<Verdict> {
        fs::write(self.image, image)?;
        let machine = Machine {
            platform: self.platform,
            image: Some(self.image),
            memory: None,
            cores: self.cores.count,
            hardening: &Hardening::default(),
            log: None,
            ram: None,
            icount: true,
            gdb: false,
            more: &[],
        };
        let mut command = machine.command(&self.emulator);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        let (mut child, _processor) = machine.start(&mut command)?;
        let verdict = self.watch(&mut child);
        if let Ok(None) = verdict {
            // It has closed its console, and ends.
            return Ok(match self.supervisor.wait(&mut child, Some(STANDSTILL))? {
                Ending::Exited(status)
                    if status.code() == Some(self.platform.qemu.exit.success) =>
                {
                    Verdict::Passed
                }
                Ending::Exited(status) => {
                    Verdict::Failed(format!("the emulator ended with {status}"))
                }
                Ending::TimedOut => Verdict::Failed("the emulator does not end".to_string()),
                Ending::Interrupted => Verdict::Interrupted,
            });
        }
        // A failure means that it has already ended.
        let _ = child.kill();
        child.wait()?;
        Ok(verdict?.unwrap_or(Verdict::Interrupted))
    }

    /// A verdict before the end of the run, or nothing at its end.
    fn watch(&mut self, child: &mut Child) -> Result<Option<Verdict>> {
        let console = child.stdout.take().context("the console is not a pipe")?;
        let (sender, lines) = mpsc::channel();
        // It ends with the emulator.
        thread::spawn(move || {
            let mut console = BufReader::new(console);
            let mut line = Vec::new();
            while console
                .read_until(b'\n', &mut line)
                .is_ok_and(|count| count > 0)
            {
                let text = String::from_utf8_lossy(&line).trim_end().to_string();
                if sender.send(text).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let failed = |how: String| Ok(Some(Verdict::Failed(how)));
        self.used = Duration::ZERO;
        let mut progress = Instant::now();
        loop {
            match lines.recv_timeout(PAUSE) {
                Ok(line) if line.contains("FAILED") || line.contains("panicked") => {
                    return failed(line);
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if self.supervisor.interrupted() {
                return Ok(Some(Verdict::Interrupted));
            }
            let used = processor_time(child).unwrap_or(self.used);
            if used > self.used {
                self.used = used;
                progress = Instant::now();
            }
            if used > self.limit {
                return failed(format!("no end within {:.0} s", self.limit.as_secs_f64()));
            }
            if progress.elapsed() > STANDSTILL {
                return failed("the machine stands still".to_string());
            }
        }
    }
}

/// The processor time of a process (proc_pid_stat(5)).
fn processor_time(child: &Child) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    // The name in parentheses may contain spaces. Behind it are the state, ten other words, and both times.
    let (_, words) = text.rsplit_once(')')?;
    let mut times = words.split_whitespace().skip(11).map(str::parse::<u64>);
    let ticks = times.next()?.ok()? + times.next()?.ok()?;
    let per_second = sysconf(SysconfVar::CLK_TCK).ok()??.cast_unsigned();
    Some(Duration::from_millis(1000 * ticks / per_second))
}
