//! Time: the unit of the kernel's interface, clocks, and synthetic load.

#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
mod generic;
#[cfg(feature = "devices-imx31")]
mod imx31;
#[cfg(feature = "devices-imx6")]
mod imx6;
mod load;
mod periodic;
mod server;
#[cfg(target_arch = "x86_64")]
mod tsc;
mod verdict;

#[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
pub use generic::Clock;
#[cfg(feature = "devices-imx6")]
pub use imx6::Clock;
#[cfg(feature = "devices-imx31")]
pub use imx31::Clock;
pub use load::Load;
pub use periodic::Periodic;
pub use server::{TimeClient, TimeServer};
#[cfg(target_arch = "x86_64")]
pub use tsc::Clock;
pub use verdict::Verdict;

use core::fmt;
use core::ops::{Add, Sub};

/// The registers of a clock are not shown.
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
impl fmt::Debug for Clock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Clock").finish_non_exhaustive()
    }
}

/// A length of time in microseconds, the unit of budgets and periods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Microseconds(pub u64);

/// Message words per length of time.
pub(crate) const WORDS: usize = 64 / abi::WORD_BITS;

impl Microseconds {
    /// The length of this number of milliseconds.
    pub const fn from_millis(milliseconds: u64) -> Self {
        Self(milliseconds * 1000)
    }

    /// Whole milliseconds.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1000
    }

    /// As message words; the low word first if there are two.
    pub const fn words(self) -> [usize; WORDS] {
        let mut words = [0; WORDS];
        let mut index = 0;
        while index < WORDS {
            words[index] = (self.0 >> (index * 32)) as usize;
            index += 1;
        }
        words
    }

    /// From the words of a message, starting at `first`.
    pub fn from_message(message: &crate::Message, first: usize) -> Self {
        let mut words = [0; WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            *word = message.word(first + index);
        }
        Self::from_words(words)
    }

    /// The inverse of [`Self::words`].
    pub(crate) fn from_words(words: [usize; WORDS]) -> Self {
        let mut value = 0;
        for (index, word) in words.into_iter().enumerate() {
            value |= (word as u64) << (index * 32);
        }
        Self(value)
    }
}

/// The ticks of the kernel's clock in a second, in which the turns of domains are counted; `None` on boards where user
/// mode does not learn it.
pub fn ticks_per_second(boot: &'static abi::BootInfo) -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    return crate::boot::tsc_megahertz(boot).map(|megahertz| u64::from(megahertz) * 1_000_000);
    #[cfg(any(feature = "devices-virt", feature = "devices-zynqmp"))]
    return Some((boot, crate::arch::timer_frequency()).1);
    #[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
    return (boot, None).1;
}

impl Add for Microseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Microseconds {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Microseconds {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}.{:03} ms", self.0 / 1000, self.0 % 1000)
    }
}
