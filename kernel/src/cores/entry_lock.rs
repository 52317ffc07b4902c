//! The entry lock, from the side of one core.

use core::mem::offset_of;

use super::remote::CoreSet;
use super::{BIG_LOCK, CORES, Kernels};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::object::{Endpoint, ThreadState, core_bits};
use crate::sync::spin_loop;
use crate::time::Ticks;

/// How a core holds the entry lock: not at all, in shared mode, or in exclusive mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Unlocked,
    Shared,
    Exclusive,
}

/// A core's side of the entry lock. The fields that fast paths in assembly use come first.
#[repr(C)]
pub struct EntryLock<A: Arch> {
    /// Address of the word in which this core announces its state to other cores.
    state: *const usize,
    /// Address of the byte that says whether a core holds the entry lock exclusively.
    exclusive: *const u8,
    /// This core, as encoded in the words of endpoints and reply objects.
    bits: usize,
    /// The same with the receivers' mark.
    receiving: usize,
    /// Another core has modified this core's state since this core's last kernel entry.
    pub(super) remotely_modified: bool,
    pub(super) kernels: &'static Kernels<A>,
    core: usize,
    mode: Mode,
    /// A remote access found the current head replenishment used up, and has charged it.
    pub(crate) timeslice_ended: bool,
    /// The clock reading with which `is_time_local` has decided.
    pub(crate) clock_reading: Option<Ticks>,
    /// The cores that this core has modified in exclusive mode.
    pub(super) accessed_cores: CoreSet,
}

/// Offsets for fast paths in assembly.
impl<A: Arch> EntryLock<A> {
    /// Offset of the address of the word with this core's state.
    pub const STATE: usize = offset_of!(Self, state);
    /// Offset of the address of the byte that says whether a core holds the entry lock exclusively.
    pub const EXCLUSIVE: usize = offset_of!(Self, exclusive);
    /// Offset of this core, as encoded in the words of endpoints and reply objects.
    pub const BITS: usize = offset_of!(Self, bits);
    /// Offset of the same with the receivers' mark.
    pub const RECEIVING: usize = offset_of!(Self, receiving);
    /// Offset of the byte that says whether this core was remotely modified.
    pub const REMOTELY_MODIFIED: usize = offset_of!(Self, remotely_modified);
}

impl<A: Arch> EntryLock<A> {
    pub(super) fn new(kernels: &'static Kernels<A>, core: usize) -> Self {
        assert!(core < CORES);
        let bits = core_bits(core as u8);
        Self {
            state: kernels.entry_lock.state_address(core),
            exclusive: kernels.entry_lock.exclusive_flag(),
            bits,
            receiving: bits | Endpoint::<A>::RECEIVING,
            kernels,
            core,
            mode: Mode::Unlocked,
            remotely_modified: false,
            timeslice_ended: false,
            clock_reading: None,
            accessed_cores: CoreSet::EMPTY,
        }
    }

    pub(crate) const fn core(&self) -> usize {
        self.core
    }

    pub(super) fn is_shared(&self) -> bool {
        self.mode == Mode::Shared
    }

    pub(crate) fn is_exclusive(&self) -> bool {
        self.mode == Mode::Exclusive
    }
}

impl<A: Arch> Kernel<A> {
    /// Enters in shared mode, if no core holds the entry lock exclusively and this core was not remotely
    /// modified. Otherwise changes nothing.
    #[inline(always)]
    pub(crate) fn try_enter_shared(&mut self) -> bool {
        if BIG_LOCK
            || !self
                .entry_lock
                .kernels
                .entry_lock
                .try_lock_shared(self.entry_lock.core)
        {
            return false;
        }
        if self.entry_lock.remotely_modified {
            self.entry_lock
                .kernels
                .entry_lock
                .unlock_shared(self.entry_lock.core);
            return false;
        }
        self.entry_lock.mode = Mode::Shared;
        true
    }

    /// A fast path in assembly has entered in shared mode.
    #[inline(always)]
    pub(crate) fn note_entry_from_assembly(&mut self) {
        self.entry_lock.mode = Mode::Shared;
    }

    /// Enters in shared mode, unless this core is in the kernel already. Returns false if another core has
    /// modified this core's state since the current thread entered the kernel; it may have changed anything.
    #[inline(always)]
    pub(crate) fn enter_shared(&mut self) -> bool {
        if BIG_LOCK {
            return self.enter_exclusive();
        }
        if self.entry_lock.mode == Mode::Unlocked {
            if self
                .entry_lock
                .kernels
                .entry_lock
                .try_lock_shared(self.entry_lock.core)
            {
                self.entry_lock.mode = Mode::Shared;
            } else {
                let kernels = self.entry_lock.kernels;
                return self.wait_for_entry_lock(Mode::Shared, |kernel, core| {
                    kernels
                        .entry_lock
                        .lock_shared(core, || kernel.wait_and_handle_requests());
                });
            }
        }
        self.take_unmodified()
    }

