//! Passes the linker scripts of the image.

use std::env;

fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let architecture = format!("{here}/../../arch/armv8");
    println!("cargo:rustc-link-arg=-L{architecture}");
    println!("cargo:rustc-link-arg=-T{here}/link.ld");
    println!("cargo:rerun-if-changed={here}/link.ld");
    println!("cargo:rerun-if-changed={architecture}/kernel.ld");
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}
