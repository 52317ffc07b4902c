//! What a context has left over time.

use crate::ContextLane;

/// What a context has left, as a line: times and amounts in ticks. It falls while the context is used, and changes with
/// its head replenishment.
pub fn remaining_budget(lane: &ContextLane, end: u64) -> Vec<(u64, u64)> {
    let mut line = Line::default();
    let mut levels = lane.levels.iter().copied().peekable();
    for span in &lane.uses {
        while let Some((time, amount)) = levels.next_if(|(time, _)| *time <= span.start) {
            line.set(time, amount);
        }
        line.put(span.start);
        let mut now = span.start;
        // The levels within the use take their places there.
        while let Some((time, amount)) = levels.next_if(|(time, _)| *time < span.end) {
            line.left -= i128::from(time - now);
            line.set(time, amount);
            now = time;
        }
        line.left -= i128::from(span.end - now);
        line.put(span.end);
    }
    for (time, amount) in levels {
        line.set(time, amount);
    }
    line.put(end);
    line.points
}

#[derive(Default)]
struct Line {
    points: Vec<(u64, u64)>,
    /// What is left; less than nothing, if the kernel charges late.
    left: i128,
}

impl Line {
    fn put(&mut self, time: u64) {
        let point = (time, u64::try_from(self.left.max(0)).unwrap_or(u64::MAX));
        if self.points.last() != Some(&point) {
            self.points.push(point);
        }
    }

    fn set(&mut self, time: u64, amount: u64) {
        self.put(time);
        self.left = i128::from(amount);
        self.put(time);
    }
}

#[cfg(test)]
mod tests {
    use super::remaining_budget;
    use crate::{ContextLane, Span};

    fn used(start: u64, end: u64) -> Span {
        Span {
            start,
            end,
            core: 0,
            thread: None,
            context: None,
        }
    }

    #[test]
    fn it_falls_with_use_and_rises_with_replenishments() {
        let lane = ContextLane {
            uses: vec![used(10, 14), used(20, 28)],
            levels: vec![(0, 6), (24, 5), (40, 6)],
            ..ContextLane::default()
        };
        let line = [
            (0, 0),
            (0, 6),
            (10, 6),
            (14, 2),
            (20, 2),
            (24, 0),
            (24, 5),
            (28, 1),
            (40, 1),
            (40, 6),
            (50, 6),
        ];
        assert_eq!(remaining_budget(&lane, 50), line);
    }
}
