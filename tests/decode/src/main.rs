//! The program that libFuzzer drives. What it finds makes it die.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    decode::play(input);
});
