//! A component that fails in the way that its parent has chosen.
#![no_std]
#![no_main]

use core::hint::black_box;
use userlib::Startup;

userlib::entry!(main);

static CONSTANT: usize = 7;

fn main(startup: &'static Startup) {
    match startup.number("way") {
        0 => read_through_null(),
        1 => write_to_constant(),
        2 => {
            black_box(overflow(0));
        }
        _ => panic!("this is what a panic says"),
    }
}

#[inline(never)]
fn read_through_null() {
    // SAFETY: nothing is mapped there, so the read raises a fault, as intended.
    unsafe { black_box(black_box(core::ptr::without_provenance::<usize>(8)).read_volatile()) };
}

#[inline(never)]
fn write_to_constant() {
    let constant = black_box(&raw const CONSTANT).cast_mut();
    // SAFETY: the page is mapped read-only, so the write raises a fault, as intended.
    unsafe { constant.write_volatile(8) };
}

#[inline(never)]
fn overflow(depth: usize) -> usize {
    let frame = black_box([depth; 32]);
    match frame[1] {
        usize::MAX => 0,
        _ => overflow(depth + 1) + black_box(&frame)[2],
    }
}
