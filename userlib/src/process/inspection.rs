//! What a process was doing when it failed: its registers, and the words of its stack from which the tool makes a
//! backtrace.

use super::parts::STACK_TOP;
use super::reset::Complete;
use crate::cap::Registers;
use crate::environment::PAGE;
use crate::loader::Program;
use crate::{Environment, Result};
use abi::Rights;
use abi::registers::{NAMES, SP};
use core::fmt;
use core::ops::Range;

/// The most pages of a stack that are read, and the most words that are kept.
const MOST_PAGES: usize = 2;
const MOST_WORDS: usize = 32;

/// Registers and stack of a thread. It is printed in two lines of a fixed form, to which the tool adds the functions:
/// `registers PROGRAM: NAME 0x…, …`, without those that are zero, and `stack PROGRAM: 0xADDRESS 0xWORD, …`.
pub struct Inspection<'a> {
    program: &'a str,
    registers: Registers,
    /// Addresses and words.
    words: [(usize, usize); MOST_WORDS],
    count: usize,
}

impl Complete {
    /// Looks at the first thread, which does not run, of a process with a program of this name and this stack.
    pub fn inspect<'a>(
        &self,
        environment: &mut Environment,
        name: &'a str,
        program: &Program,
        stack: &Range<usize>,
    ) -> Result<Inspection<'a>> {
        let mut found = Inspection {
            program: name,
            registers: self.tcb.read_registers(false)?,
            words: [(0, 0); MOST_WORDS],
            count: 0,
        };
        let mut code = 0..0;
        for segment in program.segments() {
            let segment = segment?;
            if segment.execute {
                code = segment.address..segment.address + segment.size;
            }
        }
        let written = written_pages(program)?;
        // After an overflow it points below the stack.
        let first = found.registers.0[SP].max(stack.start) & !(size_of::<usize>() - 1);
        for page in (first & !(PAGE - 1)..stack.end)
            .step_by(PAGE)
            .take(MOST_PAGES)
        {
            // The frames of the stack follow those of the program, the highest one first.
            let index = written + (STACK_TOP - page) / PAGE - 1;
            self.read_writable(environment, index, |bytes| {
                for (offset, word) in words(bytes) {
                    let address = page + offset;
                    if address >= first && (code.contains(&word) || stack.contains(&word)) {
                        found.add(address, word);
                    }
                }
            })?;
        }
        Ok(found)
    }
}

/// The number of pages that a program may write, without its stack and its heap.
pub(super) fn written_pages(program: &Program) -> Result<usize> {
    let mut pages = 0;
    for segment in program.segments() {
        let segment = segment?;
        if segment.rights == Rights::READ_WRITE {
            pages += segment.size.div_ceil(PAGE);
        }
    }
    Ok(pages)
}

impl Inspection<'_> {
    fn add(&mut self, address: usize, word: usize) {
        if let Some(place) = self.words.get_mut(self.count) {
            *place = (address, word);
            self.count += 1;
        }
    }
}

/// The words of a page, with their offsets.
fn words(page: &[u8]) -> impl Iterator<Item = (usize, usize)> {
    const WORD: usize = size_of::<usize>();
    let (words, _) = page.as_chunks::<WORD>();
    let words = words.iter().map(|bytes| usize::from_ne_bytes(*bytes));
    (0..).step_by(WORD).zip(words)
}

impl fmt::Display for Inspection<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "registers {}:", self.program)?;
        // Every letter takes time of the budget on which this is printed.
        let registers = NAMES.iter().zip(self.registers.0);
        let known = registers.filter(|(_, value)| *value != 0);
        for (place, (name, value)) in known.enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(out, "{comma} {name} {value:#x}")?;
        }
        write!(out, "\nstack {}:", self.program)?;
        for (place, (address, word)) in self.words[..self.count].iter().enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(out, "{comma} {address:#x} {word:#x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inspection_has_a_fixed_form() {
        let mut inspection = Inspection {
            program: "demo",
            registers: Registers::default(),
            words: [(0, 0); MOST_WORDS],
            count: 0,
        };
        inspection.registers.0[0] = 0x40_1000;
        for place in 0..MOST_WORDS + 1 {
            inspection.add(0x1000 + place, 0x40_0000);
        }
        let text = inspection.to_string();
        let (registers, stack) = text.split_once('\n').unwrap();
        assert_eq!(registers, format!("registers demo: {} 0x401000", NAMES[0]));
        assert!(stack.starts_with("stack demo: 0x1000 0x400000, 0x1001 0x400000, "));
        assert!(stack.ends_with("0x101f 0x400000"), "{stack}");
    }
}
