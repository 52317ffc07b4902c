//! The record of executed instructions.
//!
//! The emulator runs the processors on one thread, so that instructions come in sequence; atomics are used
//! because it may be any thread.

use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::processor::{Processor, Section};

/// The maximum number of processors: the same as in the kernel.
const MAX: usize = 64;

/// The marks between which interrupts-disabled sections count.
const END: u32 = 0;
const BEGIN: u32 = 1;

/// The record.
pub struct Record {
    /// The number of instructions so far.
    now: AtomicU64,
    processors: [Processor; MAX],
    /// The processors that wait for others, one bit each.
    waiting: AtomicU64,
    past: Mutex<Past>,
}

/// The interrupts-disabled sections since the last report.
#[derive(Default)]
struct Past {
    count: u64,
    sum: u64,
    squares: u64,
    shortest: usize,
    longest: Longest,
    /// The longest wait of an interrupt before a mark.
    delay: Longest,
    /// The longest wait of a processor for others in one section.
    wait: Longest,
}

/// The longest of some paths.
#[derive(Default)]
struct Longest {
    length: usize,
    path: Vec<u64>,
}

impl Record {
    /// An empty record.
    pub fn new() -> Self {
        Self {
            now: AtomicU64::new(0),
            processors: std::array::from_fn(|_| Processor::default()),
            waiting: AtomicU64::new(0),
            past: Mutex::default(),
        }
    }

    /// Instructions so far, of all processors.
    pub fn now(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// Executes user instructions.
    #[inline]
    pub fn user(&self, processor: usize, count: u64) {
        let waiting = self.executed(processor, count);
        self.needs_nothing(processor, waiting);
        self.close(processor);
        self.at(processor).user(count);
    }

    /// Executes a kernel instruction.
    #[inline]
    pub fn kernel(&self, processor: usize, address: u64) {
        let waiting = self.executed(processor, 1);
        self.each_of(waiting, |other| other.let_go_on(bit(processor), address));
        self.at(processor).kernel(address);
    }

    /// The kernel reaches a preemption point.
    pub fn look(&self, processor: usize) {
        self.at(processor).look();
        self.close(processor);
    }

    /// The kernel stops an operation at a preemption point.
    pub fn stop(&self, processor: usize) {
        self.at(processor).stop();
    }

    /// The kernel executes a wait hint: its next instruction comes after the turns of the others.
    pub fn wait(&self, processor: usize) {
        self.at(processor).wait_for(!bit(processor));
        let waiting = self.waiting.load(Relaxed);
        self.waiting.store(waiting | bit(processor), Relaxed);
    }

    /// The kernel exits, or waits for an interrupt.
    pub fn leave(&self, processor: usize) {
        self.needs_nothing(processor, self.waiting.load(Relaxed));
        self.at(processor).leave();
        self.close(processor);
    }

    /// Writes the lines for a mark.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn mark(&self, processor: usize, number: u32, to: &mut impl Write) -> std::io::Result<()> {
        writeln!(to, "mark {number} {}", self.at(processor).waited())?;
        let Ok(mut past) = self.past.lock() else {
            return Ok(());
        };
        if number == BEGIN {
            *past = Past::default();
        } else if number != END {
            let processor = self.at(processor);
            let waited = processor.waited() as usize;
            past.delay.see(waited, || processor.way());
        } else {
            let past = std::mem::take(&mut *past);
            write!(to, "delay")?;
            past.delay.write(to)?;
            write!(to, "wait")?;
            past.wait.write(to)?;
            let Past {
                count,
                sum,
                squares,
                shortest,
                ..
            } = past;
            write!(to, "sections {count} {sum} {squares} {shortest}")?;
            past.longest.write(to)?;
            to.flush()?;
        }
        Ok(())
    }

    #[inline]
    fn at(&self, processor: usize) -> &Processor {
        &self.processors[processor % MAX]
    }

    /// A processor executes instructions, so it waits no longer; returns those that wait.
    #[inline]
    fn executed(&self, processor: usize, count: u64) -> u64 {
        self.now.store(self.now.load(Relaxed) + count, Relaxed);
        let waiting = self.waiting.load(Relaxed);
        let others = waiting & !bit(processor);
        if others != waiting {
            self.waiting.store(others, Relaxed);
        }
        others
    }

    /// A processor is outside the kernel, so that those which wait no longer wait for it.
    #[inline]
    fn needs_nothing(&self, processor: usize, waiting: u64) {
        self.each_of(waiting, |other| other.forget(bit(processor)));
    }

    #[inline]
    fn each_of(&self, mut processors: u64, mut work: impl FnMut(&Processor)) {
        while processors != 0 {
            work(&self.processors[processors.trailing_zeros() as usize]);
            processors &= processors - 1;
        }
    }

    /// The processor could take an interrupt now: ends its interrupts-disabled section, if there is one.
    #[inline]
    fn close(&self, processor: usize) {
        if let Some(section) = self.at(processor).close() {
            self.judge(&section);
        }
    }

    fn judge(&self, section: &Section<'_>) {
        let Ok(mut past) = self.past.lock() else {
            return;
        };
        let length = section.length();
        if past.count == 0 || length < past.shortest {
            past.shortest = length;
        }
        past.count += 1;
        past.sum += length as u64;
        past.squares += (length as u64).pow(2);
        past.longest.see(length, || section.addresses(false));
        past.wait.see(section.wait, || section.addresses(true));
    }
}

impl Longest {
    /// Compares with a path that has just ended.
    fn see(&mut self, length: usize, path: impl FnOnce() -> Vec<u64>) {
        if length > self.length {
            self.length = length;
            self.path = path();
        }
    }

    /// Writes the length and the addresses, up to the end of the line.
    fn write(&self, to: &mut impl Write) -> std::io::Result<()> {
        write!(to, " {}", self.length)?;
        for address in &self.path {
            write!(to, " {address:x}")?;
        }
        writeln!(to)
    }
}

/// The bit of a processor in a set.
const fn bit(processor: usize) -> u64 {
    1 << (processor % MAX)
}

#[cfg(test)]
mod tests;
