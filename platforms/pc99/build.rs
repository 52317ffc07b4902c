//! Passes the linker script.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo:rerun-if-changed=link.ld");
    println!("cargo:rustc-link-arg=-T{folder}/link.ld");
    if std::env::var_os("CARGO_FEATURE_LOG").is_some() {
        println!("cargo:rustc-link-arg=-Tdefmt.x");
    }
}
