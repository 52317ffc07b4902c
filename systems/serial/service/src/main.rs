//! A serial port for four clients. Passive: it writes on the time of its clients, and handles keys on the time that a
//! passive component has until it waits.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::drivers::{Key, Line, Serial, Writer};
use userlib::given::Signal;
use userlib::services::lines::{LETTERS, Lines, Refused, Words, requests};

userlib::component!(main);

const CLIENTS: usize = 4;

struct Service {
    port: Writer,
    lines: Lines<CLIENTS>,
    /// The line that is being typed.
    line: Line<LETTERS>,
    clients: [Signal; CLIENTS],
}

fn main(given: Given) {
    given.requests.serve(Service {
        port: Writer::new(Serial::new(given.serial), given.serial_interrupt),
        lines: Lines::default(),
        line: Line::default(),
        clients: [given.first, given.second, given.third, given.fourth],
    })
}

impl requests::Service for Service {
    fn write(&mut self, caller: usize, words: Words) -> Result<(), Refused> {
        let Self {
            port, lines, line, ..
        } = self;
        // What is being typed makes room for lines, and stands below them again.
        let mut is_hidden = false;
        let result = lines.write(caller, words.as_str(), |written| {
            if !core::mem::replace(&mut is_hidden, true) {
                erase(port, line.letters().len());
            }
            port.write(written.iter().copied().chain(*b"\r\n"));
        });
        if is_hidden {
            port.write(line.letters().bytes());
        }
        self.listen();
        result
    }

    fn read(&mut self, caller: usize) -> Result<Option<Words>, Refused> {
        let result = self.lines.read(caller);
        self.listen();
        result
    }

    /// Keys.
    fn signals(&mut self, _: usize) {
        while self.lines.is_awaited()
            && let Some(byte) = self.port.read()
        {
            match self.line.key(byte) {
                Key::Nothing => {}
                Key::Shows(letter) => self.port.write([letter]),
                Key::Erases(count) => erase(&mut self.port, count),
                Key::Ends => {
                    self.port.write(*b"\r\n");
                    let reader = self.lines.typed(Words::new(self.line.take()));
                    reader
                        .into_iter()
                        .for_each(|reader| self.clients[reader].signal());
                }
            }
        }
        self.listen();
    }
}

impl Service {
    /// Waits for keys, if a client waits for a line; otherwise they stay in the port.
    fn listen(&self) {
        if self.lines.is_awaited() {
            self.port.listen();
        }
    }
}

fn erase(port: &mut Writer, count: usize) {
    (0..count).for_each(|_| port.write(*b"\x08 \x08"));
}
