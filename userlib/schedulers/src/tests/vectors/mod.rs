//! The schedules of random task sets by an independent simulator (`make.py`), as text. On-target tests read them, too: so this
//! needs neither memory nor the rest of the library.

/// 40 sets on 1 to 8 cores.
pub const SAMPLE: &str = include_str!("edf.txt");

/// Sets of few tasks with long periods: four on two cores, three on four.
pub const FEW: &str = include_str!("few.txt");

/// A set, with its schedule.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a> {
    /// The number of cores.
    pub cores: usize,
    /// The length of the schedule.
    pub duration: u64,
    tasks: &'a str,
}

/// A task, whose jobs all execute for the same time.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The first release.
    pub offset: u64,
    /// The time between releases.
    pub period: u64,
    /// The time from a release to the deadline.
    pub deadline: u64,
    /// How long a job executes.
    pub execution: u64,
    intervals: &'a str,
}

/// The sets of a text.
pub fn sets(text: &str) -> impl Iterator<Item = Set<'_>> {
    text.split("set ").skip(1).map(|set| {
        let (head, tasks) = set.split_once('\n').expect("tasks follow");
        let (cores, duration) = head.split_once(' ').expect("two numbers");
        Set {
            cores: number(cores) as usize,
            duration: number(duration),
            tasks,
        }
    })
}

impl<'a> Set<'a> {
    /// Its tasks.
    pub fn tasks(&self) -> impl Iterator<Item = Line<'a>> + use<'a> {
        self.tasks.lines().map(|line| {
            let mut words = line.splitn(6, ' ').skip(1);
            let mut next = || words.next().unwrap_or_default();
            Line {
                offset: number(next()),
                period: number(next()),
                deadline: number(next()),
                execution: number(next()),
                intervals: next(),
            }
        })
    }
}

impl<'a> Line<'a> {
    /// The intervals in which the task runs, on any core; they do not touch.
    pub fn intervals(&self) -> impl Iterator<Item = (u64, u64)> + use<'a> {
        let intervals = self.intervals.split_ascii_whitespace();
        intervals.map(|interval| {
            let (start, end) = interval.split_once('-').expect("start and end");
            (number(start), number(end))
        })
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number")
}
