//! ELF executables reduced to what a loader uses: an entry point and loadable segments. Boards' files differ
//! only in class and machine; all are little-endian.

use anyhow::{Context, bail};
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader as _, Sym as _};
use serde::Deserialize;

use crate::Result;

/// 32- or 64-bit.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    Elf32,
    Elf64,
}

/// The architecture of a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Machine {
    I386,
    #[serde(rename = "x86-64")]
    X86_64,
    Arm,
    Aarch64,
}

impl Machine {
    fn number(self) -> elf::Machine {
        match self {
            Self::I386 => elf::EM_386,
            Self::X86_64 => elf::EM_X86_64,
            Self::Arm => elf::EM_ARM,
            Self::Aarch64 => elf::EM_AARCH64,
        }
    }

    fn from_number(number: elf::Machine) -> Option<Self> {
        [Self::I386, Self::X86_64, Self::Arm, Self::Aarch64]
            .into_iter()
            .find(|machine| machine.number() == number)
    }
}

/// The properties by which a loader distinguishes ELF files.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Format {
    pub(crate) class: Class,
    pub(crate) machine: Machine,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bits = if self.class == Class::Elf32 { 32 } else { 64 };
        let machine = match self.machine {
            Machine::I386 => "i386",
            Machine::X86_64 => "x86-64",
            Machine::Arm => "Arm",
            Machine::Aarch64 => "AArch64",
        };
        write!(f, "{bits}-bit {machine}")
    }
}

/// One loadable segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) virtual_address: u64,
    pub(crate) physical_address: u64,
    /// Its contents in the file.
    pub(crate) data: Vec<u8>,
    /// Its size in memory; zeros follow the data.
    pub(crate) memory_size: u64,
    /// Permissions.
    pub(crate) flags: elf::ProgramFlags,
}

/// An executable.
#[derive(Clone, Debug)]
pub(crate) struct Executable {
    pub(crate) format: Format,
    /// Flags that some architectures require in the written file.
    pub(crate) flags: elf::FileFlags,
    pub(crate) entry: u64,
    pub(crate) segments: Vec<Segment>,
    /// Linked to a fixed address, without dynamic linking.
    pub(crate) is_static: bool,
    pub(crate) symbols: Vec<(String, u64)>,
}

