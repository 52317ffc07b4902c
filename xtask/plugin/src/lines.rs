//! Which cache lines the kernel touches on each processor.

use std::collections::BTreeMap;
use std::io::Write;

/// The size of a cache line, as a power of two; where they are shorter, more is said to be shared than is.
const LINE_BITS: u32 = 6;

/// From this mark on what a processor touches counts, until that one; and there it is told.
const TOUCH: u32 = 3;
const TOUCHED: u32 = 4;
const TELL: u32 = 5;

/// What was touched since it was told last.
#[derive(Default)]
pub struct Lines {
    /// The processors between their marks: a bit for each.
    watched: u64,
    /// By physical address.
    touched: BTreeMap<u64, Touched>,
}

/// What happened to a cache line.
struct Touched {
    /// Where the kernel saw it first.
    address: u64,
    /// The processors that read it, and those that wrote it.
    read: u64,
    written: u64,
}

impl Touched {
    fn by_several(&self) -> bool {
        (self.read | self.written).count_ones() > 1
    }
}

impl Lines {
    /// The kernel reads or writes memory.
    pub fn touch(&mut self, processor: u32, physical: u64, address: u64, is_write: bool) {
        let processor = bit(processor) & self.watched;
        if processor == 0 {
            return;
        }
        let line = self
            .touched
            .entry(physical >> LINE_BITS)
            .or_insert(Touched {
                address,
                read: 0,
                written: 0,
            });
        *(if is_write {
            &mut line.written
        } else {
            &mut line.read
        }) |= processor;
    }

    /// A mark of a processor. Returns whether it was one for these.
    ///
    /// # Errors
    /// Where what there is to say cannot be written.
    pub fn mark(
        &mut self,
        processor: u32,
        number: u32,
        to: &mut impl Write,
    ) -> std::io::Result<bool> {
        match number {
            TOUCH => self.watched |= bit(processor),
            TOUCHED => self.watched &= !bit(processor),
            TELL => self.tell(to)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn tell(&mut self, to: &mut impl Write) -> std::io::Result<()> {
        let lines: Vec<_> = std::mem::take(&mut self.touched).into_values().collect();
        let (several, own): (Vec<_>, Vec<_>) = lines.into_iter().partition(Touched::by_several);
        let (shared, read): (Vec<_>, Vec<_>) = several.iter().partition(|line| line.written != 0);
        write!(to, "lines {} {} {}", own.len(), read.len(), shared.len())?;
        for line in shared {
            write!(to, " {:x}", line.address)?;
        }
        writeln!(to)?;
        to.flush()
    }
}

/// A processor in a set.
fn bit(processor: u32) -> u64 {
    1_u64.checked_shl(processor).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Lines, TELL, TOUCH, TOUCHED};

    fn told(lines: &mut Lines) -> String {
        let mut text = Vec::new();
        lines.mark(0, TELL, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn lines_are_told_apart_by_who_touches_them_and_how() {
        let mut lines = Lines::default();
        for processor in [0, 1] {
            assert!(lines.mark(processor, TOUCH, &mut Vec::new()).unwrap());
            // One of its own, two that both read; and one that the second writes.
            let own = 0x1000 + u64::from(processor) * 64;
            lines.touch(processor, own, own, true);
            lines.touch(processor, 0x2000, 0x2000, false);
            lines.touch(processor, 0x2040, 0x2040, false);
            lines.touch(
                processor,
                0x3000 + 8 * u64::from(processor),
                0xf008,
                processor == 1,
            );
        }
        assert_eq!(told(&mut lines), "lines 2 2 1 f008\n");
        assert_eq!(told(&mut lines), "lines 0 0 0\n");
    }

    #[test]
    fn only_what_happens_between_the_marks_counts() {
        let mut lines = Lines::default();
        let mut nowhere = Vec::new();
        lines.touch(1, 0, 0, true);
        lines.mark(1, TOUCH, &mut nowhere).unwrap();
        lines.touch(0, 64, 64, true);
        lines.touch(1, 128, 128, true);
        lines.mark(1, TOUCHED, &mut nowhere).unwrap();
        lines.touch(1, 192, 192, true);
        assert_eq!(told(&mut lines), "lines 1 0 0\n");
        assert!(nowhere.is_empty());
        assert!(!lines.mark(1, 2, &mut nowhere).unwrap());
    }
}
