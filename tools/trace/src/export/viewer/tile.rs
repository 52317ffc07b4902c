//! Parts of a trace at a level of detail: what is shorter than a bin is put together, so that a part takes the same time
//! to send and to paint, however much happens in it.

use std::ops::Range;

use crate::Timeline;

/// The bins of a tile.
const BINS: u64 = 512;

/// A part of a trace, divided into bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The length of a bin in ticks.
    pub(crate) bin: u64,
}

impl Tile {
    /// All of a trace, with all details.
    pub(crate) const WHOLE: Self = Self {
        start: 0,
        end: u64::MAX,
        bin: 1,
    };

    /// The tile with this number at a level. A bin is a tick at level 0, and twice as long at each further level. `None`
    /// if the trace ends before.
    pub(crate) fn new(timeline: &Timeline, level: u32, index: u64) -> Option<Self> {
        let bin = 1_u64.checked_shl(level)?;
        let length = bin.saturating_mul(BINS);
        let start = timeline.start.checked_add(length.checked_mul(index)?)?;
        (start < timeline.end).then_some(Self {
            start,
            end: start.saturating_add(length),
            bin,
        })
    }

    /// The tiles of the lowest level that has at most so many, in the order of time.
    pub(crate) fn at_most(timeline: &Timeline, count: u64) -> Vec<Self> {
        let length = timeline.end.saturating_sub(timeline.start);
        let bins = length.div_ceil(BINS * count);
        let level = bins.max(1).next_power_of_two().trailing_zeros();
        (0..count)
            .map_while(|index| Self::new(timeline, level, index))
            .collect()
    }

    /// Whether nothing is put together.
    pub(crate) const fn is_exact(self) -> bool {
        self.bin == 1
    }

    /// How long it is.
    pub(crate) const fn length(self) -> u64 {
        self.end - self.start
    }

    pub(crate) const fn bin_of(self, time: u64) -> u64 {
        time.saturating_sub(self.start) / self.bin
    }

    /// The entries of a list in this tile, by their times in ascending order.
    pub(crate) fn part<T>(self, list: &[T], time: impl Fn(&T) -> u64) -> &[T] {
        let list = &list[list.partition_point(|one| time(one) < self.start)..];
        &list[..list.partition_point(|one| time(one) < self.end)]
    }

    /// The first entry in each bin.
    pub(crate) fn first_in_bins<T>(self, list: &[T], time: impl Fn(&T) -> u64) -> Vec<&T> {
        let mut found: Vec<&T> = Vec::new();
        for one in self.part(list, &time) {
            let is_new =
                |last: &&T| self.is_exact() || self.bin_of(time(last)) != self.bin_of(time(one));
            if found.last().is_none_or(is_new) {
                found.push(one);
            }
        }
        found
    }

    /// The spans with these numbers, up to the end of this tile: long ones alone, and those together that are shorter
    /// than a bin and begin in the same one here.
    pub(crate) fn groups(
        self,
        numbers: Range<usize>,
        span: impl Fn(usize) -> (u64, u64),
    ) -> Vec<Range<usize>> {
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut open = None;
        for i in numbers {
            let (start, end) = span(i);
            if start >= self.end {
                break;
            }
            let bin = (end.saturating_sub(start) < self.bin).then(|| self.bin_of(start));
            // What begins before is with others there.
            if bin.is_some() && start < self.start {
                continue;
            }
            match groups.last_mut() {
                Some(last) if bin.is_some() && bin == open => last.end = i + 1,
                _ => groups.push(i..i + 1),
            }
            open = bin;
        }
        groups
    }

    /// The points of a line in this tile and beside it: the first, the least, the greatest and the last one in each bin.
    /// That is all that a screen can show of it (Jugel, Jerzak, Hackenbroich and Markl: M4: A Visualization-Oriented
    /// Time Series Data Aggregation, 2014).
    pub(crate) fn line(self, points: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let before = points
            .partition_point(|(time, _)| *time <= self.start)
            .saturating_sub(1);
        let after = points.partition_point(|(time, _)| *time < self.end);
        let points = &points[before..points.len().min(after + 1)];
        if self.is_exact() {
            return points.to_vec();
        }
        // What is before the tile is in no bin.
        let is_before = points.first().is_some_and(|(time, _)| *time < self.start);
        let (before, points) = points.split_at(is_before.into());
        let mut line = before.to_vec();
        for bin in points.chunk_by(|one, other| self.bin_of(one.0) == self.bin_of(other.0)) {
            let places = 0..bin.len();
            let least = places.clone().min_by_key(|i| bin[*i].1).unwrap_or(0);
            let greatest = places.max_by_key(|i| bin[*i].1).unwrap_or(0);
            let mut chosen = vec![0, least, greatest, bin.len() - 1];
            chosen.sort_unstable();
            chosen.dedup();
            line.extend(chosen.into_iter().map(|i| bin[i]));
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::{BINS, Tile};
    use crate::Timeline;

    const BIN: u64 = 8;

    fn tile(index: u64) -> Tile {
        let (start, end) = (100, 100_000);
        let timeline = Timeline {
            start,
            end,
            ..Timeline::default()
        };
        Tile::new(&timeline, BIN.trailing_zeros(), index).expect("the trace is longer")
    }

    #[test]
    fn tiles_follow_each_other_to_the_end() {
        let (first, second) = (tile(0), tile(1));
        assert_eq!((first.start, first.end), (100, 100 + BIN * BINS));
        assert_eq!(first.end, second.start);
        let timeline = Timeline {
            end: 5000,
            ..Timeline::default()
        };
        assert!(Tile::new(&timeline, 0, 5000 / BINS).is_some());
        assert!(Tile::new(&timeline, 0, 5000 / BINS + 1).is_none());
        let tiles = Tile::at_most(&timeline, 2);
        assert_eq!(tiles.len(), 2);
        assert!(tiles[1].end >= 5000);
    }

    #[test]
    fn short_spans_of_a_bin_are_together() {
        // The first span begins before the tile, and the third one is as long as a bin.
        let spans = [
            (98, 101),
            (101, 103),
            (103, 111),
            (111, 112),
            (112, 115),
            (116, 118),
        ];
        let groups = tile(0).groups(0..spans.len(), |i| spans[i]);
        assert_eq!(groups, [1..2, 2..3, 3..5, 5..6]);
        let all = Tile::WHOLE.groups(0..spans.len(), |i| spans[i]);
        assert_eq!(all.len(), spans.len());
    }

    #[test]
    fn a_line_keeps_its_extremes() {
        let mut points: Vec<_> = (100..108).map(|time| (time, 50)).collect();
        (points[3].1, points[5].1) = (90, 10);
        points.push((120, 7));
        let line = [(100, 50), (103, 90), (105, 10), (107, 50), (120, 7)];
        assert_eq!(tile(0).line(&points), line);
        assert_eq!(Tile::WHOLE.line(&points), points);
        // Beside a tile, as far as it takes to draw the line to its edges.
        let beside = tile(0).end;
        let long = [(0, 1), (50, 2), (200, 3), (beside + 1, 4), (beside + 2, 5)];
        assert_eq!(tile(0).line(&long), [(50, 2), (200, 3), (beside + 1, 4)]);
        // A point before the tile is no extreme of its first bin.
        let before = [(50, 100), (101, 20), (103, 60), (105, 10), (107, 15)];
        assert_eq!(tile(0).line(&before), before);
    }
}
