use object::elf as abi;

use super::elf::{Class, Machine};
use super::*;

const ARM: Format = Format {
    class: Class::Elf32,
    machine: Machine::Arm,
};
const X86_64: Format = Format {
    class: Class::Elf64,
    machine: Machine::X86_64,
};
const I386: Format = Format {
    class: Class::Elf32,
    machine: Machine::I386,
};
const MEMORY: u64 = 512 << 20;

fn segment(virtual_address: u64, physical_address: u64, data: &[u8], memory_size: u64) -> Segment {
    let flags = abi::PF_R | abi::PF_X;
    Segment {
        virtual_address,
        physical_address,
        data: data.to_vec(),
        memory_size,
        flags,
    }
}

fn executable(format: Format, entry: u64, segments: Vec<Segment>) -> Executable {
    let flags = abi::FileFlags(0);
    Executable {
        format,
        flags,
        entry,
        segments,
        is_static: true,
        symbols: Vec::new(),
    }
}

/// A kernel linked at 0xffff_ffff_8010_0000 and loaded at 1 MiB, with its variable after 16 bytes of code,
/// and its end at 0x10_1234.
fn kernel() -> Executable {
    const BASE: u64 = 0xffff_ffff_8010_0000;
    let mut data = vec![0x90; 16];
    data.extend(MAGIC.to_le_bytes());
    data.extend([0; 40]);
    let mut kernel = executable(X86_64, BASE, vec![segment(BASE, 0x10_0000, &data, 0x1234)]);
    kernel.symbols = vec![(START.into(), 0x10_0004), (ROOT_TASK.into(), BASE + 16)];
    kernel
}

/// A root task with code at 0x40_0010 and bss up to 0x40_3001.
fn task() -> Executable {
    let code = segment(0x40_0010, 0, &[1, 2, 3], 3);
    let data = segment(0x40_2000, 0, &[4], 0x1001);
    executable(X86_64, 0x40_0010, vec![data, code])
}

#[test]
fn what_is_written_can_be_read() {
    for format in [ARM, X86_64] {
        let written = executable(format, 0x8004, vec![segment(0x8004, 0x1_8004, &[7; 5], 9)]);
        let read = Executable::parse(&written.write().unwrap()).unwrap();
        assert_eq!(read.format, format);
        assert_eq!(read.entry, written.entry);
        assert_eq!(read.segments, written.segments);
        assert!(read.is_static);
    }
}

#[test]
fn the_root_task_stands_behind_the_kernel() {
    let image = assemble(&kernel(), &task(), None, I386).unwrap();
    let image = Executable::parse(&image).unwrap();
    assert_eq!(image.format, I386);
    assert_eq!(image.entry, 0x10_0004);

    let [kernel, code, data] = &image.segments[..] else {
        panic!("{} segments", image.segments.len())
    };
    assert_eq!(
        (kernel.virtual_address, kernel.physical_address),
        (0x10_0000, 0x10_0000)
    );
    let place = |segment: &Segment| (segment.physical_address, segment.virtual_address);
    assert_eq!(place(code), (0x11_0000, 0x11_0000));
    assert_eq!(place(data), (0x11_2000, 0x11_2000));
    assert_eq!(code.memory_size, 0x2000, "up to the next piece");
    assert_eq!(data.memory_size, 0x2000);
    assert_eq!(data.data, [4], "bss stays out of the file");
    assert_eq!(code.data.len(), 0x13);
    assert_eq!(code.data[0x10..0x13], [1, 2, 3]);
}

#[test]
fn segments_that_share_a_page_are_one_piece() {
    let segments = vec![
        segment(0x40_3000, 0, &[5], 1),
        segment(0x40_0010, 0, &[1], 0x1000),
        segment(0x40_1800, 0, &[2], 0x10),
    ];
    let pieces = pieces(&executable(X86_64, 0x40_0010, segments)).unwrap();
    let [(start, end, first), (next, last, second)] = &pieces[..] else {
        panic!("{} pieces", pieces.len())
    };
    assert_eq!(
        (*start, *end, *next, *last),
        (0x40_0000, 0x40_3000, 0x40_3000, 0x40_4000)
    );
    assert_eq!((first[0x10], first[0x1800], first.len()), (1, 2, 0x1801));
    assert_eq!(second, &[5]);
}

