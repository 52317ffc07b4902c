//! One screen for several simultaneous runs. The output of the first of them is shown at once; that of the
//! others is kept until their turn. So the screen reads as if they had run one after the other.

use std::io::{Write, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::tally::Tally;
use crate::ui;

/// A piece of output.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// The guest's output: to stdout.
    Output(Vec<u8>),
    /// The tool's messages: to stderr.
    Words(String),
}

impl Piece {
    fn show(&self) {
        match self {
            // Tests count even if stdout is closed.
            Self::Output(bytes) => {
                let mut stdout = stdout();
                let _ = stdout.write_all(bytes).and_then(|()| stdout.flush());
            }
            Self::Words(words) => ui::say(words),
        }
    }
}

/// The screen.
#[derive(Debug, Default)]
pub(super) struct Screen(Mutex<Turns>);

/// The run that is shown, and the kept output of the others.
#[derive(Debug, Default)]
struct Turns {
    runs: Vec<Run>,
    turn: usize,
    /// The printed lines about tests that failed.
    failures: Vec<String>,
}

#[derive(Debug, Default)]
struct Run {
    kept: Vec<Piece>,
    /// The output after its last end of a line.
    line: Vec<u8>,
    ended: bool,
}

impl Turns {
    fn begin(&mut self) -> usize {
        self.runs.push(Run::default());
        self.runs.len() - 1
    }

    /// Adds output of a run; returns the output to show.
    fn print(&mut self, run: usize, piece: Piece) -> Vec<Piece> {
        if let Piece::Output(bytes) = &piece {
            self.find_failures(run, bytes);
        }
        self.runs[run].kept.push(piece);
        self.due()
    }

    /// Records lines about failed tests.
    fn find_failures(&mut self, run: usize, bytes: &[u8]) {
        let pending = &mut self.runs[run].line;
        for &byte in bytes {
            if byte != b'\n' {
                pending.push(byte);
                continue;
            }
            let line = String::from_utf8_lossy(pending);
            if Tally::from_test(line.trim_end()) == Some(Tally::FAILURE) {
                self.failures.push(line.trim_end().to_string());
            }
            pending.clear();
        }
    }

    /// Ends a run; returns the output to show.
    fn end(&mut self, run: usize) -> Vec<Piece> {
        self.runs[run].ended = true;
        self.due()
    }

    fn due(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while let Some(run) = self.runs.get_mut(self.turn) {
            pieces.append(&mut run.kept);
            if !run.ended {
                break;
            }
            self.turn += 1;
        }
        pieces
    }
}

impl Screen {
    /// A place on the screen for a new run, after all others.
    pub(super) fn begin(&self) -> Place<'_> {
        let run = self.turns().begin();
        Place { screen: self, run }
    }

    /// The lines about tests that failed.
    pub(super) fn failures(&self) -> Vec<String> {
        self.turns().failures.clone()
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, due: impl FnOnce(&mut Turns) -> Vec<Piece>) {
        // The lock keeps other runs' output from appearing in between.
        let mut turns = self.turns();
        due(&mut turns).iter().for_each(Piece::show);
    }
}

/// The place of one run; the next run's output follows its end.
#[derive(Debug)]
pub(super) struct Place<'a> {
    screen: &'a Screen,
    run: usize,
}

impl Place<'_> {
    /// Shows output of the guest.
    pub(super) fn output(&self, bytes: &[u8]) {
        let piece = Piece::Output(bytes.to_vec());
        self.screen.show(|turns| turns.print(self.run, piece));
    }

    /// Shows one line of the tool.
    pub(super) fn say(&self, words: &str) {
        let piece = Piece::Words(words.to_string());
        self.screen.show(|turns| turns.print(self.run, piece));
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.screen.show(|turns| turns.end(self.run));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Piece {
        Piece::Words(text.to_string())
    }

    #[test]
    fn runs_are_shown_one_after_the_other() {
        let mut turns = Turns::default();
        let (one, two, three) = (turns.begin(), turns.begin(), turns.begin());
        assert_eq!(turns.print(two, words("b1")), []);
        assert_eq!(turns.print(one, words("a1")), [words("a1")]);
        assert_eq!(turns.print(three, words("c1")), []);
        assert_eq!(turns.end(three), []);
        assert_eq!(turns.print(one, words("a2")), [words("a2")]);
        assert_eq!(turns.end(one), [words("b1")]);
        assert_eq!(turns.print(two, words("b2")), [words("b2")]);
        assert_eq!(turns.end(two), [words("c1")]);
        let four = turns.begin();
        assert_eq!(turns.print(four, words("d1")), [words("d1")]);
    }

    #[test]
    fn failed_tests_are_remembered() {
        let mut turns = Turns::default();
        let (one, two) = (turns.begin(), turns.begin());
        let output = |text: &str| Piece::Output(text.as_bytes().to_vec());
        turns.print(one, output("test a ... ok\r\ntest b ... FAI"));
        turns.print(two, output("test c ... FAILED: it is 3\r\n"));
        turns.print(one, output("LED\n1 passed, 1 failed\n"));
        assert_eq!(
            turns.failures,
            ["test c ... FAILED: it is 3", "test b ... FAILED"]
        );
    }
}
