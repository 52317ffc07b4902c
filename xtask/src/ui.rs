//! The tool's messages. They go to stderr, so that stdout carries only results: the guest's console, a path,
//! a tally.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

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
