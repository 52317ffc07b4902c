//! The shared page on which the hostile component keeps its state and counts, and which its parent reads.
//!
//! It belongs to the parent, so its contents survive whatever the component does to itself; and no value that
//! the component writes can harm the parent.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use kernel_fuzz_methods::METHODS;
use userlib::Startup;

use crate::names;

/// log2 of the slots of each half of the hostile component's CSpace.
pub const RADIX: usize = 7;
/// Slots of the half for which it has the CNode capability.
pub const SLOTS: usize = 1 << RADIX;
/// Addresses of its capabilities: its own CNode, then the one that it cannot change.
pub const ADDRESSES: usize = 2 * SLOTS;

/// Address of the component's own CNode.
pub const HOME: usize = 1;
/// Addresses of its first thread and of its address space.
pub const THREAD: usize = 2;
/// See [`THREAD`].
pub const SPACE: usize = 3;
/// Slots of its own objects: CNode, thread, address space and scheduling context; and the empty slot at
/// address 0.
pub const OWN: core::ops::Range<usize> = 0..5;
/// The number of threads of its chains.
pub const THREADS: usize = 3;
/// Addresses of the capabilities for chains, which it cannot lose: threads, their contexts, and memory.
pub const CHAIN: usize = ADDRESSES - 2 * THREADS - 1;
/// Where it maps pages: an unused range of addresses.
pub const PAGES: usize = 0x3000_0000;
/// log2 of the slots of other CNodes.
pub const OTHER_RADIX: usize = 4;
/// The highest priority that the component may use.
pub const PRIORITY: u8 = 100;

/// The kind of calls it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum CallKind {
    /// Mostly calls that could succeed.
    Plausible,
    /// Arbitrary calls.
    Noise,
}

/// What ended a call with a limit, so that it failed with LimitReached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum End {
    /// The server used the time.
    Used,
    /// The server gave up the time by Yield.
    Yielded,
    /// The reply object was used to receive again.
    Reused,
    /// The reply object was deleted.
    Deleted,
    /// The server was stopped while an inner one had the context: both calls were joined.
    Joined,
    /// The context was unbound from the chain, and the call ended later.
    Lost,
}

impl End {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Used,
        Self::Yielded,
        Self::Reused,
        Self::Deleted,
        Self::Joined,
        Self::Lost,
    ];
}

/// The words of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Word {
    /// The lower half of the generator's state.
    Random,
    /// The upper half.
    RandomHigh,
    /// The number of calls made.
    Calls,
    /// The number of calls after which it stops.
    Limit,
    /// The [`CallKind`].
    CallKind,
    /// Whether every call is printed.
    Trace,
    /// The maximum stack use, in bytes.
    Stack,
    /// The number of named words.
    Count,
}

const TRIED: usize = Word::Count as usize;
const SUCCEEDED: usize = TRIED + METHODS;
const KINDS: usize = SUCCEEDED + METHODS;
const ENDED: usize = KINDS + ADDRESSES;
const WORDS: usize = ENDED + End::ALL.len();

const _: () = assert!(WORDS * size_of::<usize>() <= 4096);

/// The page.
#[derive(Clone, Copy)]
pub struct Ledger(&'static [AtomicUsize]);

impl Ledger {
    /// The page with these words.
    pub const fn new(words: &'static [AtomicUsize]) -> Self {
        Self(words)
    }

    /// The page that the parent gave.
    pub fn from_startup(startup: &'static Startup) -> Self {
        Self(startup.shared(names::LEDGER))
    }

    /// A word.
    pub fn get(self, word: Word) -> usize {
        self.0[word as usize].load(Relaxed)
    }

    /// Sets a word.
    pub fn set(self, word: Word, value: usize) {
        self.0[word as usize].store(value, Relaxed);
    }

    /// The state of the random number generator.
    pub fn random(self) -> u64 {
        let high = self.get(Word::RandomHigh) as u64;
        high << 32 | (self.get(Word::Random) as u64 & 0xffff_ffff)
    }

    /// Sets the state of the random number generator.
    pub fn set_random(self, state: u64) {
        self.set(Word::Random, state as u32 as usize);
        self.set(Word::RandomHigh, (state >> 32) as usize);
    }

    fn count(self, first: usize, method: usize) -> &'static AtomicUsize {
        &self.0[first + method % METHODS]
    }

    /// How often a method was called on an object that has it.
    pub fn tried(self, method: usize) -> &'static AtomicUsize {
        self.count(TRIED, method)
    }

    /// How often a method succeeded.
    pub fn succeeded(self, method: usize) -> &'static AtomicUsize {
        self.count(SUCCEEDED, method)
    }

    /// The kind last seen at an address: the number of a [`crate::kind::Kind`].
    pub fn kind(self, address: usize) -> &'static AtomicUsize {
        &self.0[KINDS + address % ADDRESSES]
    }

    /// How many calls with limits failed for this reason.
    pub fn ended(self, end: End) -> &'static AtomicUsize {
        &self.0[ENDED + end as usize]
    }

    /// Sets all counts and kinds to zero.
    pub fn clear(self) {
        for word in self.0 {
            word.store(0, Relaxed);
        }
    }
}
