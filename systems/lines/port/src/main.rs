//! A serial port for two clients: writes their lines, each with the name of the client.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::Message;
use userlib::drivers::Serial;
use userlib::given::Interrupt;

userlib::component!(main);

/// The most words of a line.
const WORDS: usize = 16;

fn main(given: Given) {
    let port = Serial::new(given.serial);
    let names = [given.first, given.second];
    given.lines.serve(|received| {
        if let (Some(message), 1..=2) = (received.message, received.badge) {
            // The next system call would overwrite the message.
            let words: [usize; WORDS] = core::array::from_fn(|index| message.word(index));
            let text = words.iter().flat_map(|word| word.to_le_bytes());
            let text = text.take_while(|&byte| byte != 0);
            let name = names[received.badge - 1].bytes();
            let line = name.chain(*b": ").chain(text).chain(*b"\n");
            write(&port, &given.serial_interrupt, line);
        }
        Message::empty(0)
    })
}

/// Writes bytes, as many as the port takes after each interrupt.
fn write(port: &Serial, interrupt: &Interrupt, bytes: impl Iterator<Item = u8>) {
    let mut bytes = bytes.peekable();
    while bytes.peek().is_some() {
        while bytes.next_if(|&byte| port.write(byte)).is_some() {}
        // Acknowledged before it is wanted again, and not after it has come: one that came outside of this
        // function was received as a request without a message, and nothing acknowledged it.
        interrupt.acknowledge();
        port.set_interrupt(true);
        interrupt.wait();
        port.set_interrupt(false);
    }
}
