//! The entry lock, from the side of one core.

use core::mem::offset_of;

use super::CoreSet;
use crate::arch::Arch;
use crate::config::CORES;
use crate::cores::Kernels;
use crate::object::{Endpoint, core_bits};
use crate::time::Ticks;

/// How a core holds the entry lock: not at all, in shared mode, or in exclusive mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Unlocked,
    Shared,
    Exclusive,
}

/// A core's side of the entry lock. The fields that fast paths in assembly use come first.
#[repr(C)]
pub struct EntryLock<A: Arch> {
    /// Address of the word in which this core announces its state to other cores.
    state: *const usize,
    /// Address of the byte that indicates whether a core holds the entry lock exclusively.
    exclusive: *const u8,
    /// This core, as encoded in the words of endpoints and reply objects.
    bits: usize,
    /// The same with the receivers' mark.
    receiving: usize,
    /// Another core has modified this core's state since this core's last kernel entry.
    pub(crate) remotely_modified: bool,
    pub(crate) kernels: &'static Kernels<A>,
    core: usize,
    pub(crate) mode: Mode,
    /// This core has waited for the entry lock in its current entry.
    pub(crate) waited: bool,
    /// A remote access found the current head replenishment used up, and has charged it.
    pub(crate) timeslice_ended: bool,
    /// The clock reading with which `is_time_local` has decided.
    pub(crate) clock_reading: Option<Ticks>,
    /// The cores that this core has modified in exclusive mode.
    pub(crate) accessed_cores: CoreSet,
}

/// Offsets for fast paths in assembly.
impl<A: Arch> EntryLock<A> {
    /// Offset of the address of the word with this core's state.
    pub const STATE: usize = offset_of!(Self, state);
    /// Offset of the address of the byte that indicates whether a core holds the entry lock exclusively.
    pub const EXCLUSIVE: usize = offset_of!(Self, exclusive);
    /// Offset of this core, as encoded in the words of endpoints and reply objects.
    pub const BITS: usize = offset_of!(Self, bits);
    /// Offset of the same with the receivers' mark.
    pub const RECEIVING: usize = offset_of!(Self, receiving);
    /// Offset of the byte that indicates whether this core was remotely modified.
    pub const REMOTELY_MODIFIED: usize = offset_of!(Self, remotely_modified);
}

impl<A: Arch> EntryLock<A> {
    pub(super) fn new(kernels: &'static Kernels<A>, core: usize) -> Self {
        assert!(core < CORES);
        let bits = core_bits(core as u8);
        Self {
            state: kernels.shared.entry_lock.state_address(core),
            exclusive: kernels.shared.entry_lock.exclusive_flag(),
            bits,
            receiving: bits | Endpoint::<A>::RECEIVING,
            kernels,
            core,
            mode: Mode::Unlocked,
            waited: false,
            remotely_modified: false,
            timeslice_ended: false,
            clock_reading: None,
            accessed_cores: CoreSet::EMPTY,
        }
    }

    pub(crate) const fn core(&self) -> usize {
        self.core
    }

    /// Whether this core is in shared mode; never in a single-core kernel.
    pub(crate) fn is_shared(&self) -> bool {
        CORES > 1 && self.mode == Mode::Shared
    }

    /// Whether this core has waited in its current entry; never in a single-core kernel.
    pub(crate) fn has_waited(&self) -> bool {
        CORES > 1 && self.waited
    }

    /// Whether this core is in exclusive mode; always in a single-core kernel.
    pub(crate) fn is_exclusive(&self) -> bool {
        CORES == 1 || self.mode == Mode::Exclusive
    }

    /// Checks that this core is in exclusive mode.
    ///
    /// # Panics
    /// If it is not.
    #[inline(always)]
    pub(crate) fn assert_exclusive(&self) {
        assert!(self.is_exclusive(), "a remote access needs exclusive mode");
    }
}
