//! Passes the link script of an image: of pc99, or of a program that runs before a kernel.

use std::env;

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg=-T{here}/link.ld");
    println!("cargo:rerun-if-changed={here}/link.ld");
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}
