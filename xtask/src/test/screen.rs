//! One screen for several runs at once. What the first of them prints is shown
//! as it comes; what the others print is kept until it is their turn. So the
//! screen reads as if they had run one after the other.

use std::io::{Write, stdout};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::ui;

/// Something to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// From the guest: to stdout.
    Output(Vec<u8>),
    /// Words of ours: to stderr.
    Words(String),
}

impl Piece {
    fn show(&self) {
        match self {
            // Tests count even if nobody watches any more.
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

/// Whose turn it is, and what the others have printed so far.
#[derive(Debug, Default)]
struct Turns {
    runs: Vec<Run>,
    turn: usize,
}

#[derive(Debug, Default)]
struct Run {
    kept: Vec<Piece>,
    ended: bool,
}

impl Turns {
    fn begin(&mut self) -> usize {
        self.runs.push(Run::default());
        self.runs.len() - 1
    }

    /// A run prints; returns what can be shown.
    fn print(&mut self, run: usize, piece: Piece) -> Vec<Piece> {
        self.runs[run].kept.push(piece);
        self.due()
    }

    /// A run has ended; returns what can be shown.
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
    /// A place on the screen for a new run, behind all others.
    pub(super) fn begin(&self) -> Place<'_> {
        let run = self.turns().begin();
        Place { screen: self, run }
    }

    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn show(&self, due: impl FnOnce(&mut Turns) -> Vec<Piece>) {
        // Nobody else shows anything in between.
        let mut turns = self.turns();
        due(&mut turns).iter().for_each(Piece::show);
    }
}

/// The place of one run; that of the next is behind its end.
#[derive(Debug)]
pub(super) struct Place<'a> {
    screen: &'a Screen,
    run: usize,
}

impl Place<'_> {
    /// Shows what comes from the guest.
    pub(super) fn output(&self, bytes: &[u8]) {
        let piece = Piece::Output(bytes.to_vec());
        self.screen.show(|turns| turns.print(self.run, piece));
    }

    /// Says one line.
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
}