#[test]
fn an_archive_stands_behind_the_root_task_that_uses_it() {
    for (format, word) in [(X86_64, 8), (ARM, 4)] {
        let mut task = executable(
            format,
            0x40_0000,
            vec![segment(0x40_0000, 0, &[0; 32], 0x1234)],
        );
        attach(&mut task, b"archive".to_vec()).unwrap();
        assert_eq!(task.segments.len(), 1, "it has no variable");
        task.symbols = vec![(ARCHIVE.into(), 0x40_0008)];
        attach(&mut task, b"archive".to_vec()).unwrap();
        let [program, archive] = &task.segments[..] else {
            panic!("{} segments", task.segments.len())
        };
        assert_eq!(
            (archive.virtual_address, &*archive.data),
            (0x40_2000, &b"archive"[..])
        );
        let mut words = [0; 16];
        words[..word][..4].copy_from_slice(&0x40_2000_u32.to_le_bytes());
        words[word] = 7;
        assert_eq!(program.data[8..8 + 2 * word], words[..2 * word]);
        task.symbols = vec![(ARCHIVE.into(), 0x40_0100)];
        assert!(
            attach(&mut task, Vec::new()).is_err(),
            "the variable is in bss"
        );
    }
}

#[test]
fn the_kernel_is_told_where_the_root_task_is() {
    let image = Executable::parse(&assemble(&kernel(), &task(), None, I386).unwrap()).unwrap();
    let words: Vec<_> = image.segments[0].data[16..64]
        .chunks_exact(8)
        .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
        .collect();
    assert_eq!(
        words,
        [MAGIC, 0x11_0000, 0x11_4000, 0x40_0000, 0x40_4000, 0x40_0010]
    );
}

#[test]
fn the_multiboot_header_stays_within_the_first_8_kib() {
    let image = assemble(&kernel(), &task(), None, I386).unwrap();
    let code = image.windows(16).position(|bytes| bytes == [0x90; 16]);
    assert!(code.unwrap() < 4096);
}

#[test]
fn a_kernel_that_cannot_take_a_root_task_is_refused() {
    let error = |kernel: &Executable| {
        assemble(kernel, &task(), None, I386)
            .unwrap_err()
            .to_string()
    };

    let mut nameless = kernel();
    nameless.symbols.pop();
    assert!(error(&nameless).contains("no symbol `ROOT_TASK`"));

    let mut unmarked = kernel();
    unmarked.segments[0].data[16] ^= 1;
    assert!(error(&unmarked).contains("magic"));

    let mut truncated = kernel();
    truncated.segments[0].data.truncate(63);
    assert!(error(&truncated).contains("not in initialised memory"));

    let mut overlapping = kernel();
    overlapping.segments.push(segment(0, 0x10_0800, &[1], 1));
    assert!(error(&overlapping).contains("overlap"));

    let mut high = kernel();
    high.segments[0].physical_address = 0xffff_0000;
    assert!(error(&high).contains("do not fit"));
}

#[test]
fn a_good_root_task_is_taken() {
    let bytes = task().write().unwrap();
    assert!(root_task(&bytes, None, X86_64, MEMORY).is_ok());
}

