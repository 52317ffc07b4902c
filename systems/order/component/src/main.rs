//! Begins at its place among the components, which is that of its priority.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::sync::atomic::Ordering::Relaxed;

userlib::component!(main);

fn main(given: Given) {
    let place = given.begun[0].fetch_add(1, Relaxed);
    assert_eq!(place, given.place, "components that begin earlier");
}
