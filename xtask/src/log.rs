//! The kernel's log: compact frames on a separate serial port; their texts are in the kernel's ELF file. QEMU
//! connects the port to a socket, at which a program of its own (`xtask/log-decoder`) waits and decodes them.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Read, stderr};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use anyhow::Context;

use crate::temporary;
use crate::ui::{Step, say};
use crate::workspace::Workspace;
use crate::{Result, cargo, programs};

/// The decoder's crate, and its build profile.
const CRATE: &str = "log-decoder";
const PROFILE: &str = "tool";

/// An entry of a log.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Line(String),
    /// A frame that cannot be decoded.
    Damage,
}

/// Prints an entry of a log to stderr.
pub(crate) fn show(entry: Entry) {
    match entry {
        Entry::Line(line) => say(&line),
        Entry::Damage => say("(a damaged frame of the log)"),
    }
}

/// A log that is being received.
pub(crate) struct Log {
    folder: temporary::Folder,
    decoder: Child,
    entries: Option<JoinHandle<()>>,
}

impl Log {
    /// Begins to receive the log of the kernel whose ELF file is `kernel`, by `decoder`; `take` gets its
    /// entries.
    pub(crate) fn open(
        workspace: &Workspace,
        decoder: &Path,
        kernel: &Path,
        take: impl FnMut(Entry) + Send + 'static,
    ) -> Result<Self> {
        let folder = temporary::Folder::new()?;
        let listener =
            UnixListener::bind(socket(&folder)).context("cannot make a socket for the log")?;
        let coloured = if stderr().is_terminal() {
            "true"
        } else {
            "false"
        };
        let mut process = Command::new(decoder)
            .args([
                kernel.as_os_str(),
                workspace.root().as_os_str(),
                OsStr::new(coloured),
            ])
            .stdin(OwnedFd::from(listener))
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", decoder.display()))?;
        let texts = process
            .stdout
            .take()
            .context("the decoder's output is not a pipe")?;
        let entries = thread::spawn(move || read(texts, take));
        Ok(Self {
            folder,
            decoder: process,
            entries: Some(entries),
        })
    }

    /// The socket to which QEMU has to send the log.
    pub(crate) fn socket(&self) -> PathBuf {
        socket(&self.folder)
    }

    /// Receives the remaining entries; QEMU must have ended.
    pub(crate) fn close(mut self) {
        self.end();
        let decoded = self.decoder.wait().is_ok_and(|status| status.success());
        let passed_on = self
            .entries
            .take()
            .is_none_or(|entries| entries.join().is_ok());
        if !(decoded && passed_on) {
            say("the log could not be decoded to its end");
        }
    }

    /// Ends a decoder to which QEMU never connected.
    fn end(&self) {
        drop(UnixStream::connect(self.socket()));
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.end();
    }
}

fn socket(folder: &temporary::Folder) -> PathBuf {
    folder.path().join("log")
}

/// Builds the decoder, and returns its path.
pub(crate) fn build_decoder(workspace: &Workspace) -> Result<PathBuf> {
    let mut command = programs::build_on_host(workspace, PROFILE, CRATE)?;
    cargo::run(&Step::begin("building the log's decoder"), &mut command)?;
    Ok(workspace.target().join(PROFILE).join(CRATE))
}

/// Passes the decoder's output on: texts that end with a zero byte, of which empty ones are damaged frames.
fn read(texts: impl Read, mut take: impl FnMut(Entry)) {
    for text in BufReader::new(texts).split(0).map_while(|text| text.ok()) {
        take(match &*text {
            [] => Entry::Damage,
            text => Entry::Line(String::from_utf8_lossy(text).into_owned()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_texts_are_damaged_frames() {
        let mut entries = Vec::new();
        read(&b"one\ntwo\0\0three\0"[..], |entry| entries.push(entry));
        let line = |text: &str| Entry::Line(text.to_string());
        assert_eq!(entries, [line("one\ntwo"), Entry::Damage, line("three")]);
    }
}
