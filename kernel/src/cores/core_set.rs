//! Sets of cores.

use crate::config::CORES;

/// A set of cores.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreSet(u64);

impl CoreSet {
    pub(crate) const EMPTY: Self = Self(0);

    /// Adds a core. Returns whether it was absent.
    pub(crate) fn insert(&mut self, core: usize) -> bool {
        let before = self.0;
        self.0 |= 1 << core;
        self.0 != before
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        for core in 0..CORES {
            if !keep(core) {
                self.0 &= !(1 << core);
            }
        }
    }

    pub(crate) fn for_each(self, mut work: impl FnMut(usize)) {
        let mut rest = self.0;
        while rest != 0 {
            work(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}
