//! For each priority a time at which an event happens there, and the earliest of these times.

use abi::PRIORITIES;

use super::PriorityBitmap;
use crate::time::Ticks;

/// A tournament tree: a complete binary tree. Its leaves are the priorities, and every inner node names the
/// winner below it: the priority with the earliest time; of equals, the highest priority. A change replays
/// the matches on one path, and each query follows one path, of as many steps as a priority has bits.
///
/// Inner nodes are numbered from 1, the root; the children of *n* are *2n* and *2n+1*. Half of the inner nodes, those
/// from 128 on, have two priorities as their children. So the number of a node is one byte, which is a valid index
/// whatever its value.
///
/// A node without an event below it may name any priority there: none of them has a time.
///
/// Most queries are answered by the highest priority with an event: it is due itself, or no other is within the
/// range of the query. A bitmap finds it without a walk through the tree.
#[derive(Debug)]
pub struct Tournament {
    instants: [Ticks; PRIORITIES],
    winners: [u8; PRIORITIES],
    /// The priorities with an event.
    awaited: PriorityBitmap,
}

const ROOT: u8 = 1;
/// The first inner node of the last level.
const LAST: u8 = 1 << (u8::BITS - 1);
const _: () = assert!(PRIORITIES == 1 << u8::BITS);
/// The number of bits of a priority that select one of those in a word of the bitmap.
const WORD_BITS: u32 = usize::BITS.ilog2();

impl Tournament {
    /// No event at any priority.
    pub const fn new() -> Self {
        let mut winners = [0; PRIORITIES];
        let mut node = PRIORITIES - 1;
        while node >= ROOT as usize {
            // Of equals, the right one.
            let right = 2 * node + 1;
            winners[node] = if right < PRIORITIES {
                winners[right]
            } else {
                (right - PRIORITIES) as u8
            };
            node -= 1;
        }
        Self {
            instants: [Ticks::NEVER; PRIORITIES],
            winners,
            awaited: PriorityBitmap::EMPTY,
        }
    }

    fn winner(&self, node: u8) -> u8 {
        self.winners[usize::from(node)]
    }

    fn instant(&self, priority: u8) -> Ticks {
        self.instants[usize::from(priority)]
    }

    /// The inner node above a priority.
    const fn above(priority: u8) -> u8 {
        LAST | priority >> 1
    }

    /// Changes the time of a priority; [`Ticks::NEVER`] for no event.
    #[inline(always)]
    pub fn set(&mut self, priority: u8, instant: Ticks) {
        self.instants[usize::from(priority)] = instant;
        let is_awaited = instant < Ticks::NEVER;
        if is_awaited {
            self.awaited.insert(priority);
        } else {
            self.awaited.remove(priority);
        }
        if !self.awaited.is_empty() {
            self.play(priority, instant);
        }
    }

    /// Plays the matches of a priority whose time has changed.
    #[inline(never)]
    fn play(&mut self, priority: u8, instant: Ticks) {
        if self.awaited.has_others_in_word(priority) {
            return self.replay(Self::above(priority), priority ^ 1, priority, instant);
        }
        // No other priority in this word has an event, so there are no matches below the word's node.
        let top = (ROOT << (u8::BITS - WORD_BITS)) | priority >> WORD_BITS;
        if instant < Ticks::NEVER {
            let mut node = Self::above(priority);
            while node > top {
                self.winners[usize::from(node)] = priority;
                node >>= 1;
            }
            self.winners[usize::from(top)] = priority;
        }
        self.replay(top >> 1, self.winner(top ^ 1), priority, instant);
    }

