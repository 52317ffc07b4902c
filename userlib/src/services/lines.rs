//! A serial port for several clients: their lines are printed whole, and typed lines go to the clients that have asked.

use crate::protocol::Text;

/// The most letters of a line.
pub const LETTERS: usize = 80;

/// A part of a line, or a typed line.
pub type Words = Text<LETTERS>;

crate::value! {
    /// Why a request does nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Refused {
        /// The port has no place for a client with this badge.
        NoClient,
    }
}

crate::protocol! {
    /// Each client has a line that it writes, and a signal that says that a typed line is there for it.
    pub mod requests, version 1 {
        /// Writes. Lines are printed when they end, with a newline or at [`LETTERS`] bytes; the rest waits. What is neither a
        /// letter nor a newline becomes `?`.
        fn write(words: Words) -> Result<(), Refused>;
        /// Asks for a line, and returns it if it has been typed. Each line goes to the client that has waited longest.
        fn read() -> Result<Option<Words>, Refused>;
    }
}

/// What a client has written since its last line ended.
#[derive(Clone, Copy)]
struct Written {
    bytes: [u8; LETTERS],
    length: usize,
}

/// The lines of all clients. Client `n` calls with the badge `n + 1`.
pub struct Lines<const CLIENTS: usize> {
    written: [Written; CLIENTS],
    typed: [Option<Words>; CLIENTS],
    /// The clients that wait for a line, in the order in which they have asked.
    readers: [Option<usize>; CLIENTS],
}

impl<const CLIENTS: usize> Default for Lines<CLIENTS> {
    fn default() -> Self {
        let empty = Written {
            bytes: [0; LETTERS],
            length: 0,
        };
        Self {
            written: [empty; CLIENTS],
            typed: [None; CLIENTS],
            readers: [None; CLIENTS],
        }
    }
}

impl<const CLIENTS: usize> Lines<CLIENTS> {
    fn client(caller: usize) -> Result<usize, Refused> {
        let client = caller.wrapping_sub(1);
        (client < CLIENTS)
            .then_some(client)
            .ok_or(Refused::NoClient)
    }

    /// Adds to the caller's line. Calls `show` with each line that is complete.
    ///
    /// # Errors
    /// If there is no such client.
    pub fn write(
        &mut self,
        caller: usize,
        words: &str,
        mut show: impl FnMut(&[u8]),
    ) -> Result<(), Refused> {
        let line = &mut self.written[Self::client(caller)?];
        for byte in words.bytes() {
            if byte != b'\n' {
                let is_control = byte.is_ascii_control();
                line.bytes[line.length] = if is_control { b'?' } else { byte };
                line.length += 1;
            }
            if byte == b'\n' || line.length == LETTERS {
                show(&line.bytes[..line.length]);
                line.length = 0;
            }
        }
        Ok(())
    }

    /// The line that was typed for the caller, which waits for one otherwise.
    ///
    /// # Errors
    /// If there is no such client.
    pub fn read(&mut self, caller: usize) -> Result<Option<Words>, Refused> {
        let client = Self::client(caller)?;
        let typed = self.typed[client].take();
        if typed.is_none() && !self.readers.contains(&Some(client)) {
            // There is a place for each client.
            let place = self.readers.iter_mut().find(|place| place.is_none());
            place.into_iter().for_each(|place| *place = Some(client));
        }
        Ok(typed)
    }

    /// Whether a client waits for a line.
    pub fn is_awaited(&self) -> bool {
        self.readers.iter().any(Option::is_some)
    }

    /// Gives a typed line to the client that has waited longest, and returns the client. A line for which none has asked
    /// is lost.
    pub fn typed(&mut self, line: Words) -> Option<usize> {
        let client = self.readers.first_mut()?.take()?;
        self.readers.rotate_left(1);
        self.typed[client] = Some(line);
        Some(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines that are printed when a client writes.
    fn written(lines: &mut Lines<3>, caller: usize, words: &str) -> Vec<String> {
        let mut out = Vec::new();
        let show = |line: &[u8]| out.push(String::from_utf8(line.to_vec()).unwrap());
        lines.write(caller, words, show).unwrap();
        out
    }

    #[test]
    fn lines_come_out_when_they_end() {
        let mut lines = Lines::<3>::default();
        assert!(written(&mut lines, 1, "north ").is_empty());
        assert_eq!(written(&mut lines, 2, "south\n\nmore"), ["south", ""]);
        assert_eq!(written(&mut lines, 1, "ends\n"), ["north ends"]);
        assert_eq!(written(&mut lines, 2, "\n"), ["more"]);
    }

    #[test]
    fn a_line_that_does_not_end_is_cut() {
        let mut lines = Lines::<3>::default();
        let part = "x".repeat(LETTERS - 1);
        assert!(written(&mut lines, 1, &part).is_empty());
        assert_eq!(written(&mut lines, 1, "yz"), [part + "y"]);
        assert_eq!(written(&mut lines, 1, "\n"), ["z"]);
    }

    #[test]
    fn what_would_move_the_cursor_is_not_shown() {
        let mut lines = Lines::<3>::default();
        assert_eq!(
            written(&mut lines, 1, "a\x1b[Ab\rc\td\x7f\n"),
            ["a?[Ab?c?d?"]
        );
        assert_eq!(written(&mut lines, 1, "sch\u{f6}n\n"), ["sch\u{f6}n"]);
    }

    #[test]
    fn typed_lines_go_to_clients_in_the_order_in_which_they_have_asked() {
        let mut lines = Lines::<3>::default();
        assert!(!lines.is_awaited());
        assert_eq!(lines.typed(Words::new("lost")), None);
        for caller in [2, 1, 2, 2, 1] {
            assert_eq!(lines.read(caller), Ok(None));
        }
        assert_eq!(lines.typed(Words::new("first")), Some(1));
        // One that does not take its line does not keep others from theirs.
        assert_eq!(lines.typed(Words::new("second")), Some(0));
        assert!(!lines.is_awaited());
        assert_eq!(lines.read(1), Ok(Some(Words::new("second"))));
        assert_eq!(lines.read(2), Ok(Some(Words::new("first"))));
        assert_eq!(lines.read(2), Ok(None));
        assert_eq!(lines.typed(Words::new("third")), Some(1));
    }

    #[test]
    fn strangers_are_refused() {
        let mut lines = Lines::<3>::default();
        for caller in [0, 4, usize::MAX] {
            assert_eq!(
                lines.write(caller, "x\n", |_| panic!("it is shown")),
                Err(Refused::NoClient)
            );
            assert_eq!(lines.read(caller), Err(Refused::NoClient));
        }
        assert!(!lines.is_awaited());
    }
}