impl Executable {
    /// Reads the executable in `bytes`.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self> {
        if !bytes.starts_with(&elf::ELFMAG) {
            bail!("it is not an ELF file");
        }
        match bytes.get(4) {
            Some(1) => Self::parse_class::<elf::FileHeader32<Endianness>>(bytes, Class::Elf32),
            Some(2) => Self::parse_class::<elf::FileHeader64<Endianness>>(bytes, Class::Elf64),
            _ => bail!("it is neither a 32-bit nor a 64-bit ELF file"),
        }
    }

    fn parse_class<Header>(bytes: &[u8], class: Class) -> Result<Self>
    where
        Header: FileHeader<Endian = Endianness>,
    {
        let header = Header::parse(bytes).context("its header is damaged")?;
        let endian = header.endian().context("its header is damaged")?;
        if endian != Endianness::Little {
            bail!("it is big-endian");
        }
        let number = header.e_machine(endian);
        let machine = Machine::from_number(number)
            .with_context(|| format!("it is for an unknown machine (number {})", number.0))?;
        let mut is_static = header.e_type(endian) == elf::ET_EXEC;
        let mut segments = Vec::new();
        let mut room = bytes.len();
        let headers = header
            .program_headers(endian, bytes)
            .context("its program headers are damaged")?;
        for program in headers {
            let kind = program.p_type(endian);
            is_static &= kind != elf::PT_INTERP && kind != elf::PT_DYNAMIC;
            if kind != elf::PT_LOAD {
                continue;
            }
            let data = program
                .data(endian, bytes)
                .ok()
                .context("one of its segments lies outside of the file")?;
            // Thousands of headers could name the same large part of a file.
            room = room
                .checked_sub(data.len())
                .context("its segments overlap in the file")?;
            let segment = Segment {
                virtual_address: program.p_vaddr(endian).into(),
                physical_address: program.p_paddr(endian).into(),
                data: data.to_vec(),
                memory_size: program.p_memsz(endian).into(),
                flags: program.p_flags(endian),
            };
            segment.check()?;
            if segment.memory_size > 0 {
                segments.push(segment);
            }
        }
        Ok(Self {
            format: Format { class, machine },
            flags: header.e_flags(endian),
            entry: header.e_entry(endian).into(),
            segments,
            is_static,
            symbols: symbols(header, endian, bytes).unwrap_or_default(),
        })
    }

    /// The value of the symbol `name`.
    pub(crate) fn symbol(&self, name: &str) -> Option<u64> {
        self.symbols
            .iter()
            .find(|(known, _)| known == name)
            .map(|&(_, value)| value)
    }

    /// A file with the parts that a loader needs: headers and segments, no sections.
    pub(crate) fn write(&self) -> Result<Vec<u8>> {
        /// Segments begin at file offsets congruent to their addresses, as ELF requires.
        const ALIGNMENT: u64 = 16;

        let mut bytes = Vec::new();
        let is_64 = self.format.class == Class::Elf64;
        let mut writer = object::write::elf::Writer::new(Endianness::Little, is_64, &mut bytes);
        writer.reserve_file_header();
        let count = u32::try_from(self.segments.len()).context("too many segments")?;
        writer.reserve_program_headers(count);
        let mut offsets = Vec::new();
        for segment in &self.segments {
            let offset = writer.reserve(0, ALIGNMENT) + segment.virtual_address % ALIGNMENT;
            writer.reserve_until(offset);
            writer.reserve(segment.data.len() as u64, 1);
            offsets.push(offset);
        }
        writer.write_file_header(&object::write::elf::FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: elf::ET_EXEC,
            e_machine: self.format.machine.number(),
            e_entry: self.entry,
            e_flags: self.flags,
        })?;
        writer.write_align_program_headers();
        for (segment, &offset) in self.segments.iter().zip(&offsets) {
            writer.write_program_header(&object::write::elf::ProgramHeader {
                p_type: elf::PT_LOAD,
                p_flags: segment.flags,
                p_offset: offset,
                p_vaddr: segment.virtual_address,
                p_paddr: segment.physical_address,
                p_filesz: segment.data.len() as u64,
                p_memsz: segment.memory_size,
                p_align: ALIGNMENT,
            });
        }
        for (segment, offset) in self.segments.iter().zip(offsets) {
            writer.pad_until(offset);
            writer.write(&segment.data);
        }
        Ok(bytes)
    }
}

impl Segment {
    /// Refuses sizes and addresses that would overflow in a loader's arithmetic.
    pub(super) fn check(&self) -> Result<()> {
        let wraps = |start: u64| start.checked_add(self.memory_size).is_none();
        if wraps(self.virtual_address) || wraps(self.physical_address) {
            bail!("one of its segments wraps around the end of the address space");
        }
        if (self.data.len() as u64) > self.memory_size {
            bail!("one of its segments has more data than memory");
        }
        Ok(())
    }

    pub(crate) fn virtual_end(&self) -> u64 {
        self.virtual_address + self.memory_size
    }

    pub(crate) fn physical_end(&self) -> u64 {
        self.physical_address + self.memory_size
    }
}

/// All symbols with a name.
fn symbols<Header>(
    header: &Header,
    endian: Endianness,
    bytes: &[u8],
) -> object::Result<Vec<(String, u64)>>
where
    Header: FileHeader<Endian = Endianness>,
{
    let sections = header.sections(endian, bytes)?;
    let table = sections.symbols(endian, bytes, elf::SHT_SYMTAB)?;
    let named = table.iter().filter_map(|symbol| {
        let name = std::str::from_utf8(symbol.name(endian, table.strings()).ok()?).ok()?;
        (!name.is_empty()).then(|| (name.to_string(), symbol.st_value(endian).into()))
    });
    Ok(named.collect())
}
