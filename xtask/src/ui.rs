//! What the tool says. Its own words go to stderr, so that stdout carries
//! nothing but results: the guest's console, a path, a tally.

use std::io::{IsTerminal, Write, stderr};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Says one line.
pub(crate) fn say(words: &str) {
    // Nobody can be told when stderr is closed.
    let _ = writeln!(stderr(), "{words}");
}

/// Says in one sentence what went wrong and why.
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

    /// What the work is at right now.
    pub(crate) fn now(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    /// Says a line that stays.
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
