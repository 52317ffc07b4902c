//! Passes the linker scripts of an image: the platform's own, and the one of its architecture that it
//! includes.

use std::env;

/// The build script of most platforms; those that build more call it from their own.
pub fn main() {
    let here = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rustc-link-arg=-T{here}/link.ld");
    println!("cargo:rerun-if-changed={here}/link.ld");
    let shared = match env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("arm") => Some(("arm", "aarch32.ld")),
        Ok("aarch64") => Some(("armv8", "kernel.ld")),
        _ => None,
    };
    if let Some((architecture, script)) = shared {
        let folder = format!("{here}/../../arch/{architecture}");
        println!("cargo:rustc-link-arg=-L{folder}");
        println!("cargo:rerun-if-changed={folder}/{script}");
    }
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}
