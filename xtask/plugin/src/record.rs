//! What is kept of what was executed.
//!
//! The emulator plays one processor, whose instructions come one after the other; the atomics are there
//! because it may play it on any thread.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// Of a longer stretch only this beginning is kept.
const KEPT: usize = 1 << 16;

/// The marks between which stretches count.
const END: u32 = 0;
const BEGIN: u32 = 1;

/// The record.
pub struct Record {
    /// Instructions so far.
    now: AtomicU64,
    /// The stretch that goes on.
    length: AtomicUsize,
    path: Box<[AtomicU64]>,
    /// An interrupt that was not taken yet has come after this moment.
    since: AtomicU64,
    /// When the kernel has looked for one last, in this stay; or 0.
    looked: AtomicU64,
    /// Whether the kernel has left, and no user has run yet.
    is_back: AtomicBool,
    /// What `since` told when a user ran again: how long an interrupt may have waited.
    waited: AtomicU64,
    past: Mutex<Past>,
}

/// The stretches since the last report.
#[derive(Default)]
struct Past {
    count: u64,
    sum: u64,
    squares: u64,
    shortest: usize,
    longest: usize,
    path: Vec<u64>,
}

impl Record {
    /// An empty one.
    pub fn new() -> Self {
        Self {
            now: AtomicU64::new(0),
            length: AtomicUsize::new(0),
            path: (0..KEPT).map(|_| AtomicU64::new(0)).collect(),
            since: AtomicU64::new(0),
            looked: AtomicU64::new(0),
            is_back: AtomicBool::new(false),
            waited: AtomicU64::new(0),
            past: Mutex::default(),
        }
    }

    /// Instructions so far.
    pub fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Instructions of a user: before the first, any interrupt would have been taken.
    pub fn user(&self, count: u64) {
        let now = self.now.load(Relaxed);
        if self.length.load(Relaxed) > 0 || self.is_back.load(Relaxed) {
            self.is_back.store(false, Relaxed);
            self.waited.store(now - self.since.load(Relaxed), Relaxed);
            self.close();
        }
        self.now.store(now + count, Relaxed);
        self.since.store(now + count, Relaxed);
        self.looked.store(0, Relaxed);
    }

    /// An instruction of the kernel.
    pub fn kernel(&self, address: u64) {
        self.now.store(self.now.load(Relaxed) + 1, Relaxed);
        let length = self.length.load(Relaxed);
        if let Some(place) = self.path.get(length) {
            place.store(address, Relaxed);
        }
        self.length.store(length + 1, Relaxed);
    }

    /// The kernel looks whether an interrupt waits. If it has looked before, there was none then, since it
    /// went on.
    pub fn look(&self) {
        let before = self.looked.swap(self.now.load(Relaxed), Relaxed);
        if before != 0 {
            self.since.store(before, Relaxed);
        }
        self.close();
    }

    /// The kernel returns to a user, or waits for an interrupt. It may do so because it has seen one.
    pub fn leave(&self) {
        self.looked.store(0, Relaxed);
        self.is_back.store(true, Relaxed);
        self.close();
    }

    /// An interrupt could be taken now.
    fn close(&self) {
        let length = self.length.swap_if_not_zero();
        if length == 0 {
            return;
        }
        let Ok(mut past) = self.past.lock() else {
            return;
        };
        if past.count == 0 || length < past.shortest {
            past.shortest = length;
        }
        past.count += 1;
        past.sum += length as u64;
        past.squares += (length as u64).pow(2);
        if length > past.longest {
            past.longest = length;
            let path = self.path.iter().take(length);
            past.path.clear();
            past.path.extend(path.map(|address| address.load(Relaxed)));
        }
    }

    /// A mark: what there is to be said.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn mark(&self, number: u32, to: &mut impl Write) -> std::io::Result<()> {
        writeln!(to, "mark {number} {}", self.waited.load(Relaxed))?;
        let Ok(mut past) = self.past.lock() else {
            return Ok(());
        };
        if number == BEGIN {
            *past = Past::default();
        }
        if number == END {
            let past = std::mem::take(&mut *past);
            let Past {
                count,
                sum,
                squares,
                shortest,
                longest,
                path,
            } = past;
            write!(to, "stretches {count} {sum} {squares} {shortest} {longest}")?;
            path.iter()
                .try_for_each(|address| write!(to, " {address:x}"))?;
            writeln!(to)?;
            to.flush()?;
        }
        Ok(())
    }
}

trait SwapIfNotZero {
    /// Takes the value; does not write where it is zero already.
    fn swap_if_not_zero(&self) -> usize;
}

impl SwapIfNotZero for AtomicUsize {
    fn swap_if_not_zero(&self) -> usize {
        let value = self.load(Relaxed);
        if value != 0 {
            self.store(0, Relaxed);
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, Record};

    fn run(record: &Record, kernel: u64) {
        (0..kernel).for_each(|step| record.kernel(0x100 * kernel + step));
    }

    #[test]
    fn all_instructions_count() {
        let record = Record::new();
        record.user(3);
        run(&record, 2);
        record.user(1);
        assert_eq!(record.now(), 6);
    }

    #[test]
    fn the_longest_stretch_is_kept() {
        let record = Record::new();
        let mut written = Vec::new();
        run(&record, 8);
        record.leave();
        record.mark(BEGIN, &mut written).unwrap();
        for length in [2, 3, 1] {
            run(&record, length);
            record.user(1);
        }
        run(&record, 1);
        record.leave();
        record.mark(0, &mut written).unwrap();
        record.mark(0, &mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        let lines: Vec<_> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "mark 0 1",
                "stretches 4 7 15 1 3 300 301 302",
                "mark 0 1",
                "stretches 0 0 0 0 0"
            ]
        );
    }

    /// How long an interrupt may have waited that is taken behind `before`.
    fn waited(before: impl Fn(&Record)) -> String {
        let record = Record::new();
        record.user(10);
        before(&record);
        run(&record, 50);
        record.leave();
        record.user(3);
        let mut written = Vec::new();
        record.mark(3, &mut written).unwrap();
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn an_interrupt_waits_no_longer_than_since_the_last_moment_without() {
        // It comes while a user runs.
        assert_eq!(waited(|_| {}), "mark 3 50\n");
        // It comes during a system call.
        let call = |record: &Record| {
            run(record, 100);
            record.leave();
        };
        assert_eq!(waited(call), "mark 3 150\n");
        // The kernel looks three times: the second time there was none, since there is a third.
        let long = |record: &Record| {
            for _ in 0..3 {
                run(record, 100);
                record.look();
            }
            run(record, 20);
            record.leave();
        };
        assert_eq!(waited(long), "mark 3 170\n");
    }
}
