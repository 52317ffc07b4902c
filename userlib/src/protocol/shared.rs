//! Messages that are too long for registers and buffer: bytes in shared memory.

use core::sync::atomic::{AtomicUsize, Ordering};

const WORD: usize = size_of::<usize>();

crate::value! {
    /// A place in shared memory. A server does not trust it: [`Shared::copy`] checks it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Part {
        /// Its first word.
        pub first: usize,
        /// Its length, in bytes.
        pub length: usize,
    }
}

/// Memory that a client and a server share. Bytes are copied out of it before they are looked at, so the other side
/// cannot change them between a check and their use.
#[derive(Clone, Copy, Debug)]
pub struct Shared(&'static [AtomicUsize]);

impl Shared {
    /// This memory.
    pub fn new(memory: &'static [AtomicUsize]) -> Self {
        Self(memory)
    }

    /// Puts bytes at word `first`; none if there is no room for them.
    pub fn put(self, first: usize, bytes: &[u8]) -> Option<Part> {
        let part = Part {
            first,
            length: bytes.len(),
        };
        for (place, chunk) in self.words(part)?.iter().zip(bytes.chunks(WORD)) {
            let mut word = [0; WORD];
            word.iter_mut()
                .zip(chunk)
                .for_each(|(place, byte)| *place = *byte);
            place.store(usize::from_le_bytes(word), Ordering::Relaxed);
        }
        Some(part)
    }

    /// Copies the bytes of a part to the beginning of `into`; none if it is not in this memory, or longer than `into`.
    pub fn copy(self, part: Part, into: &mut [u8]) -> Option<&[u8]> {
        let bytes = into.get_mut(..part.length)?;
        for (place, chunk) in self.words(part)?.iter().zip(bytes.chunks_mut(WORD)) {
            let word = place.load(Ordering::Relaxed).to_le_bytes();
            chunk
                .iter_mut()
                .zip(word)
                .for_each(|(place, byte)| *place = byte);
        }
        Some(bytes)
    }

    fn words(self, part: Part) -> Option<&'static [AtomicUsize]> {
        let end = part.first.checked_add(part.length.div_ceil(WORD))?;
        self.0.get(part.first..end)
    }
}
