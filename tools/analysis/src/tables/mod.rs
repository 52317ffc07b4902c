//! Time tables: which guest or task has the processor when, repeated for ever.

mod check;
mod enclose;
mod replay;
mod synthesis;

pub use check::{CHECK, check, check_super_schedule};
pub use enclose::{ENCLOSE, LocalTable, SuperSchedule, enclose};
pub use replay::{IN_TURNS, in_turns};
pub use synthesis::{Limits, SYNTHESIS, synthesise};

use num_integer::Integer;

use crate::{Error, Result, Time, supply};

/// A turn of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The place of the task or guest, or none if the processor is free.
    pub owner: Option<usize>,
    /// How long it is.
    pub length: Time,
}

/// A table: turns that follow each other, and then begin again. It is plain data; [`check()`] says whether it keeps what
/// it must.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeTable {
    /// The turns.
    pub turns: Vec<Turn>,
}

impl TimeTable {
    /// Adds a turn; it continues the last one if that has the same owner. An empty turn is none.
    pub fn add(&mut self, owner: Option<usize>, length: Time) {
        match self.turns.last_mut().filter(|last| last.owner == owner) {
            Some(last) => last.length += length,
            None if length > Time::ZERO => self.turns.push(Turn { owner, length }),
            None => {}
        }
    }

    /// The length of all turns.
    pub fn frame(&self) -> Time {
        self.turns.iter().map(|turn| turn.length).sum()
    }

    /// Begin and length of the turns that are not free.
    pub fn windows(&self) -> Vec<(Time, Time)> {
        let mut at = Time::ZERO;
        let mut windows: Vec<(Time, Time)> = Vec::new();
        for turn in &self.turns {
            if turn.owner.is_some() {
                match windows.last_mut().filter(|last| last.0 + last.1 == at) {
                    Some(last) => last.1 += turn.length,
                    None => windows.push((at, turn.length)),
                }
            }
            at += turn.length;
        }
        windows
    }

    /// What an owner surely gets in any window of time, if each turn loses this much at its begin.
    ///
    /// # Errors
    /// If nothing is left to the owner.
    pub fn supply(&self, owner: usize, lost: Time) -> Result<supply::Table> {
        let turns = self.turns.iter();
        let turns: Vec<_> = turns
            .map(|turn| (turn.length, turn.owner == Some(owner)))
            .collect();
        supply::Table::new(&turns, lost)
    }
}

/// The least common multiple of periods.
fn frame(periods: impl IntoIterator<Item = Time>) -> Result<Time> {
    let mut frame = 1_i128;
    for period in periods {
        // Both are at most 2^50.
        frame = frame.lcm(&period.nanos());
        if frame > Time::LONGEST.nanos() {
            let why = format!(
                "the periods have no common multiple up to {}; choose periods that divide each other",
                Time::LONGEST
            );
            return Err(Error::impossible("time table", why));
        }
    }
    Ok(Time::of(frame))
}
