//! Makes the files of every board, and the device tree.

#[path = "../board/build.rs"]
mod board;
mod device_tree;

use std::path::Path;
use std::{env, fs};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let blob = device_tree::blob().expect("the tree is well formed");
    fs::write(Path::new(&out).join("device_tree.dtb"), blob).expect("cargo made the folder");
    println!("cargo:rerun-if-changed=device_tree.rs");
    println!("cargo:rerun-if-changed=build.rs");
    board::main();
}
