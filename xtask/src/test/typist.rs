//! Types on the console of a system, as its description says.

use std::io::Write;

use system_description::file::Typed;

/// Types each line when the text before it has been printed.
#[derive(Debug)]
pub(super) struct Typist<'a, W> {
    rest: &'a [Typed],
    keyboard: Option<W>,
    /// What was printed since the last line was typed.
    seen: Vec<u8>,
}

impl<'a, W: Write> Typist<'a, W> {
    pub(super) fn new(lines: &'a [Typed], keyboard: Option<W>) -> Self {
        Self {
            rest: lines,
            keyboard,
            seen: Vec::new(),
        }
    }

    /// Sees what the system prints.
    pub(super) fn see(&mut self, bytes: &[u8]) {
        self.seen.extend_from_slice(bytes);
        while let (Some((next, rest)), Some(keyboard)) =
            (self.rest.split_first(), &mut self.keyboard)
            && let Some(end) = end_of(next.after.as_bytes(), &self.seen)
        {
            self.rest = rest;
            self.seen.drain(..end);
            // A machine that has ended reads nothing; the judgement of its output says what is missing.
            let _ = writeln!(keyboard, "{}", next.line);
        }
        // What has been looked at is not looked at again, however much a system prints: only the beginning of the text may
        // be at the end.
        let longest = self.rest.first().map_or(0, |next| next.after.len());
        let old = self.seen.len().saturating_sub(longest);
        self.seen.drain(..old);
    }
}

/// Where the first `text` in `seen` ends.
fn end_of(text: &[u8], seen: &[u8]) -> Option<usize> {
    let mut places = 0..=seen.len().checked_sub(text.len())?;
    let begin = places.find(|&place| seen[place..].starts_with(text))?;
    Some(begin + text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_waits_for_its_text() {
        let lines = ["one", "two"].map(|line| Typed {
            after: "> ".to_string(),
            line: line.to_string(),
        });
        let mut keys = Vec::new();
        let mut typist = Typist::new(&lines, Some(&mut keys));
        typist.see(b"hello >");
        typist.see(b" and");
        typist.see(b" more");
        assert_eq!(**typist.keyboard.as_ref().unwrap(), b"one\n");
        typist.see(b"> > ");
        assert_eq!(keys, b"one\ntwo\n");
    }
}
