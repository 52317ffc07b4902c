//! Post-mortems: the userlib reports faults with addresses (`userlib/src/post_mortem.rs`), and the tool adds
//! the functions and lines of these addresses. Those of the callers come from the registers and the stack that follow.

use std::path::PathBuf;

use crate::Result;
use crate::build::Built;
use crate::image::file::program_name;
use crate::symbols::{Place, Symbolizer};
use crate::ui::say;
use crate::workspace::Workspace;

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
pub(crate) struct PostMortems<'a> {
    workspace: &'a Workspace,
    /// The program `symbols` when it is built, or has turned out not to be possible.
    symbolizer: Option<Result<Symbolizer>>,
    programs: Vec<PathBuf>,
    line: Vec<u8>,
    /// The last registers, until the stack follows.
    registers: Option<String>,
    /// Whether their thread's own function has been shown.
    is_placed: bool,
}

impl<'a> PostMortems<'a> {
    /// For the programs of a build. Without a symbolizer, that is built for the first post-mortem.
    pub(crate) fn of(
        workspace: &'a Workspace,
        built: &Built,
        symbolizer: Option<Symbolizer>,
    ) -> Self {
        let programs = std::iter::once(&built.root_task).chain(&built.components);
        Self {
            workspace,
            symbolizer: symbolizer.map(Ok),
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
            let place = self.placed(name, address);
            self.is_placed = place.is_some();
            return place
                .map(|place| format!("in {place}"))
                .into_iter()
                .collect();
        }
        if let Some((_, registers)) = named(line, REGISTERS) {
            self.registers = Some(registers.to_string());
        } else if let Some((name, stack)) = named(line, STACK) {
            let registers = self.registers.take();
            let is_placed = std::mem::take(&mut self.is_placed);
            let callers = registers.and_then(|registers| self.callers(name, &registers, stack));
            return backtrace(&callers.unwrap_or_default(), is_placed);
        }
        Vec::new()
    }

    /// Functions, files and lines of an address in the program `name`, if it is there.
    fn placed(&mut self, name: &str, address: u64) -> Option<String> {
        let program = self.program(name)?.clone();
        place(&self.symbolizer()?.frames(&program, address).ok()?)
    }

    /// The places of each function in a thread's chain of calls.
    fn callers(&mut self, name: &str, registers: &str, stack: &str) -> Option<Vec<Vec<Place>>> {
        let program = self.program(name)?.clone();
        let symbolizer = self.symbolizer()?;
        symbolizer.callers(&program, registers, stack).ok()
    }

    /// The program `symbols`, which is built for the first post-mortem.
    fn symbolizer(&mut self) -> Option<&Symbolizer> {
        let workspace = self.workspace;
        let built = self.symbolizer.get_or_insert_with(|| {
            let built = Symbolizer::build(workspace);
            if let Err(error) = &built {
                say(&format!(
                    "post-mortems have no functions and lines: {error:#}"
                ));
            }
            built
        });
        built.as_ref().ok()
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
fn backtrace(callers: &[Vec<Place>], is_placed: bool) -> Vec<String> {
    let callers = callers.iter().enumerate().skip(usize::from(is_placed));
    let lines = callers.map_while(|(depth, frames)| {
        let word = if depth == 0 { "in" } else { "called by" };
        Some(format!("{word} {}", place(frames)?))
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

/// Functions, files and lines of an instruction, the innermost first; none if it is not in the program.
fn place(frames: &[Place]) -> Option<String> {
    let frames = frames
        .iter()
        .map(|it| format!("{} ({})", it.function, it.location));
    let frames: Vec<_> = frames.collect();
    (!frames.is_empty()).then(|| frames.join(", in "))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

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
    fn lines_are_added_with_functions_and_files() {
        let folder = temporary::Folder::new().unwrap();
        let workspace = Workspace::at(folder.path());
        let script = folder.path().join("symbols");
        let words = r#"#!/bin/sh
case $1 in
frames) echo '[[{"function":"f","location":"a.rs:1"},{"function":"g","location":"a.rs:2"}]]';;
callers) echo '[[{"function":"f","location":"a.rs:1"}],[{"function":"h","location":"b.rs:3"}],[]]';;
esac
"#;
        fs::write(&script, words).unwrap();
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        let mut reader = PostMortems {
            workspace: &workspace,
            symbolizer: Some(Ok(Symbolizer::at(&script))),
            programs: vec!["pump-1".into()],
            line: Vec::new(),
            registers: None,
            is_placed: false,
        };
        let text = "post-mortem pump: stack overflow, pc 0x10\nregisters pump: rip 0x10\nstack pump: 0x0 0x1\non\n";
        let (begin, end) = text.split_at(20);
        let mut shown = reader.add(begin.as_bytes());
        shown.extend(reader.add(end.as_bytes()));
        let shown = String::from_utf8(shown).unwrap();
        let lines: Vec<_> = shown.lines().map(str::trim_end).collect();
        assert_eq!(lines[1], "  in f (a.rs:1), in g (a.rs:2)", "{shown}");
        assert_eq!(lines[4..], ["  called by h (b.rs:3)", "on"], "{shown}");
    }
}
