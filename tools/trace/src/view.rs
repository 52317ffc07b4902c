//! The command `view`.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use trace::serve::{Server, Site};
use trace::{Trace, export};

use crate::{print_line, read};

/// The most events that a page is to have in it: with more, a browser takes too long to load it.
const MOST: usize = 1_000_000;

/// Shows traces in a browser: as a page beside the first one, or in the file `html`, or served.
pub(crate) fn view(files: &[PathBuf], html: Option<PathBuf>, serve: bool) -> Result<bool, String> {
    let named = files.iter().map(|file| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        Ok((name.into_owned(), read(file)?))
    });
    let named = named.collect::<Result<Vec<_>, String>>()?;
    let events: usize = named.iter().map(|(_, trace)| trace.events.len()).sum();
    if serve || (html.is_none() && is_long(events)) {
        return served(named);
    }
    let starts = html.is_none();
    let page = html.unwrap_or_else(|| files[0].with_extension("html"));
    let traces: Vec<_> = (named.iter())
        .map(|(name, trace)| (name.as_str(), trace))
        .collect();
    let written = whole_file::write(&page, export::html(&traces));
    written.map_err(|error| format!("cannot write {}: {error}", page.display()))?;
    print_line(page.display())?;
    if starts {
        open(page.as_ref())?;
    }
    Ok(true)
}

/// Whether the page of so many events is served, unless a file for it is given.
const fn is_long(events: usize) -> bool {
    events > MOST
}

/// Serves the page until the process ends.
fn served(traces: Vec<(String, Trace)>) -> Result<bool, String> {
    let server = Server::bind(Site::new(traces));
    let server = server.map_err(|error| format!("cannot serve the page: {error}"))?;
    // Programs that wait for the address get it at once.
    print_line(server.url())?;
    print_line("serving the page until Ctrl-C")?;
    open(server.url().as_ref())?;
    server.run();
    Ok(true)
}

/// Opens a page in a browser.
fn open(page: &OsStr) -> Result<(), String> {
    if Command::new("xdg-open").arg(page).spawn().is_err() {
        print_line("no browser could be started; open the page in one")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::is_long;

    #[test]
    fn a_million_events_are_one_file() {
        assert!(!is_long(1_000_000));
        assert!(is_long(1_000_001));
    }
}
