//! Human-readable output: a chart of execution over time, and a table of sums.

use std::fmt::Write;

use crate::history::{History, Status};

/// A part of the record.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Start, in microseconds.
    pub from: u64,
    /// End, in microseconds.
    pub to: u64,
    /// Columns of the chart.
    pub width: usize,
}

/// The share of a cell's time during which a thread ran, in eighths.
const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The meaning of the signs.
const LEGEND: &str = "█ runs (▄ half of the time)   - ready, others run   ~ budget used up   \
                      ? no time at all   . blocked   (blank) stopped";

/// The chart of execution: a line for each thread, a column for each interval of time.
pub fn chart(history: &History, window: Window) -> String {
    let Window { from, to, width } = window;
    let cell = (to - from).div_ceil(width as u64).max(1);
    let names = history
        .actors
        .iter()
        .map(|actor| actor.name.chars().count());
    let margin = names.max().unwrap_or(0).max("idle".len());
    let mut text = String::new();
    let mut line = |name: &str, signs: String| {
        let _ = writeln!(text, "{name:>margin$} |{signs}|");
    };
    line("ms", ruler(from, cell, width));
    let mut busy = vec![0; width];
    for (number, actor) in history.actors.iter().enumerate() {
        let cells = cells(history, number, window, cell);
        for (busy, shares) in busy.iter_mut().zip(&cells) {
            *busy += shares[0];
        }
        line(
            &actor.name,
            cells.iter().map(|shares| sign(*shares, cell)).collect(),
        );
    }
    let cores = history.cores.max(1) as u64;
    let idle = |busy: &u64| {
        sign(
            [(cores * cell).saturating_sub(*busy), 0, 0, 0, 0],
            cores * cell,
        )
    };
    line("idle", busy.iter().map(idle).collect());
    let _ = writeln!(text, "{:>margin$}  one column is {cell} µs; {LEGEND}", "");
    text
}

/// The time scale, with labels where there is room.
fn ruler(from: u64, cell: u64, width: usize) -> String {
    let mut ruler = String::new();
    while ruler.len() < width {
        let time = from + ruler.len() as u64 * cell;
        let label = format!("'{}", time as f64 / 1000.0);
        if ruler.len() + label.len() > width {
            break;
        }
        ruler += &format!("{label:12}");
    }
    format!("{:width$}", ruler.chars().take(width).collect::<String>())
}

/// For each column, how long a thread was running, ready, starved, timeless and blocked.
fn cells(history: &History, actor: usize, window: Window, cell: u64) -> Vec<[u64; 5]> {
    let mut cells = vec![[0; 5]; window.width];
    for (start, end, status) in history.spans(actor) {
        let kind = match status {
            Status::Runs(_) => 0,
            Status::Ready => 1,
            Status::Starved => 2,
            Status::Timeless => 3,
            Status::Blocked => 4,
            Status::Stopped => continue,
        };
        let (mut start, end) = (start.max(window.from), end.min(window.to));
        while start < end {
            let column = (start - window.from) / cell;
            let stop = end.min(window.from + (column + 1) * cell);
            cells[column as usize][kind] += stop - start;
            start = stop;
        }
    }
    cells
}

fn sign(shares: [u64; 5], cell: u64) -> char {
    if shares[0] > 0 {
        return BLOCKS[((shares[0] * 8).div_ceil(cell) as usize).clamp(1, 8) - 1];
    }
    let most = (1..5).max_by_key(|kind| (shares[*kind], 5 - kind));
    match most.filter(|kind| shares[*kind] > 0) {
        Some(kind) => ['█', '-', '~', '?', '.'][kind],
        None => ' ',
    }
}

/// The table of sums: a line for each thread.
pub fn table(history: &History) -> String {
    let mut text = String::new();
    let names = history
        .actors
        .iter()
        .map(|actor| actor.name.chars().count());
    let margin = names.max().unwrap_or(0).max("thread".len());
    let _ = writeln!(
        text,
        "{:>margin$}  prio  budget/period ms   ran ms  share  on others' time ms  longest wait ms",
        "thread",
    );
    let ms = |time: u64| time as f64 / 1000.0;
    for (number, actor) in history.actors.iter().enumerate() {
        let time = actor.time.map_or("passive".into(), |time| {
            format!("{}/{}", ms(time.budget.0), ms(time.period.0))
        });
        let ran = history.ran(&actor.name);
        let foreign = |status| matches!(status, Status::Runs(owner) if owner != Some(number));
        let foreign = history.total(number, 0, history.end, foreign);
        let ready = history
            .spans(number)
            .filter(|(.., status)| *status == Status::Ready);
        let wait = ready.map(|(start, end, _)| end - start).max().unwrap_or(0);
        let _ = writeln!(
            text,
            "{:>margin$}  {:4}  {:>16}  {:>7.2}  {:>4.1}%  {:>18.2}  {:>15.2}",
            actor.name,
            actor.priority,
            time,
            ms(ran),
            100.0 * ran as f64 / history.end.max(1) as f64,
            ms(foreign),
            ms(wait),
        );
    }
    text
}
