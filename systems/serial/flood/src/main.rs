//! Writes without an end, in lines of all lengths, and what others would not want on their screen.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::services::lines::Words;

userlib::component!(main);

fn main(given: Given) {
    for text in ["flood flood", "flood\n", "\x1b[2J\r", "\n\n\n\n\n\n\n\n"]
        .iter()
        .cycle()
    {
        assert_eq!(given.port.write(Words::new(text)), Ok(Ok(())));
    }
}
