//! Tests for large machines that only the root task can do: that all memory was handed out, and that a large
//! program was loaded completely.

use userlib::{BootInfo, archive, println};

/// The parameter with the machine's memory in MiB.
const MEMORY: &str = "memory";
const IS_LARGE: bool = cfg!(feature = "large");

/// The maximum size of the boot image, the kernel and this program, in MiB.
const OVERHEAD: u64 = 64;

/// The memory within the kernel's window, in MiB; memory beyond is handed out as device memory.
const WINDOW: u64 = if cfg!(target_pointer_width = "64") {
    1 << 20
} else {
    496
};

/// Words that make this program several MiB large.
const WORDS: usize = if IS_LARGE { 2 << 20 } else { 1 };
static BALLAST: [u32; WORDS] = {
    let mut words = [0; WORDS];
    // A word in each page; a loop over all words would take the compiler minutes.
    let mut index = 0;
    while index < WORDS {
        words[index] = word(index);
        index += 1024;
    }
    words
};

const fn word(index: usize) -> u32 {
    (index as u32 + 1).wrapping_mul(0x9e37_79b9)
}

/// Runs the tests of large machines, if this is one; returns the numbers of passed and failed tests.
pub fn test(boot: &BootInfo) -> (usize, usize) {
    if !IS_LARGE {
        return (0, 0);
    }
    let (mut passed, mut failed) = (0, 0);
    let mut tell = |name, result: bool| {
        let (count, verdict) = match result {
            true => (&mut passed, "ok"),
            false => (&mut failed, "FAILED: see its source"),
        };
        *count += 1;
        println!("test machine::{name} ... {verdict}");
    };
    tell("all_memory_is_given", all_memory_is_given(boot));
    tell("large_programs_are_whole", large_programs_are_whole());
    (passed, failed)
}

fn all_memory_is_given(boot: &BootInfo) -> bool {
    let expected: u64 = archive::parameter(MEMORY).parse().unwrap_or(0);
    let untypeds = &boot.untyped_list[..boot.untyped.len()];
    let sum = |device| -> u64 {
        let bytes = untypeds
            .iter()
            .filter(|untyped| device || untyped.is_device == 0)
            .map(|untyped| 1 << untyped.size_bits);
        bytes.sum::<u64>() >> 20
    };
    sum(false) >= expected.min(WINDOW) - OVERHEAD && sum(true) >= expected - OVERHEAD
}

fn large_programs_are_whole() -> bool {
    let words = core::hint::black_box(&BALLAST);
    words.chunks(1024).enumerate().all(|(page, words)| {
        words[0] == word(page * 1024) && words[1..].iter().all(|&word| word == 0)
    })
}
