//! Reader of components' ELF files.

use crate::Error;
use abi::Rights;
use abi::sizes::PAGE_BITS;
use elf::ElfBytes;
use elf::abi::{EM_AARCH64, EM_ARM, EM_X86_64, ET_EXEC, PF_W, PF_X, PT_LOAD};
use elf::endian::LittleEndian;
use elf::file::Class;
use elf::segment::ProgramHeader;

const MACHINE: u16 = if abi::config::X86_64 {
    EM_X86_64
} else if abi::config::AARCH64 {
    EM_AARCH64
} else {
    EM_ARM
};

const CLASS: Class = if abi::WORD_BITS == 64 {
    Class::ELF64
} else {
    Class::ELF32
};

/// A valid program for this machine.
pub struct Program<'a> {
    file: ElfBytes<'a, LittleEndian>,
}

/// A loadable segment of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Its virtual address.
    pub address: usize,
    /// Its size in memory.
    pub size: usize,
    /// The contents of its first bytes; the remaining ones are zero.
    pub contents: &'a [u8],
    /// Its access rights: read, and write if the segment is writable.
    pub rights: Rights,
    /// Whether it is executable.
    pub execute: bool,
}

const DAMAGED: Error = Error::BadProgram("its program headers are damaged");

impl<'a> Program<'a> {
    /// Checks that `bytes` are a program for this machine.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let file = ElfBytes::minimal_parse(bytes)
            .map_err(|_| Error::BadProgram("it is not a little-endian ELF file"))?;
        if file.ehdr.class != CLASS || file.ehdr.e_machine != MACHINE {
            return Err(Error::BadProgram("it is for another machine"));
        }
        if file.ehdr.e_type != ET_EXEC {
            return Err(Error::BadProgram("it is not linked to fixed addresses"));
        }
        let program = Self { file };
        program
            .segments()
            .try_for_each(|segment| segment.map(drop))?;
        Ok(program)
    }

    /// Its entry point.
    pub fn entry(&self) -> usize {
        self.file.ehdr.e_entry as usize
    }

    /// Its segments.
    pub fn segments(&self) -> impl Iterator<Item = Result<Segment<'a>, Error>> + '_ {
        let headers = self.file.segments();
        headers
            .into_iter()
            .flat_map(|headers| headers.iter())
            .filter(|header| header.p_type == PT_LOAD && header.p_memsz > 0)
            .map(|header| self.segment(&header))
    }

    /// The number of pages of all segments.
    pub fn pages(&self) -> Result<usize, Error> {
        let pages = |segment: Segment| segment.size.div_ceil(1 << PAGE_BITS);
        self.segments().map(|segment| segment.map(pages)).sum()
    }

    fn segment(&self, header: &ProgramHeader) -> Result<Segment<'a>, Error> {
        let contents = self.file.segment_data(header).map_err(|_| DAMAGED)?;
        let address = usize::try_from(header.p_vaddr).map_err(|_| DAMAGED)?;
        let size = usize::try_from(header.p_memsz).map_err(|_| DAMAGED)?;
        if contents.len() > size || address.checked_add(size).is_none() {
            return Err(DAMAGED);
        }
        Ok(Segment {
            address,
            size,
            contents,
            rights: if header.p_flags & PF_W != 0 {
                Rights::READ_WRITE
            } else {
                Rights::READ
            },
            execute: header.p_flags & PF_X != 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one segment of 3 bytes at 0x40_0000, for the host's word size.
    fn file() -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for half in [ET_EXEC, MACHINE] {
            bytes.extend(half.to_le_bytes());
        }
        bytes.extend(1u32.to_le_bytes());
        for word in [0x40_0010u64, 64, 0] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend(0u32.to_le_bytes());
        for half in [64u16, 56, 1, 0, 0, 0] {
            bytes.extend(half.to_le_bytes());
        }
        for word in [PT_LOAD, PF_X] {
            bytes.extend(word.to_le_bytes());
        }
        for word in [120u64, 0x40_0000, 0x40_0000, 3, 0x2000, 0x1000] {
            bytes.extend(word.to_le_bytes());
        }
        bytes.extend([1, 2, 3]);
        bytes
    }

    #[test]
    fn segments_are_read() {
        let bytes = file();
        let program = Program::parse(&bytes).unwrap();
        assert_eq!(program.entry(), 0x40_0010);
        let segments: Vec<_> = program.segments().collect();
        let expected = Segment {
            address: 0x40_0000,
            size: 0x2000,
            contents: &[1, 2, 3],
            rights: Rights::READ,
            execute: true,
        };
        assert_eq!(segments, [Ok(expected)]);
        assert_eq!(program.pages(), Ok(2));
    }

    #[test]
    fn damaged_files_are_refused_or_valid() {
        let mut state = 7_u64;
        let mut next = |below: usize| {
            // Knuth, *The Art of Computer Programming*, volume 2, section 3.3.4.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut valid = 0;
        for _ in 0..20_000 {
            let mut bytes = file();
            for _ in 0..=next(3) {
                let place = next(bytes.len());
                bytes[place] = [0, 1, 0x38, 0x7f, 0x80, 0xff][next(6)];
            }
            let Ok(program) = Program::parse(&bytes) else {
                continue;
            };
            valid += 1;
            for segment in program.segments() {
                let segment = segment.unwrap();
                assert!(segment.contents.len() <= segment.size);
                assert!(segment.address.checked_add(segment.size).is_some());
            }
        }
        assert!(valid > 1_000, "{valid}");
    }

    #[test]
    fn garbage_is_refused() {
        assert!(Program::parse(&[]).is_err());
        assert!(Program::parse(b"#!/bin/sh").is_err());
        let good = file();
        for cut in 0..good.len() {
            assert!(Program::parse(&good[..cut]).is_err(), "cut at {cut}");
        }
        for (place, value) in [(4, 1), (5, 2), (16, 3), (18, 0xff)] {
            let mut bad = good.clone();
            bad[place] = value;
            assert!(Program::parse(&bad).is_err(), "byte {place}");
        }
        let mut wraps = good;
        wraps[64 + 16..64 + 24].fill(0xff);
        assert_eq!(Program::parse(&wraps).err(), Some(DAMAGED));
    }
}
