//! Reading the ELF file of a component.

use crate::Error;
use abi::Rights;
use object::Endianness;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};

#[cfg(target_pointer_width = "32")]
type Header = elf::FileHeader32<Endianness>;
#[cfg(target_pointer_width = "64")]
type Header = elf::FileHeader64<Endianness>;

const MACHINE: elf::Machine = if abi::config::X86_64 {
    elf::EM_X86_64
} else if abi::config::AARCH64 {
    elf::EM_AARCH64
} else {
    elf::EM_ARM
};

/// A program that can be loaded.
#[derive(Clone, Copy)]
pub struct Program<'a> {
    bytes: &'a [u8],
    header: &'a Header,
    endian: Endianness,
}

/// A part of a program that is loaded as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Where it goes.
    pub address: usize,
    /// How many bytes it takes there.
    pub size: usize,
    /// What the first of them are; the rest is zero.
    pub contents: &'a [u8],
    /// Read, and write if the program may.
    pub rights: Rights,
    /// Whether it is code.
    pub execute: bool,
}

impl<'a> Program<'a> {
    /// Checks that `bytes` are a program for this machine.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = Header::parse(bytes).map_err(|_| Error::BadProgram("not an ELF file"))?;
        let bad = |_| Error::BadProgram("the ELF header is damaged");
        let endian = header.endian().map_err(bad)?;
        if header.e_machine(endian) != MACHINE {
            return Err(Error::BadProgram("for another machine"));
        }
        if header.e_type(endian) != elf::ET_EXEC {
            return Err(Error::BadProgram("not linked to fixed addresses"));
        }
        let program = Self {
            bytes,
            header,
            endian,
        };
        for segment in program.segments()? {
            segment?;
        }
        Ok(program)
    }

    /// Where it starts.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the field is u32 on 32-bit machines"
    )]
    pub fn entry(&self) -> usize {
        self.header.e_entry(self.endian) as usize
    }

    /// Its segments.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the fields are u32 on 32-bit machines"
    )]
    pub fn segments(
        &self,
    ) -> Result<impl Iterator<Item = Result<Segment<'a>, Error>> + use<'a>, Error> {
        let damaged = Error::BadProgram("the program headers are damaged");
        let (bytes, endian) = (self.bytes, self.endian);
        let headers = self
            .header
            .program_headers(endian, bytes)
            .map_err(|_| damaged)?;
        Ok(headers
            .iter()
            .filter(move |header| {
                header.p_type(endian) == elf::PT_LOAD && header.p_memsz(endian) > 0
            })
            .map(move |header| {
                let contents = header.data(endian, bytes).map_err(|()| damaged)?;
                let address = header.p_vaddr(endian) as usize;
                let size = header.p_memsz(endian) as usize;
                if contents.len() > size || address.checked_add(size).is_none() {
                    return Err(damaged);
                }
                let flags = header.p_flags(endian);
                Ok(Segment {
                    address,
                    size,
                    contents,
                    rights: if flags.contains(elf::PF_W) {
                        Rights::READ_WRITE
                    } else {
                        Rights::READ
                    },
                    execute: flags.contains(elf::PF_X),
                })
            }))
    }
}
