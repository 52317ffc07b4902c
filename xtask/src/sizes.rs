//! The sizes of the parts of a boot image.

use anyhow::Context;
use object::elf::SHF_ALLOC;
use object::{Object, ObjectSection, ObjectSymbol, SectionFlags, SectionKind, SymbolKind};

use crate::Result;

/// Bytes by kind of section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Code and constants.
    pub(crate) text: u64,
    /// Initialised variables.
    pub(crate) data: u64,
    /// Variables that begin as zero.
    pub(crate) bss: u64,
}

impl Sizes {
    /// The sizes of the ELF file in `bytes`, from its sections.
    pub(crate) fn of(bytes: &[u8]) -> Result<Self> {
        let file = object::File::parse(bytes)?;
        let mut sizes = Self::default();
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
                continue;
            };
            if !sh_flags.contains(SHF_ALLOC) {
                continue;
            }
            match section.kind() {
                SectionKind::Data | SectionKind::Tls => sizes.data += section.size(),
                SectionKind::UninitializedData | SectionKind::UninitializedTls => {
                    sizes.bss += section.size();
                }
                _ => sizes.text += section.size(),
            }
        }
        Ok(sizes)
    }
}

/// The size in bytes of the variable of the ELF file in `bytes` with one of these names, or of a longer path.
pub(crate) fn of_variable(bytes: &[u8], names: &[&str]) -> Result<u64> {
    let file = object::File::parse(bytes)?;
    let symbol = file.symbols().find(|symbol| {
        let name = symbol.name().unwrap_or_default();
        symbol.kind() == SymbolKind::Data && names.iter().any(|known| name.contains(known))
    });
    let symbol =
        symbol.with_context(|| format!("there is no variable `{}`", names.join("` or `")))?;
    Ok(symbol.size())
}

/// A table of named sizes.
pub(crate) fn table(rows: &[(String, Sizes)]) -> String {
    let width = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut table = format!("{:width$} {:>9} {:>9} {:>9}", "", "text", "data", "bss");
    for (name, Sizes { text, data, bss }) in rows {
        table.push_str(&format!("\n{name:width$} {text:>9} {data:>9} {bss:>9}"));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_has_a_size() {
        use object::write;
        let (format, architecture) = (object::BinaryFormat::Elf, object::Architecture::X86_64);
        let mut file = write::Object::new(format, architecture, object::Endianness::Little);
        let section = file.section_id(write::StandardSection::UninitializedData);
        for (name, kind, size) in [
            ("handle_KERNELS", SymbolKind::Text, 7),
            ("_RN4pc995state7KERNELS", SymbolKind::Data, 53_888),
        ] {
            file.add_symbol(write::Symbol {
                name: name.into(),
                value: 0,
                size,
                kind,
                scope: object::SymbolScope::Compilation,
                weak: false,
                section: write::SymbolSection::Section(section),
                flags: object::SymbolFlags::None,
            });
        }
        let bytes = file.write().unwrap();
        let names = ["kernel_state", "KERNELS"];
        assert_eq!(of_variable(&bytes, &names).unwrap(), 53_888);
        assert!(of_variable(&bytes, &names[..1]).is_err());
    }

    #[test]
    fn columns_line_up() {
        let sizes = Sizes {
            text: 12345,
            data: 6,
            bss: 0,
        };
        let table = table(&[("kernel".into(), sizes), ("x".into(), Sizes::default())]);
        let widths: Vec<_> = table.lines().map(str::len).collect();
        assert_eq!(widths, [36, 36, 36]);
    }
}
