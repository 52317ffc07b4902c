//! Post-mortems: the userlib reports faults with addresses (`userlib/src/post_mortem.rs`), and the tool adds
//! the functions and lines of these addresses. Those of the callers come from the registers and the stack that follow.

use std::path::PathBuf;

use crate::backtrace::Snapshot;
use crate::build::Built;
use crate::image::file::program_name;
use crate::symbols::Symbols;

/// The beginning of such a line, before the name of the program.
const MARK: &str = "post-mortem ";
/// The beginnings of lines with registers and words of the stack.
const REGISTERS: &str = "registers ";
const STACK: &str = "stack ";
/// The text before the address of the instruction.
const PC: &str = " pc 0x";
/// The maximum length of such a line.
const LONGEST: usize = 4096;

/// Adds lines to the output of a guest's console.
#[derive(Debug)]
pub(crate) struct PostMortems {
    programs: Vec<PathBuf>,
    line: Vec<u8>,
    /// The last registers, until the stack follows.
    registers: Option<Snapshot>,
    /// Whether their thread's own function has been shown.
    is_placed: bool,
}

impl PostMortems {
    /// For the programs of a build.
    pub(crate) fn of(built: &Built) -> Self {
        let programs = std::iter::once(&built.root_task).chain(&built.components);
        Self {
            programs: programs.cloned().collect(),
            line: Vec::new(),
            registers: None,
            is_placed: false,
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
            for more in self.more(&String::from_utf8_lossy(&line)) {
                shown.extend_from_slice(format!("  {more}\r\n").as_bytes());
            }
        }
        shown
    }

    /// What is to be added after a line.
    fn more(&mut self, line: &str) -> Vec<String> {
        if let Some((name, address)) = parse(line) {
            let symbols = self.symbols(name);
            let place = symbols.and_then(|symbols| place(&symbols, address));
            self.is_placed = place.is_some();
            return place
                .map(|place| format!("in {place}"))
                .into_iter()
                .collect();
        }
        if let Some((_, registers)) = named(line, REGISTERS) {
            self.registers = Snapshot::of_registers(registers);
        } else if let Some((name, stack)) = named(line, STACK) {
            let snapshot = self.registers.take();
            let is_placed = std::mem::take(&mut self.is_placed);
            let snapshot = snapshot.and_then(|snapshot| snapshot.with_stack(stack));
            let program = self.program(name).zip(self.symbols(name));
            return snapshot
                .zip(program)
                .map_or(Vec::new(), |(snapshot, (path, symbols))| {
                    let addresses = snapshot.addresses(path).unwrap_or_default();
                    backtrace(&symbols, &addresses, is_placed)
                });
        }
        Vec::new()
    }

    fn symbols(&self, name: &str) -> Option<Symbols> {
        Symbols::read(self.program(name)?).ok()
    }

    fn program(&self, name: &str) -> Option<&PathBuf> {
        let is_it = |path: &&PathBuf| program_name(path) == Some(name);
        self.programs.iter().find(is_it)
    }
}

/// The program's name and the rest of a line that begins with `mark`.
fn named<'a>(line: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    line.strip_prefix(mark)?.split_once(": ")
}

/// The functions of a chain of calls; without the innermost one if it is known already.
fn backtrace(symbols: &Symbols, addresses: &[u64], is_placed: bool) -> Vec<String> {
    let places = addresses.iter().enumerate().skip(usize::from(is_placed));
    let lines = places.map_while(|(depth, &address)| {
        // That of the call is before the return address.
        let place = place(symbols, address.saturating_sub((depth > 0).into()))?;
        let word = if depth == 0 { "in" } else { "called by" };
        Some(format!("{word} {place}"))
    });
    lines.collect()
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
fn place(symbols: &Symbols, address: u64) -> Option<String> {
    let frames = symbols.frames(address);
    let frames = frames
        .iter()
        .map(|it| format!("{} ({})", it.function, it.location));
    let frames: Vec<_> = frames.collect();
    (!frames.is_empty()).then(|| frames.join(", in "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary;

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

    #[test]
    fn a_line_is_added_with_function_and_file() {
        let folder = temporary::Folder::new().unwrap();
        let source = folder.path().join("crash.rs");
        let code = "#[inline(never)] fn landmark() -> u64 { std::hint::black_box(7) } fn main() { landmark(); }";
        std::fs::write(&source, code).unwrap();
        let program = folder.path().join("crash-1");
        let mut rustc =
            std::process::Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        rustc.arg("-g").arg(&source).arg("-o").arg(&program);
        assert!(rustc.status().unwrap().success());
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
            registers: None,
            is_placed: false,
        };
        let line = format!("post-mortem {name}: stack overflow, pc {address:#x}\nand on\n");
        let (begin, end) = line.split_at(20);
        let mut shown = reader.add(begin.as_bytes());
        shown.extend(reader.add(end.as_bytes()));
        let shown = String::from_utf8(shown).unwrap();
        let lines: Vec<_> = shown.lines().collect();
        assert_eq!(lines.len(), 3, "{shown}");
        assert!(
            lines[1].starts_with("  in ") && lines[1].contains("crash.rs:1"),
            "{shown}"
        );
        assert_eq!(lines[2], "and on");
    }
}
