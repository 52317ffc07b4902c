//! From the address of an instruction to its source function and line, including inlined functions.

use std::ops::Range;
use std::rc::Rc;

use addr2line::{Context, demangle_auto};
use anyhow::Context as _;
use gimli::{Dwarf, EndianRcSlice, RunTimeEndian, SectionId};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use serde::Serialize;

use crate::Result;

type Slice = EndianRcSlice<RunTimeEndian>;

/// Symbols and line numbers of an ELF file.
pub(crate) struct Symbols {
    lines: Context<Slice>,
    /// Start address and name of each code symbol, in the order of addresses.
    symbols: Vec<(u64, String)>,
    /// The addresses of code. Line numbers of functions that the linker has left out are at other addresses, near 0.
    code: Vec<Range<u64>>,
}

/// The source of an instruction.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Place {
    pub(crate) function: String,
    /// File and line.
    pub(crate) location: String,
}

impl Symbols {
    /// Reads the symbols of a file.
    pub(crate) fn of(file: &object::File<'_>) -> Result<Self> {
        let section = |id: SectionId| -> Result<Slice> {
            let data = file
                .section_by_name(id.name())
                .map(|section| section.data().map(Rc::from));
            let data = data.transpose()?.unwrap_or_else(|| Rc::from(Vec::new()));
            Ok(Slice::new(data, RunTimeEndian::Little))
        };
        let lines =
            Context::from_dwarf(Dwarf::load(section)?).context("the line numbers are damaged")?;
        let mut symbols: Vec<_> = file
            .symbols()
            .filter(|symbol| {
                matches!(
                    symbol.kind(),
                    SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown
                )
            })
            .filter_map(|symbol| Some((symbol.address(), symbol.name().ok()?.to_string())))
            .filter(|(_, name)| !name.is_empty() && !name.starts_with('$'))
            .collect();
        symbols.sort();
        let code = file
            .sections()
            .filter(|section| section.kind() == SectionKind::Text)
            .map(|section| section.address()..section.address() + section.size());
        Ok(Self {
            lines,
            symbols,
            code: code.collect(),
        })
    }

    /// The innermost function of the instruction at `address`, or the symbol before it where there are no line numbers.
    pub(crate) fn at(&self, address: u64) -> Place {
        let innermost = self.frames(address).into_iter().next();
        innermost.unwrap_or_else(|| Place {
            function: self.symbol(address),
            location: format!("{address:#x}"),
        })
    }

    /// The functions of the instruction at `address`, by the line numbers: the innermost one first, then
    /// those into which it was inlined.
    pub(crate) fn frames(&self, address: u64) -> Vec<Place> {
        let mut places = Vec::new();
        if !self.code.iter().any(|code| code.contains(&address)) {
            return places;
        }
        let Ok(mut frames) = self.lines.find_frames(address).skip_all_loads() else {
            return places;
        };
        while let Ok(Some(frame)) = frames.next() {
            let name = frame.function.as_ref().and_then(|it| it.demangle().ok());
            // Debug information with line tables only names just the inlined functions.
            let name = name.unwrap_or_else(|| demangle_auto(self.symbol(address).into(), None));
            let location = frame.location;
            let file = location
                .as_ref()
                .and_then(|location| location.file)
                .unwrap_or("?");
            let file = file.rsplit('/').take(2).collect::<Vec<_>>();
            let file = file.into_iter().rev().collect::<Vec<_>>().join("/");
            let line = location.and_then(|location| location.line).unwrap_or(0);
            places.push(Place {
                function: short(&name),
                location: format!("{file}:{line}"),
            });
        }
        places
    }

    /// The last symbol at or below `address`.
    fn symbol(&self, address: u64) -> String {
        let behind = self.symbols.partition_point(|&(begin, _)| begin <= address);
        behind
            .checked_sub(1)
            .map_or_else(|| format!("{address:#x}"), |at| self.symbols[at].1.clone())
    }
}

/// A name without its generic arguments and its hash.
fn short(name: &str) -> String {
    let (mut text, mut depth) = (String::new(), 0_usize);
    for character in name.chars() {
        match character {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            _ if depth == 0 => text.push(character),
            _ => {}
        }
    }
    let text = text.replace("::::", "::");
    let text = text.trim_start_matches("::");
    match text.rsplit_once("::h") {
        Some((name, hash)) if hash.len() == 16 => name.to_string(),
        _ => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_short() {
        assert_eq!(
            short("kernel::Kernel<A>::enter::h0123456789abcdef"),
            "kernel::Kernel::enter"
        );
        assert_eq!(short("<kernel::Kernel<A>>::enter"), "enter");
    }
}
