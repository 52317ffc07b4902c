//! Which core an object belongs to.
//!
//! Where there are several cores, endpoints, notifications and reply objects belong to one: threads of this
//! core may use them without asking anybody. It is the core of whoever waits there, or of whoever
//! received there last; so objects that are used on one core are there after the first use. Whoever uses
//! one that belongs elsewhere has to be alone (see [`crate::cores`]).
//!
//! Endpoints and reply objects have no room for a number. But they hold a handle of a thread, and the
//! addresses of threads are multiples of 1024, or more.

use crate::cores::CORES;
use crate::token::Ptr;

/// The number that stands for no core: an object at which threads of several cores wait.
pub const NO_CORE: u8 = 127;

/// Where the number stands in a word with a handle of a thread; below are three bits for other uses.
pub const CORE_SHIFT: u32 = 3;
/// The bits of the number; none where there is one core.
pub const CORE_MASK: usize = if CORES > 1 {
    (NO_CORE as usize) << CORE_SHIFT
} else {
    0
};

const _: () = assert!(CORES <= NO_CORE as usize);
const _: () = assert!(CORE_MASK < 1 << abi::sizes::TCB_BITS);

/// The bits for a core.
#[inline(always)]
pub(crate) const fn core_bits(core: u8) -> usize {
    (core as usize) << CORE_SHIFT & CORE_MASK
}

/// The core in a word.
#[inline(always)]
pub(super) const fn core_in(word: usize) -> u8 {
    ((word & CORE_MASK) >> CORE_SHIFT) as u8
}

/// An optional handle of a thread, and a core.
#[repr(transparent)]
pub struct Owned<T> {
    word: usize,
    kind: core::marker::PhantomData<Option<Ptr<T>>>,
}

impl<T> Owned<T> {
    /// No handle, and core 0.
    pub const NONE: Self = Self {
        word: 0,
        kind: core::marker::PhantomData,
    };

    /// The handle.
    #[inline(always)]
    pub const fn get(&self) -> Option<Ptr<T>> {
        // SAFETY: only `set` wrote this.
        unsafe { Ptr::from_address(self.word & !CORE_MASK) }
    }

    /// Changes the handle.
    #[inline(always)]
    pub fn set(&mut self, thread: Option<Ptr<T>>) {
        self.word = thread.map_or(0, Ptr::address) | self.word & CORE_MASK;
    }

    /// The core.
    #[inline(always)]
    pub const fn core(&self) -> u8 {
        core_in(self.word)
    }

    /// Changes the core.
    #[inline(always)]
    pub const fn set_core(&mut self, core: u8) {
        self.word = self.word & !CORE_MASK | core_bits(core);
    }
}
