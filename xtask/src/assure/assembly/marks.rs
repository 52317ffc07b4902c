//! Symbols that mark the lines of assembly that mutants change, and the mutants of the image that has them.

use std::fs;

use anyhow::{Context, bail};

use super::{Mutant, code, lines};
use crate::Result;
use crate::build::Built;
use crate::image::elf::{Executable, Machine};
use crate::workspace::Workspace;

/// The beginnings of symbols' names: at the first line of a file, and before and after a marked line.
const FILE: &str = "mutants_of.";
const BEGIN: &str = "mutant.";
const END: &str = "mutant_end.";
/// The length of the longest changed code, of two instructions.
const LONGEST: usize = 32;

/// Marks the lines of a file. Within a macro, a mark has a number for each use of the macro.
pub(super) fn insert(file: &str, text: &str) -> String {
    let mut changed: Vec<_> = lines::changes(text).into_iter().map(|one| one.0).collect();
    changed.dedup();
    let mut marked = format!(".set {FILE}{file}, .\n");
    let mut is_macro = false;
    for (at, line) in text.lines().enumerate() {
        is_macro |= line.trim().starts_with(".macro");
        is_macro &= !line.trim().starts_with(".endm");
        let number = if is_macro { ".\\@" } else { "" };
        if changed.contains(&at) {
            let name = format!("{file}.{at}{number}");
            marked += &format!(".set {BEGIN}{name}, .\n{line}\n.set {END}{name}, .\n");
        } else {
            marked += &format!("{line}\n");
        }
    }
    marked
}

/// A boot image whose kernel has marks.
pub(super) struct Marked {
    pub(super) image: Vec<u8>,
    machine: Machine,
    /// The first marked address, and its offset in the image.
    first: u64,
    offset: usize,
    /// The names of files and where they begin.
    files: Vec<(u64, String)>,
    /// File and line of each marked instruction, its address and its length.
    marks: Vec<(String, usize, u64, usize)>,
}

impl Marked {
    pub(super) fn read(built: &Built) -> Result<Self> {
        let kernel = Executable::parse(&fs::read(&built.kernel)?)?;
        let named = |prefix: &'static str| {
            (kernel.symbols.iter())
                .filter_map(move |(name, value)| Some((name.strip_prefix(prefix)?, *value)))
        };
        let mut marks: Vec<_> = named(BEGIN)
            .filter_map(|(name, begin)| {
                let end = kernel.symbol(&format!("{END}{name}"))?;
                let mut parts = name.split('.');
                let (file, line) = (parts.next()?.to_string(), parts.next()?.parse().ok()?);
                Some((file, line, begin, usize::try_from(end - begin).ok()?))
            })
            .collect();
        marks.sort_by_key(|&(_, _, address, _)| address);
        let (Some(first), Some(last)) = (marks.first(), marks.last()) else {
            bail!("the kernel has no marks of mutants");
        };
        let (first, last) = (first.2, last.2 + last.3 as u64);
        let segment = kernel.segments.iter().find(|segment| {
            (segment.virtual_address..segment.virtual_address + segment.memory_size)
                .contains(&first)
        });
        let code = segment.and_then(|segment| {
            let at = |address: u64| usize::try_from(address - segment.virtual_address).ok();
            segment.data.get(at(first)?..at(last)?)
        });
        let code = code.context("the kernel's fast paths are not in one segment")?;
        let image = fs::read(&built.image)?;
        let offset = image
            .windows(code.len())
            .position(|part| part == code)
            .context("the kernel's fast paths are not in the boot image")?;
        let mut files: Vec<_> = named(FILE)
            .map(|(name, value)| (value, name.to_string()))
            .collect();
        files.sort();
        Ok(Self {
            machine: kernel.format.machine,
            image,
            first,
            offset,
            files,
            marks,
        })
    }

    /// The mutants of the marked lines, in the order of addresses.
    pub(super) fn mutants(&self, workspace: &Workspace, folder: &str) -> Result<Vec<Mutant>> {
        let mut mutants = Vec::new();
        for (file, line, address, length) in &self.marks {
            let path = format!("{folder}/{file}.s");
            let text = fs::read_to_string(workspace.path(path))?;
            let offset = self.offset + usize::try_from(address - self.first)?;
            let before = &self.image[offset..offset + LONGEST];
            let user = self.files.iter().rev().find(|(begin, _)| begin <= address);
            for (_, before_text, after) in lines::changes(&text)
                .into_iter()
                .filter(|change| change.0 == *line)
            {
                let Some(code) = code::changed(self.machine, before, *length, &after) else {
                    continue;
                };
                mutants.push(Mutant {
                    file: file.clone(),
                    user: user.map_or_else(String::new, |(_, name)| name.clone()),
                    line: *line,
                    previous: lines::previous(&text, *line)
                        .unwrap_or_default()
                        .to_string(),
                    before: before_text,
                    after,
                    offset,
                    code,
                });
            }
        }
        Ok(mutants)
    }

    /// The image of a mutant.
    pub(super) fn with(&self, mutant: &Mutant) -> Vec<u8> {
        let mut image = self.image.clone();
        image[mutant.offset..mutant.offset + mutant.code.len()].copy_from_slice(&mutant.code);
        image
    }
}

#[cfg(test)]
mod tests {
    use super::insert;

    #[test]
    fn lines_with_mutants_get_marks() {
        let text = "    cmp eax, 3\n    ja 9b\n.macro m\n    jb 9b\n.endm\n    ret\n";
        let marked = "\
.set mutants_of.call, .
    cmp eax, 3
.set mutant.call.1, .
    ja 9b
.set mutant_end.call.1, .
.macro m
.set mutant.call.3.\\@, .
    jb 9b
.set mutant_end.call.3.\\@, .
.endm
    ret
";
        assert_eq!(insert("call", text), marked);
    }
}
