//! Passes the linker scripts of the image, and writes the device tree.

mod device_tree;

use std::path::Path;
use std::{env, fs};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let blob = device_tree::blob().expect("the tree is well formed");
    fs::write(Path::new(&out).join("device_tree.dtb"), blob).expect("cargo made the folder");
    println!("cargo:rerun-if-changed=device_tree.rs");
    println!("cargo:rerun-if-changed=build.rs");
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let architecture = format!("{here}/../../arch/arm");
    println!("cargo:rustc-link-arg=-L{architecture}");
    println!("cargo:rustc-link-arg=-T{here}/link.ld");
    println!("cargo:rerun-if-changed={here}/link.ld");
    println!("cargo:rerun-if-changed={architecture}/aarch32.ld");
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}
