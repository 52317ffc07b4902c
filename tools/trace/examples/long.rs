//! Writes a trace of many events.

#[path = "../tests/common/mod.rs"]
mod common;
fn main() {
    let a: Vec<_> = std::env::args().collect();
    let file = common::long::long(a[1].parse().unwrap());
    std::fs::write(&a[2], file.to_bytes()).unwrap();
}
