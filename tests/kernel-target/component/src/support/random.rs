//! Random numbers that are the same in every run.

/// A generator of the xorshift family (Marsaglia, "Xorshift RNGs", 2003).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator with a seed other than 0.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The state: a generator made with it continues the sequence.
    pub const fn state(&self) -> u64 {
        self.0
    }

    /// Any number.
    pub fn word(&mut self) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        // The high half is the better one.
        (self.0.rotate_left(32)) as usize
    }

    /// A number below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        self.word() % limit
    }

    /// One of several values.
    pub fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A number that tends to find errors: small, near the ends of the range, a single bit, or any.
    pub fn interesting(&mut self) -> usize {
        match self.below(6) {
            0 => self.below(8),
            1 => self.below(300),
            2 => usize::MAX - self.below(4),
            3 => 1 << self.below(usize::BITS as usize),
            4 => (1usize << self.below(usize::BITS as usize)).wrapping_sub(1),
            _ => self.word(),
        }
    }
}
