//! A terminal on the serial port. Passive: it writes on the time of its clients, and handles keys on the time that a
//! passive component has until it waits.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use shell_messages::{Words, terminal};
use userlib::drivers::{Key, Line, Serial, Writer};
use userlib::given::Signal;

userlib::component!(main);

struct Terminal {
    port: Writer,
    line: Line<80>,
    /// The line that is complete, until it is read.
    complete: Option<Words>,
    reader: Signal,
}

fn main(given: Given) {
    let port = Writer::new(Serial::new(given.serial), given.serial_interrupt);
    port.listen();
    given.lines.serve(Terminal {
        port,
        line: Line::default(),
        complete: None,
        reader: given.reader,
    })
}

impl terminal::Service for Terminal {
    fn write(&mut self, _: usize, words: Words) {
        self.show(words.as_str().bytes());
        self.listen();
    }

    fn read(&mut self, _: usize) -> Option<Words> {
        let line = self.complete.take();
        self.listen();
        line
    }

    /// Keys.
    fn signals(&mut self, _: usize) {
        while self.complete.is_none()
            && let Some(byte) = self.port.read()
        {
            match self.line.key(byte) {
                Key::Nothing => {}
                Key::Shows(letter) => self.show([letter]),
                Key::Erases(count) => (0..count).for_each(|_| self.show(*b"\x08 \x08")),
                Key::Ends => {
                    self.show(*b"\n");
                    self.complete = Some(Words::new(self.line.take()));
                    self.reader.signal();
                }
            }
        }
        self.listen();
    }
}

impl Terminal {
    /// Waits for keys, unless a line waits for its reader; then they stay in the port.
    fn listen(&self) {
        if self.complete.is_none() {
            self.port.listen();
        }
    }

    /// Shows letters; a terminal goes back to the left only when it is told.
    fn show(&mut self, letters: impl IntoIterator<Item = u8>) {
        let back = |letter| {
            (letter == b'\n')
                .then_some(b'\r')
                .into_iter()
                .chain([letter])
        };
        self.port.write(letters.into_iter().flat_map(back));
    }
}
