//! Passes the link script of an image: that of a board, which the tool has made, of pc99, or of a program that runs before a
//! kernel.

use std::env;

/// The variable with the folder of what the tool has made for a board.
const BOARD: &str = "ESCAPEMENT_BOARD";

fn main() {
    let own = || env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let folder = env::var(BOARD).unwrap_or_else(|_| own());
    println!("cargo:rustc-link-arg=-T{folder}/link.ld");
    println!("cargo:rerun-if-changed={folder}/link.ld");
    println!("cargo:rerun-if-env-changed={BOARD}");
    if env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}