    /// Enters, in exclusive mode unless the entry is core-local. Returns the same as [`Kernel::enter_shared`].
    #[inline(always)]
    pub(crate) fn enter_as_needed(&mut self, is_local: impl FnOnce(&mut Self) -> bool) -> bool {
        self.enter_shared()
            && (self.entry_lock.mode == Mode::Exclusive || is_local(self) || self.enter_exclusive())
    }

    /// Reads the clock. In shared mode, after `is_time_local` has decided, returns the reading of that decision.
    pub(crate) fn read_clock(&mut self) -> Ticks {
        match self.entry_lock.clock_reading.take() {
            Some(moment) if self.entry_lock.mode == Mode::Shared => moment,
            _ => self.arch.now(),
        }
    }

    /// Enters in exclusive mode. Returns the same as [`Kernel::enter_shared`].
    pub(crate) fn enter_exclusive(&mut self) -> bool {
        if self.entry_lock.mode == Mode::Exclusive {
            return true;
        }
        let kernels = self.entry_lock.kernels;
        self.wait_for_entry_lock(Mode::Exclusive, |kernel, core| {
            kernels
                .entry_lock
                .lock_exclusive(core, || kernel.wait_and_handle_requests());
        })
    }

    /// Waits for the entry lock by `wait`, to hold it as `then` says. In the meantime, remote accesses see
    /// the current thread as if it had not entered the kernel yet.
    fn wait_for_entry_lock(&mut self, then: Mode, wait: impl FnOnce(&mut Self, usize)) -> bool {
        let current = self.core.current;
        let next = current.map(|thread| {
            let next = self[thread].context.next_pc();
            self[thread].context.restart();
            next
        });
        // A clock reading from before the wait does not decide about the time after it.
        self.entry_lock.clock_reading = None;
        wait(self, self.entry_lock.core);
        self.entry_lock.mode = then;
        // A thread that was stopped, stalled or migrated continues as its context says.
        if let (Some(thread), Some(next)) = (current, next)
            && self.core.current == current
            && matches!(self[thread].state, ThreadState::Running)
        {
            self[thread].context.set_next_pc(next);
        }
        self.take_unmodified()
    }

    fn take_unmodified(&mut self) -> bool {
        !core::mem::take(&mut self.entry_lock.remotely_modified)
    }

    /// Whether another core has modified this core's state since its last kernel entry.
    pub fn is_remotely_modified(&self) -> bool {
        self.entry_lock.remotely_modified
    }

    fn wait_and_handle_requests(&mut self) {
        self.handle_requests();
        // An emulator that runs the cores in turns switches to another one here.
        spin_loop();
    }

    /// Handles a remote call to this core, if there is one, while this core waits for the entry lock.
    pub fn handle_requests(&mut self) {
        let (kernels, core) = (self.entry_lock.kernels, self.entry_lock.core);
        // SAFETY: only this core handles the requests of its mailbox.
        unsafe { kernels.requests[core].handle(|request| self.perform(request)) };
    }

    /// Whether this core holds the entry lock, in either mode, and may use the state that it owns.
    pub fn holds_entry_lock(&self) -> bool {
        self.entry_lock.mode != Mode::Unlocked
    }

    /// Releases the entry lock. From here on this core uses only state that no other core accesses.
    #[inline(always)]
    pub(crate) fn exit_kernel(&mut self) {
        match core::mem::replace(&mut self.entry_lock.mode, Mode::Unlocked) {
            Mode::Unlocked => {}
            Mode::Shared => self
                .entry_lock
                .kernels
                .entry_lock
                .unlock_shared(self.entry_lock.core),
            Mode::Exclusive => self.unlock_exclusive(),
        }
    }

    /// Leaves exclusive mode, and sends an IPI to the modified cores, so that they find out soon.
    fn unlock_exclusive(&mut self) {
        let kernels = self.entry_lock.kernels;
        let mut accessed_cores =
            core::mem::replace(&mut self.entry_lock.accessed_cores, CoreSet::EMPTY);
        // A core that waits for the entry lock finds out by itself.
        accessed_cores.retain(|core| !kernels.entry_lock.is_waiting(core));
        kernels.entry_lock.unlock_exclusive(self.entry_lock.core);
        accessed_cores.for_each(|core| self.arch.interrupt_core(core));
    }

    /// Whether another core waits for the entry lock, which this core holds exclusively.
    pub(crate) fn is_contended(&self) -> bool {
        self.entry_lock.is_exclusive()
            && self
                .entry_lock
                .kernels
                .entry_lock
                .is_contended(self.entry_lock.core)
    }
}