#[test]
fn a_bad_root_task_is_refused_with_a_reason() {
    let error = |task: &[u8]| {
        root_task(task, None, X86_64, MEMORY)
            .unwrap_err()
            .to_string()
    };
    let good = task().write().unwrap();

    assert_eq!(error(b""), "it is not an ELF file");
    assert_eq!(error(b"#!/bin/sh"), "it is not an ELF file");
    assert_eq!(
        error(b"\x7fELF"),
        "it is neither a 32-bit nor a 64-bit ELF file"
    );
    assert_eq!(error(&good[..20]), "its header is damaged");
    assert_eq!(
        error(&good[..good.len() - 1]),
        "one of its segments lies outside of the file"
    );

    let arm = executable(ARM, 0x8000, vec![segment(0x8000, 0, &[1], 1)])
        .write()
        .unwrap();
    let words = "it is a 32-bit Arm program, and this platform runs 64-bit x86-64 programs";
    assert_eq!(error(&arm), words);

    let mut relocatable = good.clone();
    relocatable[16] = 3; // ET_DYN
    assert_eq!(
        error(&relocatable),
        "it is not statically linked to a fixed address"
    );

    let mut shared = good.clone();
    let size = (good.len() as u64).to_le_bytes();
    for header in [64, 120] {
        shared[header + 8..header + 16].fill(0);
        shared[header + 32..header + 40].copy_from_slice(&size);
        shared[header + 40..header + 48].copy_from_slice(&size);
    }
    assert_eq!(error(&shared), "its segments overlap in the file");

    let empty = executable(X86_64, 0, Vec::new()).write().unwrap();
    assert_eq!(error(&empty), "it has nothing to load");

    let lost = executable(X86_64, 0, task().segments).write().unwrap();
    assert!(error(&lost).contains("entry point 0x0 lies outside"));

    let vast = vec![segment(0x1000, 0, &[1], 1), segment(1 << 40, 0, &[1], 1)];
    assert!(error(&executable(X86_64, 0x1000, vast).write().unwrap()).contains("more than"));

    let wrapping = vec![segment(u64::MAX - 1, 0, &[1], 4)];
    assert!(error(&executable(X86_64, 0, wrapping).write().unwrap()).contains("wraps around"));

    let highest = vec![segment(u64::MAX - 1, 0, &[1], 1)];
    assert!(
        root_task(
            &executable(X86_64, 0, highest).write().unwrap(),
            None,
            X86_64,
            MEMORY
        )
        .is_err()
    );
}

#[test]
fn damaged_files_never_end_in_a_panic() {
    let good = task().write().unwrap();
    for position in 0..good.len().min(256) {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = good.clone();
            damaged[position] = value;
            if let Ok(task) = root_task(&damaged, None, X86_64, MEMORY) {
                let _ = assemble(&kernel(), &task, None, I386);
            }
        }
    }
}

#[test]
fn a_stub_is_entered_first_and_knows_the_kernel() {
    const AARCH64: Format = Format {
        class: Class::Elf64,
        machine: Machine::Aarch64,
    };
    let mut stub = executable(
        AARCH64,
        0x8_0000,
        vec![segment(0x8_0000, 0x8_0000, &[0; 24], 24)],
    );
    stub.symbols = vec![(KERNEL_ENTRY.into(), 0x8_0010)];
    let image = assemble(&kernel(), &task(), Some(&stub), AARCH64).unwrap();
    let image = Executable::parse(&image).unwrap();
    assert_eq!((image.format, image.entry), (AARCH64, 0x8_0000));
    assert_eq!(image.segments.len(), 4);
    assert_eq!(image.segments[0].physical_address, 0x8_0000);
    assert_eq!(image.segments[0].data[16..], 0x10_0004_u64.to_le_bytes());

    let forgetful = executable(AARCH64, 0, stub.segments.clone());
    assert!(assemble(&kernel(), &task(), Some(&forgetful), AARCH64).is_err());
}

#[test]
fn a_loader_knows_kernel_and_root_task_and_the_kernel_nothing() {
    let mut loader = executable(
        X86_64,
        0x7000_0000,
        vec![segment(0x7000_0000, 0x7000_0000, &[0; 60], 60)],
    );
    loader.symbols = vec![(LOADED.into(), 0x7000_0004)];
    let image = assemble(&kernel(), &task(), Some(&loader), X86_64).unwrap();
    let image = Executable::parse(&image).unwrap();
    assert_eq!(image.entry, 0x7000_0000);
    let words: Vec<_> = (image.segments.last().unwrap().data[4..].chunks(8))
        .map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    let base = 0xffff_ffff_8010_0000;
    let offset = 0x11_0000_u64.wrapping_sub(0x40_0000);
    assert_eq!(
        words,
        [
            base, base, 0x10_0000, 0x11_0000, 0x11_4000, offset, 0x40_0010
        ]
    );
    let [kernel, ..] = &image.segments[..] else {
        panic!("no segments")
    };
    assert_eq!(kernel.data[24..64], [0; 40], "the kernel's variable");
}
