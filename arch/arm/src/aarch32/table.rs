//! Page tables and directories in memory.

use core::marker::PhantomData;
use core::ops::Range;

use kernel::arch::PhysAddr;

use super::Aarch32;
use super::descriptor::{
    DIRECTORY_ENTRIES, FirstLevel, SECTION_BITS, SMALL_PAGE_BITS, SecondLevel, TABLE_ENTRIES,
};

/// `N` descriptors of type `E` in memory. Writes are made visible to table walks immediately.
pub struct Entries<A, E, const N: usize> {
    address: PhysAddr,
    kind: PhantomData<(A, E)>,
}

/// The directory of an address space.
pub type Directory<A> = Entries<A, FirstLevel, DIRECTORY_ENTRIES>;
/// A page table.
pub type Table<A> = Entries<A, SecondLevel, TABLE_ENTRIES>;

impl<A, E, const N: usize> Clone for Entries<A, E, N> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<A, E, const N: usize> Copy for Entries<A, E, N> {}

impl<A: Aarch32, E: Copy, const N: usize> Entries<A, E, N> {
    /// The table at `address`.
    ///
    /// # Safety
    /// A table of this type is there, in RAM that the kernel maps, for as long as the value is used.
    pub const unsafe fn at(address: PhysAddr) -> Self {
        Self {
            address,
            kind: PhantomData,
        }
    }

    /// Its physical address.
    pub const fn address(self) -> PhysAddr {
        self.address
    }

    fn entry(self, index: usize) -> *mut E {
        assert!(index < N);
        let entries = core::ptr::with_exposed_provenance_mut::<E>(A::to_virtual(self.address));
        entries.wrapping_add(index)
    }

    /// An entry.
    pub fn get(self, index: usize) -> E {
        // SAFETY: by the contract of `at`, and the index is in range.
        unsafe { self.entry(index).read_volatile() }
    }

    /// Changes an entry of a table that only the kernel reads.
    pub fn set(self, index: usize, entry: E) {
        // SAFETY: as for `get`; the kernel's token excludes other readers.
        unsafe { self.entry(index).write_volatile(entry) };
    }

    /// Sets each entry of a range to the result of `change` for its index.
    pub fn fill(self, range: Range<usize>, mut change: impl FnMut(usize) -> E) {
        if range.is_empty() {
            return;
        }
        for index in range.clone() {
            // SAFETY: as for `get`; the hardware only reads it.
            unsafe { self.entry(index).write_volatile(change(index)) };
        }
        self.clean(range);
    }

    /// Sets all entries to `empty`, in an unrolled loop, as there are hundreds.
    pub fn clear(self, empty: E) {
        const UNROLLED: usize = 8;
        const { assert!(N.is_multiple_of(UNROLLED)) };
        for index in (0..N).step_by(UNROLLED) {
            let entries = self.entry(index);
            for place in 0..UNROLLED {
                // SAFETY: as for `fill`; there are `UNROLLED` entries from `index` on.
                unsafe { entries.add(place).write_volatile(empty) };
            }
        }
        self.clean(0..N);
    }

    /// Copies entries, in an unrolled loop, as a directory has hundreds for the kernel.
    pub fn copy(self, from: Self, range: Range<usize>) {
        const UNROLLED: usize = 8;
        assert!(range.len().is_multiple_of(UNROLLED));
        for index in range.clone().step_by(UNROLLED) {
            let (from, to) = (from.entry(index), self.entry(index));
            // SAFETY: as for `get` and `fill`; there are `UNROLLED` entries from `index` on.
            let entries = unsafe { from.cast::<[E; UNROLLED]>().read() };
            for (place, entry) in entries.into_iter().enumerate() {
                // SAFETY: as above.
                unsafe { to.add(place).write_volatile(entry) };
            }
        }
        self.clean(range);
    }

    /// Makes changes visible to table walks.
    fn clean(self, range: Range<usize>) {
        let bytes = A::to_virtual(self.address) + range.start * size_of::<E>();
        A::clean_table(bytes..bytes + range.len() * size_of::<E>());
    }
}

/// Index of the directory entry for an address.
pub const fn directory_index(address: usize) -> usize {
    address >> SECTION_BITS
}

/// Index of the table entry for an address.
pub const fn table_index(address: usize) -> usize {
    address >> SMALL_PAGE_BITS & (TABLE_ENTRIES - 1)
}
