//! The tool's messages. They go to stderr, so that stdout carries only results: the guest's console, a path,
//! a tally.

use std::fs;
use std::io::{self, IsTerminal, Write, stderr};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};

use crate::Result;

/// Prints one line.
pub(crate) fn say(words: &str) {
    // An error is ignored: there is no output for it when stderr is closed.
    let _ = writeln!(stderr(), "{words}");
}

/// Prints an error and its causes, in one sentence.
pub(crate) fn error(error: &anyhow::Error) {
    let label = if stderr().is_terminal() {
        "\x1b[1;31merror\x1b[0m"
    } else {
        "error"
    };
    say(&format!("{label}: {error:#}"));
}

/// Prints a result, or a part of one.
pub(crate) fn print(text: impl AsRef<[u8]>) -> Result<()> {
    Ok(whole_file::print(text)?)
}

/// Refuses a file that the user wants but that cannot be written, before work is done for it; its folder is made.
pub(crate) fn require_file(path: &Path) -> Result<()> {
    in_folder(path, || whole_file::require_place(path))
}

/// Writes a file that the user wants, completely or not at all; its folder is made.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    in_folder(path, || whole_file::write(path, bytes))
}

/// Does something about a file in a folder that exists then.
fn in_folder(path: &Path, act: impl FnOnce() -> io::Result<()>) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let done = fs::create_dir_all(folder).and_then(|()| act());
    done.with_context(|| format!("cannot write {}", path.display()))
}

/// A longer piece of work: a spinner on a terminal, one line elsewhere.
pub(crate) struct Step {
    bar: ProgressBar,
    name: String,
}

impl Step {
    pub(crate) fn begin(name: &str) -> Self {
        let bar = if stderr().is_terminal() {
            let bar = ProgressBar::new_spinner().with_style(
                ProgressStyle::with_template(
                    "{spinner:.cyan} {prefix} {wide_msg:.dim} {elapsed:.dim}",
                )
                .expect("the template is constant"),
            );
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        } else {
            say(name);
            ProgressBar::hidden()
        };
        bar.set_prefix(name.to_string());
        Self {
            bar,
            name: name.to_string(),
        }
    }

    /// Shows the current part of the work.
    pub(crate) fn now(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    /// Prints a line that stays.
    pub(crate) fn say(&self, words: &str) {
        self.bar.suspend(|| say(words));
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary::Folder;

    #[test]
    fn a_file_is_written_where_there_was_no_folder_but_not_over_one() {
        let folder = Folder::new().unwrap();
        let path = folder.path().join("new/report.svg");
        require_file(&path).unwrap();
        assert!(!path.exists());
        write(&path, "<svg/>").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "<svg/>");
        for error in [
            require_file(folder.path()).unwrap_err(),
            write(folder.path(), "").unwrap_err(),
            write(&path.join("below.svg"), "").unwrap_err(),
        ] {
            let error = format!("{error:#}");
            let begin = format!("cannot write {}", folder.path().display());
            assert!(error.starts_with(&begin), "{error}");
        }
        // Where no user may make files.
        for path in ["/proc/report.svg", "/proc/new/report.svg"] {
            let error = format!("{:#}", require_file(Path::new(path)).unwrap_err());
            let begin = format!("cannot write {path}: ");
            assert!(error.starts_with(&begin), "{error}");
        }
    }
}
