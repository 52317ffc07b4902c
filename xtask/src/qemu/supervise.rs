//! Watching over a child process: it ends by itself, by timeout, or with us.

use std::io::{IsTerminal, Read, stdin};
use std::process::{Child, ExitStatus};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

use crate::Result;

/// Set by Ctrl-C and by a request to terminate.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// How a child came to its end.
#[derive(Debug)]
pub(crate) enum Ending {
    Exited(ExitStatus),
    TimedOut,
    Interrupted,
}

/// Catches interruptions, and puts the terminal back as it was.
pub(crate) struct Supervisor {
    terminal: Option<Termios>,
}

/// Whether the tool was told to end.
pub(crate) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

impl Supervisor {
    pub(crate) fn new() -> Result<Self> {
        static HANDLER: Once = Once::new();
        let mut installed = Ok(());
        HANDLER.call_once(|| {
            installed = ctrlc::set_handler(|| INTERRUPTED.store(true, Ordering::Relaxed));
        });
        installed.context("cannot catch Ctrl-C")?;
        Ok(Self {
            terminal: tcgetattr(stdin()).ok(),
        })
    }

    /// Whether the tool itself was told to end.
    pub(crate) fn interrupted(&self) -> bool {
        is_interrupted()
    }

    /// Waits until `child` has ended; ends it when its time is over or when
    /// the tool itself is told to end.
    pub(crate) fn wait(&self, child: &mut Child, timeout: Option<Duration>) -> Result<Ending> {
        const PAUSE: Duration = Duration::from_millis(10);
        let begin = Instant::now();
        loop {
            // First the interruption: Ctrl-C reaches the child as well.
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

/// How long the tool waits for the end of a console behind the end of its program: a process that the program
/// has left behind may keep the pipe open.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl Supervisor {
    /// As [`wait`](Self::wait), and shows what comes from the child's stdout, which is a pipe.
    pub(crate) fn watch(
        &self,
        child: &mut Child,
        timeout: Option<Duration>,
        mut show: impl FnMut(&[u8]) + Send,
    ) -> Result<Ending> {
        let mut console = child.stdout.take().context("the console is not a pipe")?;
        let (sender, pieces) = mpsc::channel();
        // Not waited for: at worst it reads until the tool ends.
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
            // At worst the terminal stays as the child left it.
            let _ = tcsetattr(stdin(), OptionalActions::Now, terminal);
        }
    }
}

/// Whether the tool's stdin may be given to a child that will configure it: a
/// process in the background is stopped when it touches its terminal.
pub(crate) fn may_read_terminal() -> bool {
    !stdin().is_terminal()
        || tcgetpgrp(stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Ends `child`: politely, so that it can tidy up, then by force.
fn end(child: &mut Child) -> Result<()> {
    const PATIENCE: Duration = Duration::from_secs(2);
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // A child that is gone already is what we want.
        let _ = kill_process(pid, Signal::TERM);
    }
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
