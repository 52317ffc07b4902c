//! Decodes the kernel's log.
//!
//! Standard input is a listening socket to which the emulator connects; the frames that come from there are
//! written to standard output as text, each ended by a zero byte. A frame that cannot be decoded is an empty
//! text. Their formats are in the kernel's ELF file.

use std::fs;
use std::io::{Read, Write, stdin, stdout};
use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use anyhow::{Context, Result};
use clap::{ArgAction, Parser};
use defmt_decoder::{DecodeError, Frame, Location, Locations, Table};

/// Decodes the log of a kernel.
#[derive(Parser)]
struct Arguments {
    /// The kernel's ELF file.
    kernel: PathBuf,
    /// The folder to which the files of source code are relative.
    root: PathBuf,
    /// Whether the text has colours.
    #[arg(action = ArgAction::Set)]
    coloured: bool,
}

fn main() -> Result<()> {
    let Arguments {
        kernel,
        root,
        coloured,
    } = Arguments::parse();
    let kernel = fs::read(kernel).context("cannot read the kernel")?;

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
    decoder.decode(&taken(emulator), stdout().lock())
}

/// The blocks of `frames`, which are taken at once, however far the decoder has got. If nothing took them, the socket
/// would be full some time, and the kernel would wait for its port while its virtual time continues.
fn taken(mut frames: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, blocks) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(count @ 1..) = frames.read(&mut bytes)
            && sender.send(bytes[..count].to_vec()).is_ok()
        {}
    });
    blocks
}

struct Decoder {
    table: Table,
    locations: Locations,
    /// Paths below it are shown relative to it.
    root: PathBuf,
    coloured: bool,
}

impl Decoder {
    /// Decodes every frame in `blocks`.
    fn decode(&self, blocks: &Receiver<Vec<u8>>, mut texts: impl Write) -> Result<()> {
        let mut decoder = self.table.new_stream_decoder();
        for block in blocks {
            decoder.received(&block);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_emulator_need_not_wait_for_the_decoder() {
        const BLOCKS: usize = 256;
        let (mut emulator, decoder) = UnixStream::pair().unwrap();
        let blocks = taken(decoder);
        // More than sockets hold.
        for _ in 0..BLOCKS {
            emulator.write_all(&[7; 1 << 16]).unwrap();
        }
        drop(emulator);
        let received: usize = blocks.iter().map(|block| block.len()).sum();
        assert_eq!(received, BLOCKS << 16);
    }
}
