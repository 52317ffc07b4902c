//! The program that libFuzzer drives. A finding makes it panic.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    kernel_fuzz_host::play(input);
});
