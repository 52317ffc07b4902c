//! The kernel's log: compact frames on a separate serial port; their texts are in the kernel's ELF file. QEMU
//! connects the port to a socket of this tool; a thread decodes the frames and passes them on.

use std::io::{IsTerminal, Read, stderr};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};

use anyhow::Context;
use defmt_decoder::{DecodeError, Frame, Location, Locations, Table};
use tempfile::TempDir;

use crate::Result;
use crate::ui::say;
use crate::workspace::Workspace;

/// An entry of a log.
#[derive(Debug)]
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
    folder: TempDir,
    decoder: JoinHandle<()>,
}

impl Log {
    /// Begins to receive the log of the kernel with the ELF file `kernel`; `take` gets its entries.
    pub(crate) fn open(
        workspace: &Workspace,
        kernel: &[u8],
        take: impl FnMut(Entry) + Send + 'static,
    ) -> Result<Self> {
        let table = Table::parse(kernel)
            .and_then(|table| table.context("it has no section .defmt"))
            .context("this kernel cannot log")?;
        let locations = table.get_locations(kernel).unwrap_or_default();
        let folder = tempfile::tempdir().context("cannot make a folder for the log's socket")?;
        let listener =
            UnixListener::bind(socket(&folder)).context("cannot make a socket for the log")?;
        let reader = Reader {
            table,
            locations,
            root: workspace.root().to_path_buf(),
            coloured: stderr().is_terminal(),
        };
        let decoder = thread::spawn(move || {
            if let Ok((stream, _)) = listener.accept() {
                reader.read_all(stream, take);
            }
        });
        Ok(Self { folder, decoder })
    }

    /// The socket to which QEMU has to send the log.
    pub(crate) fn socket(&self) -> PathBuf {
        socket(&self.folder)
    }

    /// Receives the remaining entries; QEMU must have ended.
    pub(crate) fn close(self) {
        // Wakes a decoder to which QEMU never connected.
        drop(UnixStream::connect(self.socket()));
        if self.decoder.join().is_err() {
            say("the log could not be decoded to its end");
        }
    }
}

fn socket(folder: &TempDir) -> PathBuf {
    folder.path().join("log")
}

struct Reader {
    table: Table,
    locations: Locations,
    root: PathBuf,
    coloured: bool,
}

impl Reader {
    /// Reads every frame of `stream`.
    fn read_all(&self, mut stream: impl Read, mut take: impl FnMut(Entry)) {
        let mut decoder = self.table.new_stream_decoder();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut bytes) {
            decoder.received(&bytes[..count]);
            loop {
                match decoder.decode() {
                    Ok(frame) => take(Entry::Line(self.line(&frame))),
                    Err(DecodeError::UnexpectedEof) => break,
                    Err(DecodeError::Malformed) => {
                        take(Entry::Damage);
                        if !self.table.encoding().can_recover() {
                            return;
                        }
                    }
                }
            }
        }
    }

    fn line(&self, frame: &Frame<'_>) -> String {
        let message = frame.display(self.coloured).to_string();
        match self.locations.get(&frame.index()) {
            Some(Location { file, line, .. }) => {
                let file: &Path = file.strip_prefix(&self.root).unwrap_or(file);
                format!("{message} ({}:{line})", file.display())
            }
            None => message,
        }
    }
}
