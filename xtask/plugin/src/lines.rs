//! Which cache lines the kernel touches on each processor.

use std::collections::BTreeMap;
use std::io::Write;

/// The size of a cache line, as a power of two; for processors with shorter lines, too much is counted as
/// shared.
const LINE_BITS: u32 = 6;

/// Touched lines are recorded from this mark to the next constant's, and reported at the third.
const TOUCH: u32 = 3;
const TOUCHED: u32 = 4;
const TELL: u32 = 5;

/// The lines touched since the last report.
#[derive(Default)]
pub struct Lines {
    /// The processors between their marks, one bit each.
    watched: u64,
    /// By physical address.
    touched: BTreeMap<u64, Touched>,
}

/// The accesses to a cache line.
struct Touched {
    /// The first virtual address at which the kernel accessed it.
    address: u64,
    /// The processors that read it.
    read: u64,
    /// The processors that wrote it.
    written: u64,
}

impl Touched {
    fn by_several(&self) -> bool {
        (self.read | self.written).count_ones() > 1
    }
}

impl Lines {
    /// Records an access of the kernel to memory.
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

    /// Handles a mark of a processor. Returns whether it was one for these.
    ///
    /// # Errors
    /// If the report cannot be written.
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

/// The bit of a processor in a set.
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
    fn cache_lines_are_told_apart_by_core_and_access() {
        let mut lines = Lines::default();
        for processor in [0, 1] {
            assert!(lines.mark(processor, TOUCH, &mut Vec::new()).unwrap());
            // A line of its own, two lines that both processors read, and one that the second processor
            // writes.
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
