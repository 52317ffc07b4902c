//! Chooses the files of tests that are compiled, and aligns the segments for large frames of every architecture (2 MiB
//! on 64-bit processors, 64 KiB and 1 MiB on others), so that the runner loads them only once for all tests.

use std::{env, fs, io};

/// The variable with the files of tests that are compiled, by a part of their names, separated by commas, or by the end of
/// their names, `::`, and what names of tests begin with. Without the feature `part`, all are compiled.
const FILES: &str = "ESCAPEMENT_TEST_FILES";

fn main() -> io::Result<()> {
    println!("cargo:rustc-link-arg-bins=--defsym=segment_align=0x200000");
    println!("cargo:rerun-if-changed=src");
    let mut chosen = String::new();
    if env::var_os("CARGO_FEATURE_PART").is_some() {
        println!("cargo:rerun-if-env-changed={FILES}");
        chosen = env::var(FILES).unwrap_or_default();
    }
    let is_chosen = |name: &str| {
        chosen.split(',').any(|part| match part.split_once("::") {
            // Of a test's name, the file's is what comes before.
            Some((end, _)) => name.ends_with(end),
            None => name.contains(part),
        })
    };
    for entry in fs::read_dir("src")? {
        let path = entry?.path();
        let Some(name) = path.file_stem().and_then(|name| name.to_str()) else {
            continue;
        };
        println!("cargo:rustc-check-cfg=cfg({name})");
        if is_chosen(name) {
            println!("cargo:rustc-cfg={name}");
        }
    }
    Ok(())
}
