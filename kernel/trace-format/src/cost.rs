//! What events cost.

/// What it costs to write an event of a kind, and how far that may be from what one of them costs, in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    usual: u32,
    distance: u32,
}

impl Cost {
    /// A tick has so many parts.
    pub const PARTS: u32 = 256;

    /// The cost if it took so many ticks to write an event `count` times, and others as many more or less.
    #[must_use]
    pub fn new(usual: u64, distance: u64, count: u32) -> Self {
        let [usual, distance] = [usual, distance].map(|ticks| {
            let parts = ticks.saturating_mul(Self::PARTS.into()) / u64::from(count.max(1));
            parts.min(u32::MAX.into()) as u32
        });
        Self { usual, distance }
    }

    /// As it is stored.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        (self.distance as u64) << 32 | self.usual as u64
    }

    /// The cost that is stored so.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            usual: bits as u32,
            distance: (bits >> 32) as u32,
        }
    }

    /// As versions before 6 of the format store it: at least the lower half of `bits`, and at most the upper one. `None` if
    /// the first one is the greater one.
    pub(crate) const fn from_bounds(bits: u64) -> Option<Self> {
        let (least, most) = (bits as u32, (bits >> 32) as u32);
        match most.checked_sub(least) {
            Some(range) => Some(Self {
                usual: least + range / 2,
                distance: range.div_ceil(2),
            }),
            None => None,
        }
    }

    /// Both in parts of a tick.
    #[must_use]
    pub const fn parts(self) -> [u64; 2] {
        [self.usual as u64, self.distance as u64]
    }

    /// So many parts of a tick in ticks.
    #[must_use]
    pub const fn ticks(parts: u64) -> f64 {
        parts as f64 / Self::PARTS as f64
    }
}

/// What it costs to write an event, by the number of its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs([Cost; Self::KINDS]);

impl Costs {
    /// Numbers of kinds are below this.
    pub const KINDS: usize = 64;

    /// The same for all kinds.
    pub(crate) const fn all(cost: Cost) -> Self {
        Self([cost; Self::KINDS])
    }

    /// The costs in words of a header.
    pub(crate) fn from_words(word: impl Fn(usize) -> u64) -> Self {
        Self(core::array::from_fn(|kind| Cost::from_bits(word(kind))))
    }

    /// The cost of an event of a kind, by its number.
    #[must_use]
    pub fn of(&self, kind: u8) -> Cost {
        self.0.get(usize::from(kind)).copied().unwrap_or_default()
    }
}
