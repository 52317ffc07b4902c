//! What events cost.

/// What it costs to write an event: the mean of a usual mixture, and as far around it as some kinds are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    least: u32,
    most: u32,
}

impl Cost {
    /// A tick has so many parts.
    const PARTS: u32 = 256;

    /// The cost if it took `ticks` to write a mixture of `events` events, and as many ticks as `others` says to write
    /// others one by one, where all was done `count` times.
    #[must_use]
    pub fn around((ticks, events): (u64, u32), others: &[u64], count: u32) -> Self {
        let parts = |ticks: u64, events: u32| {
            let parts = ticks.saturating_mul(Self::PARTS.into());
            let events = u64::from(events.max(1)) * u64::from(count.max(1));
            (parts / events).min(u32::MAX.into()) as u32
        };
        let mean = parts(ticks, events);
        let distances = others.iter().map(|&ticks| parts(ticks, 1).abs_diff(mean));
        let distance = distances.max().unwrap_or(0);
        Self {
            least: mean.saturating_sub(distance),
            most: mean.saturating_add(distance),
        }
    }

    /// As it is stored.
    #[must_use]
    pub const fn to_bits(self) -> u64 {
        (self.most as u64) << 32 | self.least as u64
    }

    /// The cost that is stored so.
    #[must_use]
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            least: bits as u32,
            most: (bits >> 32) as u32,
        }
    }

    /// The least, in ticks.
    #[must_use]
    pub fn least(self) -> f64 {
        f64::from(self.least) / f64::from(Self::PARTS)
    }

    /// The most, in ticks.
    #[must_use]
    pub fn most(self) -> f64 {
        f64::from(self.most) / f64::from(Self::PARTS)
    }
}
