//! What is kept of what was executed.
//!
//! The emulator plays one processor, whose instructions come one after the other; the atomics are there
//! because it may play it on any thread.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

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
    /// The length of the one before.
    last: AtomicUsize,
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
            last: AtomicUsize::new(0),
            past: Mutex::default(),
        }
    }

    /// Instructions of a user.
    pub fn user(&self, count: u64) {
        self.now.store(self.now.load(Relaxed) + count, Relaxed);
        self.close();
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

    /// An interrupt could be taken now.
    pub fn close(&self) {
        let length = self.length.swap_if_not_zero();
        if length == 0 {
            return;
        }
        self.last.store(length, Relaxed);
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
        let (now, last) = (self.now.load(Relaxed), self.last.load(Relaxed));
        writeln!(to, "mark {number} {now} {last}")?;
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

    #[test]
    fn the_longest_stretch_is_kept() {
        let record = Record::new();
        let mut written = Vec::new();
        record.kernel(0x800);
        record.close();
        record.mark(BEGIN, &mut written).unwrap();
        for length in [2, 3, 1] {
            (0..length).for_each(|step| record.kernel(0x100 * length + step));
            record.user(1);
        }
        record.mark(3, &mut written).unwrap();
        record.kernel(0x900);
        record.close();
        record.mark(0, &mut written).unwrap();
        record.mark(0, &mut written).unwrap();
        let text = String::from_utf8(written).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "mark 1 1 1",
                "mark 3 10 1",
                "mark 0 11 1",
                "stretches 4 7 15 1 3 300 301 302",
                "mark 0 11 1",
                "stretches 0 0 0 0 0"
            ]
        );
    }
}
