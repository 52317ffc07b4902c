//! Aligns the segments for large frames of every architecture (2 MiB on 64-bit processors, 64 KiB and 1 MiB
//! on others), so that the runner loads them only once for all tests.

fn main() {
    println!("cargo:rustc-link-arg-bins=--defsym=segment_align=0x200000");
}
