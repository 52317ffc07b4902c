//! Running cargo as one step of longer work.

use std::io::{BufRead, BufReader, IsTerminal, stderr};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::Result;
use crate::qemu::is_interrupted;
use crate::ui::Step;

/// The verbs of cargo's status messages.
const DOINGS: [&str; 15] = [
    "Adding",
    "Blocking",
    "Building",
    "Checking",
    "Compiling",
    "Documenting",
    "Downloaded",
    "Downloading",
    "Executable",
    "Finished",
    "Fresh",
    "Generated",
    "Locking",
    "Running",
    "Updating",
];

/// The pause between two checks for an interruption.
const PAUSE: Duration = Duration::from_millis(100);

/// Runs `command` (a call of cargo) and shows its status messages as progress of `step`; its other output,
/// warnings and errors, stays on the screen.
///
/// Returns whether it succeeded.
pub(crate) fn succeeds(step: &Step, command: &mut Command) -> Result<bool> {
    if stderr().is_terminal() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command.env("CARGO_TERM_PROGRESS_WHEN", "never");
    let mut child = command
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        // With a process group of its own, it can be ended together with the compilers that it has started.
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let words = child
        .stderr
        .take()
        .context("cargo's stderr is not a pipe")?;
    let (sender, lines) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(words)
            .split(b'\n')
            .map_while(|line| line.ok());
        lines.for_each(|line| drop(sender.send(line)));
    });
    loop {
        match lines.recv_timeout(PAUSE) {
            Ok(line) => {
                let line = String::from_utf8_lossy(&line);
                match doing(&line) {
                    Some(doing) => step.now(&doing),
                    None => step.say(&line),
                }
            }
            Err(RecvTimeoutError::Timeout) if !is_interrupted() => {}
            Err(RecvTimeoutError::Timeout) => {
                killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM)?;
                child.wait()?;
                bail!("{} was interrupted", step.name());
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(child.wait()?.success()),
        }
    }
}

/// As [`succeeds`], but failure is an error.
pub(crate) fn run(step: &Step, command: &mut Command) -> Result<()> {
    if succeeds(step, command)? {
        return Ok(());
    }
    bail!("{} failed; see its output above", step.name())
}

/// The status message in `line`, without colours, if there is one.
fn doing(line: &str) -> Option<String> {
    let plain = without_colours(line);
    let (verb, object) = plain.trim_start().split_once(' ')?;
    let announces = plain.starts_with(' ') && DOINGS.contains(&verb);
    announces.then(|| format!("{verb} {object}"))
}

/// `line` without its escape sequences of the form `ESC [ ... m`.
fn without_colours(line: &str) -> String {
    let mut parts = line.split('\x1b');
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doings_are_told_from_words() {
        assert_eq!(
            doing("   Compiling core v0.0.0").as_deref(),
            Some("Compiling core v0.0.0")
        );
        let coloured = "\x1b[1m\x1b[32m   Compiling\x1b[0m abi v0.1.0";
        assert_eq!(doing(coloured).as_deref(), Some("Compiling abi v0.1.0"));
        assert_eq!(doing("warning: unused variable"), None);
        assert_eq!(doing("error: could not compile `abi`"), None);
        assert_eq!(doing("    let x = 1;"), None);
        assert_eq!(doing(""), None);
    }
}
