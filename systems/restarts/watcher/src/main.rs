//! Reads how much time the client has used, and fails. After that it reads what the client has used since.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::component!(main);

fn main(given: Given) {
    // Shared memory is as it was before a restart.
    let start = given.looks.read32(0) as usize + 1;
    given.looks.write32(0, start as u32);
    if start == 1 {
        given.signals.wait();
    }
    let used = given.client.take().expect("it may read the time");
    given
        .looks
        .write32(start * size_of::<usize>(), used.0 as u32);
    assert!(start > 1, "the watcher fails");
}
