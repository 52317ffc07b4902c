//! Capabilities packed into two machine words.
//!
//! A slot has 32 bytes on 64-bit machines and 16 on 32-bit ones; half of it holds the links of the derivation
//! tree. The other half is scarce on 32-bit machines, so each kind of capability has a layout of bit fields,
//! defined as constants ([`Field`]) by the kernel for its own kinds and by the architecture for the others.
//! The tag that identifies the kind is the number that `DebugCapIdentify` returns to users: even for kinds of
//! the kernel, odd for those of the architecture.

/// The two words of a capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[repr(C)]
pub struct RawCap {
    words: [usize; 2],
}

const WIDE: bool = usize::BITS == 64;

impl RawCap {
    /// The bits of a short tag.
    pub(crate) const SHORT_TAG: usize = if WIDE { 0x1f } else { 0xf };
    /// The bits that are all set in a long tag, which 64-bit machines do not have.
    pub(crate) const LONG_TAG: usize = if WIDE { usize::MAX } else { 0xe };

    /// The capability of an empty slot.
    pub const NULL: Self = Self { words: [0, 0] };

    /// A capability of the kind `tag` with all fields zero.
    pub const fn new(tag: u8) -> Self {
        Self {
            words: [tag as usize, 0],
        }
    }

    /// The tag of the kind. 64-bit: five bits. 32-bit: four bits, or eight if those four are 14 or 15, so
    /// that the kinds with the largest payload have the shortest tag.
    #[inline(always)]
    pub const fn tag(self) -> u8 {
        if !WIDE && self.words[0] & Self::LONG_TAG == Self::LONG_TAG {
            self.words[0] as u8
        } else {
            (self.words[0] & Self::SHORT_TAG) as u8
        }
    }

    /// The first word, including the tag.
    #[inline(always)]
    pub const fn first_word(self) -> usize {
        self.words[0]
    }

    /// The capability with one field set.
    #[must_use]
    #[inline(always)]
    pub const fn with(mut self, field: Field, value: usize) -> Self {
        let value = value >> field.shift;
        let mask = field.mask();
        debug_assert!(
            value & !mask == 0 || field.pointer,
            "value does not fit its field"
        );
        let word = &mut self.words[field.word as usize];
        *word = *word & !(mask << field.low) | (value & mask) << field.low;
        self
    }

    /// Whether all bits of one field are zero.
    #[inline(always)]
    pub const fn is_zero(self, field: Field) -> bool {
        self.words[field.word as usize] & field.mask() << field.low == 0
    }

    /// The value of one field. Inlined, so that a constant field costs one or two shifts.
    #[inline(always)]
    pub const fn get(self, field: Field) -> usize {
        let value = (self.words[field.word as usize] >> field.low & field.mask()) << field.shift;
        let top = field.width + field.shift;
        if field.pointer && (top as u32) < usize::BITS {
            // Canonical addresses: the highest stored bit is sign-extended.
            let unused = usize::BITS - top as u32;
            (((value << unused) as isize) >> unused) as usize
        } else {
            value
        }
    }
}

impl RawCap {
    /// Offset of a word in memory, for fast paths in assembly.
    pub const fn offset(word: usize) -> usize {
        core::mem::offset_of!(Self, words) + word * size_of::<usize>()
    }
}

/// A bit field of a [`RawCap`]: `width` bits from bit `low` of word `word` hold `value >> shift`.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    word: u8,
    low: u8,
    width: u8,
    shift: u8,
    pointer: bool,
}

impl Field {
    /// A plain number.
    pub const fn number(word: u8, low: u8, width: u8) -> Self {
        Self::aligned(word, low, width, 0)
    }

    /// A number with `shift` low zero bits, such as a physical address.
    pub const fn aligned(word: u8, low: u8, width: u8, shift: u8) -> Self {
        Self {
            word,
            low,
            width,
            shift,
            pointer: false,
        }
    }

    /// A kernel address with `shift` low zero bits.
    pub const fn pointer(word: u8, low: u8, width: u8, shift: u8) -> Self {
        Self {
            pointer: true,
            ..Self::aligned(word, low, width, shift)
        }
    }

    /// The index of the word that contains it, and its lowest bit.
    pub const fn position(self) -> (usize, u32) {
        (self.word as usize, self.low as u32)
    }

    /// Its width in bits.
    pub const fn width(self) -> u32 {
        self.width as u32
    }

    #[inline(always)]
    const fn mask(self) -> usize {
        if self.width as u32 == usize::BITS {
            usize::MAX
        } else {
            (1 << self.width) - 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_do_not_touch_each_other() {
        let number = Field::number(0, 5, 6);
        let pointer = Field::pointer(0, 20, 44, 4);
        let raw = RawCap::new(10)
            .with(number, 63)
            .with(pointer, 0xffff_8000_1234_5670);
        assert_eq!((raw.tag(), raw.get(number)), (10, 63));
        assert_eq!(raw.get(pointer), 0xffff_8000_1234_5670);
        assert_eq!(raw.with(number, 0).get(pointer), 0xffff_8000_1234_5670);
        assert_eq!(raw.with(pointer, 0x7fff_1230).get(pointer), 0x7fff_1230);
    }
}