    /// Replays the matches from `node` on, the first of them against `other`.
    #[inline(always)]
    fn replay(&mut self, mut node: u8, mut other: u8, priority: u8, instant: Ticks) {
        let (mut winner, mut earliest) = (priority, instant);
        loop {
            let against = self.instant(other);
            if against < earliest || against == earliest && other > winner {
                (winner, earliest) = (other, against);
            }
            let before = core::mem::replace(&mut self.winners[usize::from(node)], winner);
            // The nodes above are not affected.
            if node == ROOT || winner != priority && before != priority {
                return;
            }
            other = self.winner(node ^ 1);
            node >>= 1;
        }
    }

    /// The earliest time of all.
    pub fn earliest(&self) -> Ticks {
        self.instant(self.winner(ROOT))
    }

    /// The earliest time at `lowest` or above (256: none), and a priority that has it.
    #[inline(always)]
    pub fn earliest_from(&self, lowest: u16) -> Option<(u8, Ticks)> {
        let highest = self
            .awaited
            .highest()
            .filter(|highest| *highest >= lowest)? as u8;
        let first = self.winner(ROOT);
        let best = if u16::from(first) >= lowest {
            first
        } else if u16::from(highest) == lowest {
            highest
        } else {
            self.first_from(lowest as u8)
        };
        Some((best, self.instant(best)))
    }

    /// The winner at `lowest` or above.
    #[inline(never)]
    fn first_from(&self, lowest: u8) -> u8 {
        let (mut best, mut earliest) = (lowest, self.instant(lowest));
        let (mut node, mut right, mut is_left) = (Self::above(lowest), lowest | 1, lowest & 1 == 0);
        loop {
            let against = self.instant(right);
            if is_left && against <= earliest {
                (best, earliest) = (right, against);
            }
            if node == ROOT {
                return best;
            }
            is_left = node & 1 == 0;
            right = self.winner(node | 1);
            node >>= 1;
        }
    }

    /// The highest priority with a time that has come, and that time.
    #[inline(always)]
    pub fn highest_priority_due(&self, now: Ticks) -> Option<(u8, Ticks)> {
        let highest = self.awaited.highest()? as u8;
        let instant = self.instant(highest);
        if instant <= now {
            return Some((highest, instant));
        }
        self.highest_priority_due_of_several(now)
    }

    #[inline(never)]
    fn highest_priority_due_of_several(&self, now: Ticks) -> Option<(u8, Ticks)> {
        if self.earliest() > now {
            return None;
        }
        let mut node = ROOT;
        while node < LAST {
            let right = node << 1 | 1;
            let is_due = self.instant(self.winner(right)) <= now;
            node = right & !u8::from(!is_due);
        }
        let right = node << 1 | 1;
        let priority = right & !u8::from(self.instant(right) > now);
        Some((priority, self.instant(priority)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn agrees_with_looking_at_all(
            steps in prop::collection::vec((any::<u8>(), prop::option::of(0u64..50)), 1..200),
            questions in prop::collection::vec((0u16..=256, 0u64..60), 20),
        ) {
            let mut tournament = Tournament::new();
            let mut model = [Ticks::NEVER; PRIORITIES];
            for (priority, instant) in steps {
                let instant = instant.map_or(Ticks::NEVER, Ticks);
                tournament.set(priority, instant);
                model[usize::from(priority)] = instant;
                prop_assert_eq!(Some(&tournament.earliest()), model.iter().min());
            }
            for (lowest, now) in questions {
                let above = &model[usize::from(lowest)..];
                let earliest = above.iter().copied().min().filter(|instant| *instant < Ticks::NEVER);
                let found = tournament.earliest_from(lowest);
                prop_assert_eq!(found.map(|(_, instant)| instant), earliest);
                if let Some((priority, instant)) = found {
                    prop_assert!(u16::from(priority) >= lowest);
                    prop_assert_eq!(model[usize::from(priority)], instant);
                }
                let due = model.iter().rposition(|instant| *instant <= Ticks(now));
                let expected = due.map(|priority| (priority as u8, model[priority]));
                prop_assert_eq!(tournament.highest_priority_due(Ticks(now)), expected);
            }
        }
    }
}
