//! Supervision of a child process: it ends by itself, by timeout, or with this tool.

use std::io::{IsTerminal, Read, stdin};
use std::process::{self, Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Once, OnceLock};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcgetpgrp};
use parking_lot::Mutex;

use crate::{Outcome, Result};

/// The time of the first interruption of the tool.
static INTERRUPTED: OnceLock<Instant> = OnceLock::new();
/// How long the tool may take to end after an interruption.
const PATIENCE: Duration = Duration::from_secs(1);

/// How a child ended.
#[derive(Debug)]
pub(crate) enum Ending {
    Exited(ExitStatus),
    TimedOut,
    Interrupted,
}

/// Catches interruptions, and restores the terminal's settings.
pub(crate) struct Supervisor {
    /// The settings, which are not `Sync` by themselves: threads share a supervisor.
    terminal: Option<Mutex<Termios>>,
}

/// Whether the tool was interrupted.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.get().is_some()
}

/// Whether an interruption ends the tool at once, because it has not ended long after the first one: it does something
/// that waits for no program, as the check of a huge description.
fn is_final(first: &OnceLock<Instant>, now: Instant) -> bool {
    now.duration_since(*first.get_or_init(|| now)) > PATIENCE
}

fn interrupt() {
    if is_final(&INTERRUPTED, Instant::now()) {
        process::exit(Outcome::Interrupted.code().into());
    }
}

impl Supervisor {
    pub(crate) fn new() -> Result<Self> {
        static HANDLER: Once = Once::new();
        let mut installed = Ok(());
        HANDLER.call_once(|| {
            installed = ctrlc::set_handler(interrupt);
        });
        installed.context("cannot catch Ctrl-C")?;
        Ok(Self {
            terminal: tcgetattr(stdin()).ok().map(Mutex::new),
        })
    }

    /// Whether the tool itself was interrupted.
    pub(crate) fn interrupted(&self) -> bool {
        is_interrupted()
    }

    /// Waits until `child` has ended; ends it at the timeout or when the tool itself is interrupted.
    pub(crate) fn wait(&self, child: &mut Child, timeout: Option<Duration>) -> Result<Ending> {
        const PAUSE: Duration = Duration::from_millis(10);
        let begin = Instant::now();
        loop {
            // The interruption is checked first: Ctrl-C reaches the child as well.
            if self.interrupted() {
                end(child)?;
                return Ok(Ending::Interrupted);
            }
            if let Some(status) = child.try_wait()? {
                return Ok(Ending::Exited(status));
            }
            if timeout.is_some_and(|timeout| begin.elapsed() >= timeout) {
                end(child)?;
                return Ok(Ending::TimedOut);
            }
            sleep(PAUSE);
        }
    }
}

/// How long the tool reads a console after the end of its program: a process that the program has left behind
/// may keep the pipe open.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Supervisor {
    /// As [`wait`](Self::wait), and passes the output of the child's stdout, which is a pipe, to `show`.
    pub(crate) fn watch(
        &self,
        child: &mut Child,
        timeout: Option<Duration>,
        mut show: impl FnMut(&[u8]) + Send,
    ) -> Result<Ending> {
        let mut console = child.stdout.take().context("the console is not a pipe")?;
        let (sender, pieces) = mpsc::channel();
        // Not joined: at worst it reads until the tool ends.
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = console.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let ended = &ended;
            scope.spawn(move || {
                loop {
                    match pieces.recv_timeout(LAST_WORDS) {
                        Ok(piece) => show(&piece),
                        Err(RecvTimeoutError::Timeout) if !ended.load(Ordering::Relaxed) => {}
                        Err(_) => break,
                    }
                }
            });
            let ending = self.wait(child, timeout);
            ended.store(true, Ordering::Relaxed);
            ending
        })
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        if let Some(terminal) = &self.terminal
            && may_read_terminal()
        {
            // At worst the terminal keeps the child's settings.
            let _ = tcsetattr(stdin(), SetArg::TCSANOW, &terminal.lock());
        }
    }
}

/// Whether the tool's stdin may be given to a child that will configure it: a background process is stopped
/// when it changes its terminal.
pub(crate) fn may_read_terminal() -> bool {
    !stdin().is_terminal() || tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}

/// Ends `child`: by SIGTERM, so that it can clean up, then by SIGKILL.
fn end(child: &mut Child) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(2);
    // A failure means that the child has already ended.
    let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        sleep(Duration::from_millis(10));
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn an_interruption_long_after_the_first_one_ends_the_tool() {
        let (first, now) = (OnceLock::new(), Instant::now());
        let times = [now, now + PATIENCE, now + PATIENCE * 2];
        assert_eq!(
            times.map(|time| is_final(&first, time)),
            [false, false, true]
        );
    }

    #[test]
    fn a_child_ends_by_itself_or_in_time() {
        let supervisor = Supervisor::new().unwrap();
        let mut child = Command::new("true").spawn().unwrap();
        let ending = supervisor.wait(&mut child, None).unwrap();
        assert!(matches!(ending, Ending::Exited(status) if status.success()));

        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let ending = supervisor
            .wait(&mut child, Some(Duration::from_millis(20)))
            .unwrap();
        assert!(matches!(ending, Ending::TimedOut));
    }

    #[test]
    fn a_console_ends_with_its_program_though_another_holds_it_open() {
        let supervisor = Supervisor::new().unwrap();
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo words"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        let mut heard = Vec::new();
        let show = |bytes: &[u8]| heard.extend_from_slice(bytes);
        let ending = supervisor.watch(&mut child, None, show).unwrap();
        assert!(matches!(ending, Ending::Exited(status) if status.success()));
        assert_eq!(heard, b"words\n");
        assert!(begin.elapsed() < Duration::from_secs(30));
    }
}
