//! Decodes the kernel's log: `log-decoder KERNEL ROOT COLOURED`.
//!
//! Standard input is a listening socket to which the emulator connects; the frames that come from there are
//! written to standard output as text, each ended by a zero byte. A frame that cannot be decoded is an empty
//! text. Their formats are in the kernel's ELF file.

use std::env;
use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use defmt_decoder::{DecodeError, Frame, Location, Locations, Table};

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1);
    let mut argument = |name| {
        arguments
            .next()
            .with_context(|| format!("{name} is missing"))
    };
    let kernel = fs::read(argument("KERNEL")?).context("cannot read the kernel")?;
    let root = PathBuf::from(argument("ROOT")?);
    let coloured = argument("COLOURED")? == "true";

    let table = Table::parse(&kernel)
        .and_then(|table| table.context("it has no section .defmt"))
        .context("this kernel cannot log")?;
    let locations = table.get_locations(&kernel).unwrap_or_default();
    let decoder = Decoder {
        table,
        locations,
        root,
        coloured,
    };
    let listener = UnixListener::from(stdin().as_fd().try_clone_to_owned()?);
    let (emulator, _) = listener.accept().context("the emulator does not connect")?;
    decoder.decode(emulator, stdout().lock())
}

struct Decoder {
    table: Table,
    locations: Locations,
    /// Paths below it are shown relative to it.
    root: PathBuf,
    coloured: bool,
}

impl Decoder {
    /// Decodes every frame of `frames`.
    fn decode(&self, mut frames: impl Read, mut texts: impl Write) -> Result<()> {
        let mut decoder = self.table.new_stream_decoder();
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = frames.read(&mut bytes) {
            decoder.received(&bytes[..count]);
            loop {
                match decoder.decode() {
                    Ok(frame) => write!(texts, "{}\0", self.text(&frame))?,
                    Err(DecodeError::UnexpectedEof) => break,
                    Err(DecodeError::Malformed) => {
                        texts.write_all(b"\0")?;
                        if !self.table.encoding().can_recover() {
                            return Ok(());
                        }
                    }
                }
            }
            texts.flush()?;
        }
        Ok(())
    }

    fn text(&self, frame: &Frame<'_>) -> String {
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
