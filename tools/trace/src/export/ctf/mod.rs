//! The Common Trace Format 1.8, which Babeltrace 2 and Trace Compass read: a folder with a description of the events
//! and a binary file for each core.
//!
//! The specification is <https://diamon.org/ctf/v1.8.3/>; comments cite its sections. [`fields`] has the fields of each
//! kind of event, from which both the description and the bytes are made, so that they fit each other.

mod metadata;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use trace_format::Kind;

use crate::{State, Trace};
use stream::Stream;

/// The trace as files of a folder: the name and the bytes of each.
pub fn ctf(trace: &Trace) -> Vec<(String, Vec<u8>)> {
    let stream = |core| Stream::new(core, trace.lost.get(&core).map_or(0, |lost| lost.all()));
    let cores = trace.lost.keys();
    let mut streams: BTreeMap<u8, Stream> = cores.map(|&core| (core, stream(core))).collect();
    let mut state = State::default();
    for one in &trace.events {
        let event = &one.event;
        // An object has its name until it is deleted, and the event of that still says it.
        let is_last = matches!(
            event.kind(),
            Some(Kind::ThreadDeleted | Kind::ContextDeleted)
        );
        if !is_last {
            state.apply(event);
        }
        let bytes = stream::event(one, &mut state, &trace.names);
        if is_last {
            state.apply(event);
        }
        let core = event.core;
        let stream = streams.entry(core).or_insert_with(|| stream(core));
        stream.add(one, &bytes);
    }
    let description = metadata::metadata(trace).into_bytes();
    let mut files = vec![("metadata".to_string(), description)];
    files.extend(
        streams
            .into_iter()
            .map(|(core, stream)| (format!("core_{core}"), stream.finish(trace.end))),
    );
    files
}

/// Writes files into a folder, which is made if it is not there.
///
/// # Errors
/// If it cannot be written, or has files already: a reader would take them for streams of this trace.
pub fn write_folder(folder: &Path, files: &[(String, Vec<u8>)]) -> Result<(), String> {
    let path = folder.display();
    let made = fs::create_dir_all(folder).and_then(|()| fs::read_dir(folder));
    let mut present = made.map_err(|error| format!("cannot make the folder {path}: {error}"))?;
    if present.next().is_some() {
        return Err(format!(
            "the folder {path} is not empty; name a new one, or delete what is in it"
        ));
    }
    for (name, bytes) in files {
        let file = folder.join(name);
        let written = whole_file::write(&file, bytes);
        written.map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    }
    Ok(())
}
