//! Passes the linker script of the stub.

use std::env;

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg=-T{here}/link.ld");
    println!("cargo:rerun-if-changed={here}/link.ld");
}
