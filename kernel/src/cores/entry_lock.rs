//! The entry lock, from the side of one core.

use core::mem::offset_of;

use super::exclusive::CoreSet;
use super::{BIG_LOCK, CORES, CoreHandle, Kernels, Local};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::object::{Endpoint, Thread, ThreadState, core_bits};
use crate::sync::spin_loop;
use crate::time::Ticks;
use crate::token::Ptr;

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

impl<A: Arch> CoreHandle<A> {
    /// All cores, and the number of this one.
    #[inline(always)]
    fn place(&self) -> (&'static Kernels<A>, usize) {
        // SAFETY: written before there was a handle, and never again.
        unsafe { (*self.0.place.get()).assume_init() }
    }

    /// Enters the kernel: in shared mode, except in kernels with one big lock. Waits as long as another core holds
    /// the entry lock exclusively.
    #[inline(always)]
    pub fn enter(&mut self) -> Local<'_, A> {
        let (kernels, core) = self.place();
        if BIG_LOCK || !kernels.entry_lock.try_lock_shared(core) {
            self.wait_for_entry_lock(if BIG_LOCK {
                Mode::Exclusive
            } else {
                Mode::Shared
            });
            return Local { core: self };
        }
        self.entered_shared()
    }

    /// Enters the kernel in exclusive mode. Waits for the entry lock.
    pub fn enter_exclusive(&mut self) -> Local<'_, A> {
        self.wait_for_entry_lock(Mode::Exclusive);
        Local { core: self }
    }

    /// This core has already taken the entry lock in shared mode, here or in a fast path in assembly.
    #[inline(always)]
    pub(crate) fn entered_shared(&mut self) -> Local<'_, A> {
        let mut kernel = Local { core: self };
        kernel.entry_lock.mode = Mode::Shared;
        kernel
    }

    /// Waits for the entry lock, to hold it as `then` says. No reference to this core's kernel exists meanwhile,
    /// except while this core carries out a remote call. Other cores see the current thread as if it had not
    /// entered the kernel yet: they use its registers only after a remote call.
    #[cold]
    #[inline(never)]
    fn wait_for_entry_lock(&mut self, then: Mode) {
        let (kernels, core) = self.place();
        let mut set_back = None;
        let serve = || {
            self.handle_request(|kernel| {
                if set_back.is_none() {
                    set_back = kernel.set_current_back();
                }
            });
            // An emulator that runs the cores in turns switches to another one here.
            spin_loop();
        };
        if then == Mode::Exclusive {
            kernels.entry_lock.lock_exclusive(core, serve);
        } else {
            kernels.entry_lock.lock_shared(core, serve);
        }
        // SAFETY: this core holds the entry lock.
        let kernel = unsafe { self.kernel() };
        kernel.entry_lock.mode = then;
        // A clock reading from before the wait does not decide about the time after it.
        kernel.entry_lock.clock_reading = None;
        if let Some((thread, next)) = set_back {
            kernel.continue_current(thread, next);
        }
    }

    /// Carries out a remote call to this core, if there is one, while this core waits for the entry lock. Calls
    /// `prepare` before.
    pub fn handle_request(&mut self, prepare: impl FnOnce(&mut Kernel<A>)) {
        let (kernels, core) = self.place();
        let perform = |request| {
            // SAFETY: the calling core is in exclusive mode, and waits for the end of this.
            let kernel = unsafe { self.kernel() };
            prepare(kernel);
            kernel.perform(request);
        };
        // SAFETY: only this core handles the requests of its mailbox.
        unsafe { kernels.requests[core].handle(perform) };
    }
}

impl<A: Arch> Local<'_, A> {
    /// Waits for exclusive mode unless the entry is core-local. Returns false if another core has modified this core's
    /// state since the current thread entered the kernel; it may have changed anything.
    #[inline(always)]
    pub(crate) fn make_exclusive_unless(
        &mut self,
        is_local: impl FnOnce(&mut Kernel<A>) -> bool,
    ) -> bool {
        self.take_unmodified()
            && (self.entry_lock.is_exclusive() || is_local(self) || self.make_exclusive())
    }

    /// Waits for exclusive mode. Returns the same as [`Local::make_exclusive_unless`].
    pub(crate) fn make_exclusive(&mut self) -> bool {
        if !self.entry_lock.is_exclusive() {
            self.entry_lock.mode = Mode::Unlocked;
            self.core.wait_for_entry_lock(Mode::Exclusive);
        }
        self.take_unmodified()
    }
}

/// Releases the entry lock. From here on this core uses only state that no other core accesses.
impl<A: Arch> Drop for Local<'_, A> {
    #[inline(always)]
    fn drop(&mut self) {
        let (kernels, core) = self.core.place();
        let mode = core::mem::replace(&mut self.entry_lock.mode, Mode::Unlocked);
        if mode == Mode::Exclusive {
            self.interrupt_accessed_cores();
            kernels.entry_lock.unlock_exclusive(core);
        } else {
            kernels.entry_lock.unlock_shared(core);
        }
    }
}

impl<A: Arch> Kernel<A> {
    /// Sets the current thread back to its state before it entered the kernel. Returns the thread, and where it would
    /// have continued.
    pub(crate) fn set_current_back(&mut self) -> Option<(Ptr<Thread<A>>, usize)> {
        let thread = self.core.current?;
        let context = &mut self[thread].context;
        let next = context.next_pc();
        context.restart();
        Some((thread, next))
    }

    /// Undoes [`Kernel::set_current_back`]. A thread that was stopped, stalled or migrated since then continues as
    /// its context says.
    fn continue_current(&mut self, thread: Ptr<Thread<A>>, next: usize) {
        if self.core.current == Some(thread) && matches!(self[thread].state, ThreadState::Running) {
            self[thread].context.set_next_pc(next);
        }
    }

    /// Reads the clock. In shared mode, after `is_time_local` has decided, returns the reading of that decision.
    pub(crate) fn read_clock(&mut self) -> Ticks {
        match self.entry_lock.clock_reading.take() {
            Some(moment) if self.entry_lock.mode == Mode::Shared => moment,
            _ => self.arch.now(),
        }
    }

    fn take_unmodified(&mut self) -> bool {
        !core::mem::take(&mut self.entry_lock.remotely_modified)
    }

    /// Whether another core has modified this core's state since its last kernel entry.
    pub fn is_remotely_modified(&self) -> bool {
        self.entry_lock.remotely_modified
    }

    /// Sends an IPI to the cores that this core has modified in exclusive mode, so that they find out soon. A core
    /// that waits for the entry lock finds out by itself.
    fn interrupt_accessed_cores(&mut self) {
        let kernels = self.entry_lock.kernels;
        let mut accessed_cores =
            core::mem::replace(&mut self.entry_lock.accessed_cores, CoreSet::EMPTY);
        accessed_cores.retain(|core| !kernels.entry_lock.is_waiting(core));
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
