//! A serial port for two clients: writes their lines, each with the name of the client.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::Message;
use userlib::drivers::{Serial, Writer};

userlib::component!(main);

/// The most words of a line.
const WORDS: usize = 16;

fn main(given: Given) {
    let mut port = Writer::new(Serial::new(given.serial), given.serial_interrupt);
    let names = [given.first, given.second];
    given.lines.serve(|received| {
        if let (Some(message), 1..=2) = (received.message, received.badge) {
            // The next system call would overwrite the message.
            let words: [usize; WORDS] = core::array::from_fn(|index| message.word(index));
            let text = words.iter().flat_map(|word| word.to_le_bytes());
            let text = text.take_while(|&byte| byte != 0);
            let name = names[received.badge - 1].bytes();
            port.write(name.chain(*b": ").chain(text).chain(*b"\n"));
        }
        Message::empty(0)
    })
}
