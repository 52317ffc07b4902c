//! Message information, rights and guard words.

use bitflags::bitflags;

use crate::WORD_BITS;

/// The most words of a message.
pub const MAX_MESSAGE_LENGTH: usize = 120;
/// The most capabilities sent with a message.
pub const MAX_EXTRA_CAPS: usize = 3;

/// The word that describes a message: length `[0+7]`, extra capabilities `[7+2]`, capabilities
/// unwrapped `[9+3]`, label in the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(transparent)]
pub struct MessageInfo(pub usize);

impl MessageInfo {
    /// Where the length is.
    pub const LENGTH: usize = 0x7f;
    /// Where the number of capabilities is.
    pub const EXTRA_CAPS: usize = 3 << 7;
    /// Where it is said which of them arrived as badges.
    pub const UNWRAPPED: usize = 7 << 9;

    /// A message of `length` words and `extra_caps` capabilities under `label`.
    pub const fn new(label: usize, extra_caps: usize, length: usize) -> Self {
        Self(label << 12 | (extra_caps & 3) << 7 | (length & Self::LENGTH))
    }

    /// The same with bit *i* of `unwrapped` saying that capability *i* arrived as a badge.
    pub const fn with_unwrapped(self, unwrapped: usize) -> Self {
        Self(self.0 & !Self::UNWRAPPED | (unwrapped & 7) << 9)
    }

    /// What the message is about.
    pub const fn label(self) -> usize {
        self.0 >> 12
    }

    /// Words of the message; at most [`MAX_MESSAGE_LENGTH`].
    pub const fn length(self) -> usize {
        let length = self.raw_length();
        if length > MAX_MESSAGE_LENGTH {
            MAX_MESSAGE_LENGTH
        } else {
            length
        }
    }

    /// The words that the sender asks for, which may be more than a message can have.
    pub const fn raw_length(self) -> usize {
        self.0 & Self::LENGTH
    }

    /// The same with nothing said about capabilities.
    #[must_use]
    pub const fn plain(self) -> Self {
        Self(self.0 & !(Self::EXTRA_CAPS | Self::UNWRAPPED))
    }

    /// Number of capabilities sent, or received.
    pub const fn extra_caps(self) -> usize {
        self.0 >> 7 & 3
    }

    /// Which capabilities arrived as badges.
    pub const fn unwrapped(self) -> usize {
        self.0 >> 9 & 7
    }
}

bitflags! {
    /// Rights on endpoints, notifications, replies and frames.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Rights: u8 {
        /// Send, signal, write.
        const WRITE = 1 << 0;
        /// Receive, wait, read.
        const READ = 1 << 1;
        /// Send capabilities, and let the receiver reply with some.
        const GRANT = 1 << 2;
        /// Let the receiver reply.
        const GRANT_REPLY = 1 << 3;
    }
}

impl Rights {
    /// No right at all.
    pub const NONE: Self = Self::empty();
    /// Everything.
    pub const ALL: Self = Self::all();
    /// Read and write.
    pub const READ_WRITE: Self = Self::READ.union(Self::WRITE);

    /// The rights in the low bits of a word.
    pub const fn from_word(word: usize) -> Self {
        Self::from_bits_truncate(word as u8)
    }

    /// The word of these rights.
    pub const fn word(self) -> usize {
        self.bits() as usize
    }
}

/// The guard argument of CNode capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuardData {
    /// The guard's value: its low `size` bits.
    pub guard: usize,
    /// Number of address bits that the guard consumes.
    pub size: usize,
}

impl GuardData {
    /// Decodes a data word; only the low `size` bits of the guard are kept. 64-bit: size `[0+6]`,
    /// guard `[6+58]`; 32-bit: size `[3+5]`, guard `[8+18]`.
    pub const fn from_word(word: usize) -> Self {
        let (size, guard) = if WORD_BITS == 64 {
            (word & 0x3f, word >> 6)
        } else {
            (word >> 3 & 0x1f, word >> 8 & 0x3_ffff)
        };
        Self {
            guard: guard & ((1 << size) - 1),
            size,
        }
    }

    /// The data word.
    pub const fn word(self) -> usize {
        if WORD_BITS == 64 {
            self.guard << 6 | self.size
        } else {
            self.guard << 8 | self.size << 3
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_info_fields() {
        let info = MessageInfo::new(0x1234, 2, 17).with_unwrapped(5);
        assert_eq!(
            (
                info.label(),
                info.extra_caps(),
                info.length(),
                info.unwrapped()
            ),
            (0x1234, 2, 17, 5)
        );
        assert_eq!(MessageInfo(0x7f).length(), MAX_MESSAGE_LENGTH);
    }

    #[test]
    fn guard_round_trip() {
        let data = GuardData {
            guard: 0x2a5,
            size: 10,
        };
        assert_eq!(GuardData::from_word(data.word()), data);
        assert_eq!(
            GuardData::from_word(
                GuardData {
                    guard: 0xff,
                    size: 4
                }
                .word()
            )
            .guard,
            0xf
        );
    }
}
