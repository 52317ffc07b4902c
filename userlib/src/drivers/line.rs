//! The line that is typed on a terminal.

/// What a key does to the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Nothing.
    Nothing,
    /// It shows this letter.
    Shows(u8),
    /// So many letters before the cursor disappear.
    Erases(usize),
    /// The line is complete; [`Line::take`] takes it.
    Ends,
}

/// A line of at most `N` letters, which are printable ASCII.
#[derive(Debug)]
pub struct Line<const N: usize> {
    letters: [u8; N],
    length: usize,
    /// How much of an escape sequence (ECMA-48), which is ignored, has come.
    escape: Escape,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Escape {
    No,
    Begun,
    /// It ends with a letter.
    Sequence,
}

impl<const N: usize> Default for Line<N> {
    fn default() -> Self {
        Self {
            letters: [0; N],
            length: 0,
            escape: Escape::No,
        }
    }
}

impl<const N: usize> Line<N> {
    /// Takes a byte from the keyboard: letters, the end of the line, backspace, and control with U (erases the line) or W
    /// (a word). A line that is full takes no more letters.
    pub fn key(&mut self, byte: u8) -> Key {
        match (self.escape, byte) {
            (Escape::Begun, b'[') => {
                self.escape = Escape::Sequence;
                return Key::Nothing;
            }
            (Escape::Begun, _) | (Escape::Sequence, 0x40..=0x7e) => {
                self.escape = Escape::No;
                return Key::Nothing;
            }
            (Escape::Sequence, _) => return Key::Nothing,
            (Escape::No, _) => {}
        }
        match byte {
            b'\r' | b'\n' => Key::Ends,
            0x1b => {
                self.escape = Escape::Begun;
                Key::Nothing
            }
            0x08 | 0x7f => self.erase(1),
            0x15 => self.erase(self.length),
            0x17 => {
                let is_space = |letter: &&u8| **letter == b' ';
                let typed = self.letters.get(..self.length).unwrap_or_default();
                let spaces = typed.iter().rev().take_while(is_space).count();
                let before = typed.iter().rev().skip(spaces);
                let word = before.take_while(|letter| !is_space(letter)).count();
                self.erase(spaces + word)
            }
            b' '..=b'~' => match self.letters.get_mut(self.length) {
                Some(place) => {
                    *place = byte;
                    self.length += 1;
                    Key::Shows(byte)
                }
                None => Key::Nothing,
            },
            _ => Key::Nothing,
        }
    }

    fn erase(&mut self, wanted: usize) -> Key {
        let count = wanted.min(self.length);
        self.length -= count;
        match count {
            0 => Key::Nothing,
            count => Key::Erases(count),
        }
    }

    /// The letters so far.
    pub fn letters(&self) -> &str {
        let typed = self.letters.get(..self.length).unwrap_or_default();
        // It has ASCII letters only.
        core::str::from_utf8(typed).unwrap_or_default()
    }

    /// The line; the next one is empty.
    pub fn take(&mut self) -> &str {
        let typed = self.letters.get(..self.length).unwrap_or_default();
        self.length = 0;
        // It has ASCII letters only.
        core::str::from_utf8(typed).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line after these keys, and what the last one has done.
    fn typed(keys: &str) -> (String, Key) {
        let mut line = Line::<8>::default();
        let done = keys.bytes().map(|byte| line.key(byte)).last();
        (line.take().to_string(), done.unwrap())
    }

    #[test]
    fn letters_are_shown_until_the_line_is_full() {
        assert_eq!(typed("top"), ("top".to_string(), Key::Shows(b'p')));
        assert_eq!(
            typed("12345678"),
            ("12345678".to_string(), Key::Shows(b'8'))
        );
        assert_eq!(typed("123456789"), ("12345678".to_string(), Key::Nothing));
        assert_eq!(typed("a\u{f6}b").0, "ab");
        assert_eq!(typed("top\r"), ("top".to_string(), Key::Ends));
        assert_eq!(typed("\n"), (String::new(), Key::Ends));
    }

    #[test]
    fn letters_can_be_erased() {
        assert_eq!(typed("tip\x7f\x08"), ("t".to_string(), Key::Erases(1)));
        assert_eq!(typed("\x7f"), (String::new(), Key::Nothing));
        assert_eq!(typed("a bc\x15"), (String::new(), Key::Erases(4)));
        assert_eq!(typed("a bc\x17"), ("a ".to_string(), Key::Erases(2)));
        assert_eq!(typed("a b  \x17"), ("a ".to_string(), Key::Erases(3)));
        assert_eq!(typed("12345678\x7f9").0, "12345679");
    }

    #[test]
    fn keys_that_send_sequences_do_nothing() {
        assert_eq!(typed("a\x1b[A"), ("a".to_string(), Key::Nothing));
        assert_eq!(typed("a\x1b[1;5Cb").0, "ab");
        assert_eq!(typed("a\x1bOb").0, "ab");
    }

    #[test]
    fn the_next_line_is_empty() {
        let mut line = Line::<8>::default();
        line.key(b'x');
        assert_eq!(line.letters(), "x");
        assert_eq!(line.take(), "x");
        assert_eq!(line.letters(), "");
        assert_eq!(line.take(), "");
    }
}
