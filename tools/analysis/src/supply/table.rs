//! The supply of a time table.

use num_traits::Zero;

use super::Supply;
use crate::{Error, Method, Ratio, Result, Time};

/// [`Table`] and its source.
pub const TABLE: Method = Method {
    name: "supply of a time table",
    source: "Mok, Feng and Chen, RTAS 2001 (static partition)",
    assumptions: &[
        "the table is repeated without gaps; a switch takes its time from the turn that begins",
        "the window begins at the end of the worst turn",
    ],
};

/// The turns of one partition in a table that is repeated for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Begin and length of each turn, in order.
    turns: Vec<(Time, Time)>,
    frame: Time,
    /// The turns of a frame together.
    sum: Time,
}

impl Table {
    /// From all turns of a table: how long each is, and whether it is the partition's. `lost` is what the start of a
    /// turn takes.
    ///
    /// # Errors
    /// If nothing is left to the partition, or the table is longer than [`Time::LONGEST`].
    pub fn new(turns: &[(Time, bool)], lost: Time) -> Result<Self> {
        let mut frame = Time::ZERO;
        let mut own: Vec<(Time, Time)> = Vec::new();
        for (place, (length, is_own)) in turns.iter().enumerate() {
            let continues = place > 0 && turns[place - 1].1;
            if *is_own {
                match own.last_mut().filter(|_| continues) {
                    Some((_, before)) => *before += *length,
                    None => own.push((frame + lost, *length - lost)),
                }
            }
            frame += *length;
        }
        own.retain(|(_, length)| *length > Time::ZERO);
        let sum = own.iter().map(|(_, length)| *length).sum();
        if own.is_empty() || frame > Time::LONGEST {
            let why = format!("of {frame}, no turn is left to it");
            return Err(Error::impossible("time table", why));
        }
        Ok(Self {
            turns: own,
            frame,
            sum,
        })
    }

    /// The supply from the end of a turn on.
    fn after(&self, turn: usize, window: Time) -> Time {
        let frames = window.whole(self.frame);
        let mut left = window - self.frame * frames;
        let mut supplied = self.sum * frames;
        let mut at = self.turns[turn].0 + self.turns[turn].1;
        for step in 1..=self.turns.len() {
            let (begin, length) = self.turns[(turn + step) % self.turns.len()];
            let gap = match begin >= at {
                true => begin - at,
                false => begin + self.frame - at,
            };
            left -= gap;
            if left <= Time::ZERO {
                break;
            }
            supplied += left.min(length);
            left -= length;
            at = begin + length;
        }
        supplied
    }

    /// The window from the end of a turn on that contains this much.
    fn window_after(&self, turn: usize, work: Time) -> Time {
        let frames = work.covered_by(self.sum) - 1;
        let mut left = work - self.sum * frames;
        let end = self.turns[turn].0 + self.turns[turn].1;
        let mut at = end;
        for step in 1..=self.turns.len() {
            let (begin, length) = self.turns[(turn + step) % self.turns.len()];
            let begin = match begin >= at {
                true => begin,
                false => begin + self.frame,
            };
            if left <= length {
                at = begin + left;
                break;
            }
            left -= length;
            at = begin + length;
        }
        at - end + self.frame * frames
    }
}

impl Supply for Table {
    fn in_window(&self, window: Time) -> Time {
        let window = window.max(Time::ZERO);
        let all = (0..self.turns.len()).map(|turn| self.after(turn, window));
        all.min().unwrap_or_default()
    }

    fn window_for(&self, work: Time) -> Time {
        if work <= Time::ZERO {
            return Time::ZERO;
        }
        let all = (0..self.turns.len()).map(|turn| self.window_after(turn, work));
        all.max().unwrap_or_default()
    }

    fn rate(&self) -> Ratio {
        match self.frame.nanos() {
            0 => Ratio::zero(),
            _ => self.sum.over(self.frame),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All windows of a table, by counting.
    fn counted(turns: &[(i128, bool)], lost: i128, window: usize) -> i128 {
        let mut slots = Vec::new();
        for (place, (length, is_own)) in turns.iter().enumerate() {
            let continues = place > 0 && turns[place - 1].1;
            for at in 0..*length {
                slots.push(*is_own && (continues || at >= lost));
            }
        }
        let of = |start: usize| {
            let own = (start..start + window).filter(|at| slots[at % slots.len()]);
            own.count() as i128
        };
        (0..slots.len()).map(of).min().unwrap_or_default()
    }

    #[test]
    fn supplies_are_those_of_the_worst_window() {
        let tables: [&[(i128, bool)]; 5] = [
            &[(5, true), (7, false)],
            &[(3, false), (4, true), (2, false), (6, true), (1, false)],
            &[(4, true), (2, true), (9, false), (3, true)],
            &[
                (2, true),
                (5, false),
                (2, true),
                (5, false),
                (8, true),
                (1, false),
            ],
            &[(6, true)],
        ];
        for turns in tables {
            for lost in [0, 1] {
                if lost > 0 && turns.len() == 1 {
                    continue;
                }
                let all: Vec<_> = turns
                    .iter()
                    .map(|(length, own)| (Time::of(*length), *own))
                    .collect();
                let table = Table::new(&all, Time::of(lost)).unwrap();
                let mut before = Time::ZERO;
                for window in 0..100 {
                    let expected = counted(turns, lost, window);
                    let found = table.in_window(Time::of(window as i128));
                    assert_eq!(found, Time::of(expected), "{turns:?} {lost} {window}");
                    if found > before {
                        let least = table.window_for(found);
                        assert_eq!(least, Time::of(window as i128), "{turns:?} {lost} {found}");
                    }
                    before = found;
                }
            }
        }
    }

    #[test]
    fn a_table_without_turns_is_refused() {
        Table::new(&[(Time::of(5), false)], Time::ZERO).unwrap_err();
        Table::new(&[(Time::of(5), true), (Time::of(1), false)], Time::of(5)).unwrap_err();
    }
}
