//! Counts, and lets the server do the additions.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::println;

userlib::component!(main);

/// `Given` has what `system.toml` gives this program, and nothing else.
fn main(given: Given) {
    let mut number = 0;
    for _ in 0..given.steps {
        let sum = given.server.add(number, 1).expect("the server answers");
        println!("{number} + 1 = {sum}");
        assert_eq!(sum, number + 1);
        number = sum;
    }
}
