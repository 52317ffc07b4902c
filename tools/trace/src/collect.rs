//! Rings in the RAM of a machine, which a file contains.

mod follow;

use std::fs::File as HostFile;
use std::os::unix::fs::FileExt;
use std::path::Path;

use trace_format::{HEADER_BYTES, MAGIC, RingReader};

use crate::File;

pub use follow::Follower;

/// Rings begin at multiples of this.
const PAGE: u64 = 4096;

/// The trace of the rings in a copy of a machine's RAM, and sentences about rings that cannot be read.
///
/// # Errors
/// A sentence, if the copy cannot be read or contains no ring that can.
pub fn collect(ram: &Path, platform: String) -> Result<(File, Vec<String>), String> {
    let context = |error| format!("cannot read {}: {error}", ram.display());
    let file = HostFile::open(ram).map_err(context)?;
    let size = file.metadata().map_err(context)?.len();
    let (mut rings, mut damage) = (Vec::new(), Vec::new());
    for start in (0..size).step_by(PAGE as usize) {
        let mut header = [0; HEADER_BYTES];
        if file
            .read_exact_at(&mut header[..MAGIC.len()], start)
            .is_err()
            || !header.starts_with(&MAGIC)
            || file.read_exact_at(&mut header, start).is_err()
        {
            continue;
        }
        let reader = match RingReader::new(&header) {
            Ok(reader) => reader,
            Err(reason) => {
                damage.push(format!("at {start:#x}: {reason}"));
                continue;
            }
        };
        let events = reader.written.min(reader.capacity);
        let bytes = events.saturating_mul(reader.settings.detail.bytes() as u64);
        // A ring that is said to be longer than the RAM was no ring.
        let length = bytes.saturating_add(reader.header_bytes as u64);
        if length > size - start {
            continue;
        }
        let mut ring = vec![0; length as usize];
        file.read_exact_at(&mut ring, start).map_err(context)?;
        rings.push((reader.settings.core, ring));
    }
    if rings.is_empty() {
        let name = ram.display();
        if let Some(reason) = damage.first() {
            return Err(format!("{name}, {reason}"));
        }
        return Err(format!(
            "{name} contains no ring of trace events: the kernel was built without, or has not booted"
        ));
    }
    rings.sort_by_key(|&(core, _)| core);
    if let Some(pair) = rings.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let (name, core) = (ram.display(), pair[0].0);
        return Err(format!(
            "{name} contains two rings of core {core}: one is left from an earlier start; switch the machine off before"
        ));
    }
    let file = File {
        platform,
        rings: rings.into_iter().map(|(_, ring)| ring).collect(),
        ..File::default()
    };
    Ok((file, damage))
}
