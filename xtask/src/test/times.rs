//! The durations of the parts of the tests.

use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The number of longest parts that are listed.
const NAMED: usize = 12;

/// The duration of each part.
#[derive(Debug)]
pub(super) struct Times {
    begin: Instant,
    parts: Mutex<Vec<(String, Duration)>>,
}

impl Times {
    pub(super) fn new() -> Self {
        Self {
            begin: Instant::now(),
            parts: Mutex::default(),
        }
    }

    /// Performs a part, and records its duration.
    pub(super) fn of<T>(&self, part: impl Into<String>, perform: impl FnOnce() -> T) -> T {
        let begin = Instant::now();
        let result = perform();
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.push((part.into(), begin.elapsed()));
        result
    }

    /// The longest parts, with a headline.
    pub(super) fn table(&self) -> String {
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        parts.sort_by_key(|&(_, time)| std::cmp::Reverse(time));
        let mut table = format!(
            "{} in all; the longest parts:",
            minutes(self.begin.elapsed())
        );
        for (part, time) in parts.iter().take(NAMED) {
            let _ = write!(table, "\n{:>7}  {part}", minutes(*time));
        }
        let rest: Duration = parts.iter().skip(NAMED).map(|&(_, time)| time).sum();
        if let Some(number @ 1..) = parts.len().checked_sub(NAMED) {
            let _ = write!(table, "\n{:>7}  {number} others", minutes(rest));
        }
        table
    }
}

/// Minutes and seconds.
fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_come_first_and_the_rest_is_summed() {
        let times = Times::new();
        let parts =
            (0..NAMED as u64 + 2).map(|n| (format!("part {n}"), Duration::from_secs(60 + n)));
        times.parts.lock().unwrap().extend(parts);
        let table = times.table();
        let lines: Vec<_> = table.lines().collect();
        assert_eq!(lines[0], "0:00 in all; the longest parts:");
        assert_eq!(lines[1], "   1:13  part 13");
        assert_eq!(lines[NAMED + 1], "   2:01  2 others");
        assert_eq!(times.of("one more", || 7), 7);
    }
}
