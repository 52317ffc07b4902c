//! Post-mortems: the userlib reports faults with addresses (`userlib/src/post_mortem.rs`), and the tool adds
//! the functions and lines of these addresses.

use std::path::{Path, PathBuf};

use crate::build::Built;
use crate::image::file::program_name;
use crate::symbols::Symbols;

/// The beginning of such a line, before the name of the program.
const MARK: &str = "post-mortem ";
/// The text before the address of the instruction.
const PC: &str = " pc 0x";
/// The maximum length of such a line.
const LONGEST: usize = 4096;

/// Adds lines to the output of a guest's console.
#[derive(Debug)]
pub(crate) struct PostMortems {
    programs: Vec<PathBuf>,
    line: Vec<u8>,
}

impl PostMortems {
    /// For the programs of a build.
    pub(crate) fn of(built: &Built) -> Self {
        let programs = std::iter::once(&built.root_task).chain(&built.components);
        Self {
            programs: programs.cloned().collect(),
            line: Vec::new(),
        }
    }

    /// The text to show for these bytes of the console: the bytes, and a line after each post-mortem.
    pub(crate) fn add(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut shown = Vec::with_capacity(bytes.len());
        for &byte in bytes {
            shown.push(byte);
            if byte != b'\n' {
                if self.line.len() < LONGEST {
                    self.line.push(byte);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if let Some(place) = self.place(&String::from_utf8_lossy(&line)) {
                shown.extend_from_slice(format!("  in {place}\r\n").as_bytes());
            }
        }
        shown
    }

    /// The location of the fault in a post-mortem.
    fn place(&self, line: &str) -> Option<String> {
        let (name, address) = parse(line)?;
        let is_it = |path: &&PathBuf| program_name(path) == Some(name);
        place(self.programs.iter().find(is_it)?, address)
    }
}

/// The program and the address of the instruction in a post-mortem.
fn parse(line: &str) -> Option<(&str, u64)> {
    let (name, rest) = line.strip_prefix(MARK)?.split_once(": ")?;
    let (_, rest) = rest.split_once(PC)?;
    let end = rest.find(|it: char| !it.is_ascii_hexdigit());
    let digits = &rest[..end.unwrap_or(rest.len())];
    Some((name, u64::from_str_radix(digits, 16).ok()?))
}

/// Functions, files and lines of an address, the innermost first; none if it is not in the program.
fn place(program: &Path, address: u64) -> Option<String> {
    let frames = Symbols::read(program).ok()?.frames(address);
    let frames = frames
        .iter()
        .map(|it| format!("{} ({})", it.function, it.location));
    let frames: Vec<_> = frames.collect();
    (!frames.is_empty()).then(|| frames.join(", in "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_mortem_is_parsed() {
        let line = "post-mortem demo-client: stack overflow, pc 0x4ab123, address 0x3ffff8";
        assert_eq!(parse(line), Some(("demo-client", 0x4a_b123)));
        let line = "post-mortem demo: unknown system call -7, pc 0x4ab123\r";
        assert_eq!(parse(line), Some(("demo", 0x4a_b123)));
        for other in [
            "post-mortem demo: its budget is used up after 1.500 ms",
            "a post-mortem demo: pc 0x1",
            "post-mortem demo, pc 0x1",
            "post-mortem demo: words, pc 0x",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    /// A function that is found in the symbols of the program that runs this test.
    #[inline(never)]
    fn landmark() -> u64 {
        std::hint::black_box(7)
    }

    #[test]
    fn a_line_is_added_with_function_and_file() {
        assert_eq!(landmark(), 7);
        let program = std::env::current_exe().unwrap();
        // The program may be loaded at any address; its symbols have the linked addresses.
        let bytes = std::fs::read(&program).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let symbol = object::Object::symbols(&file)
            .find(|symbol| {
                object::ObjectSymbol::name(symbol).is_ok_and(|name| name.contains("landmark"))
            })
            .unwrap();
        let address = object::ObjectSymbol::address(&symbol);
        let name = program_name(&program).unwrap().to_string();
        let mut reader = PostMortems {
            programs: vec![program],
            line: Vec::new(),
        };
        let line = format!("post-mortem {name}: stack overflow, pc {address:#x}\nand on\n");
        let (begin, end) = line.split_at(20);
        let mut shown = reader.add(begin.as_bytes());
        shown.extend(reader.add(end.as_bytes()));
        let shown = String::from_utf8(shown).unwrap();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines.len(), 3, "{shown}");
        assert!(
            lines[1].starts_with("  in ") && lines[1].contains("post_mortem.rs:"),
            "{shown}"
        );
        assert_eq!(lines[2], "and on");
    }
}
