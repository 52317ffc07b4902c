//! Kernel entry and exit with several cores.

use core::mem::offset_of;

use super::visit::CoreSet;
use super::{BIG_LOCK, CORES, Kernels};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::object::{Endpoint, ThreadState, core_bits};
use crate::sync::spin_loop;
use crate::time::Ticks;

/// How a core holds the entry lock: not at all, in shared mode, or in exclusive mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Outside,
    Inside,
    Alone,
}

/// A core's side of the entry lock. The fields that fast paths in assembly use come first.
#[repr(C)]
pub struct Gate<A: Arch> {
    /// Address of the word in which this core announces its state to other cores.
    place: *const usize,
    /// Address of the byte that says whether a core holds the entry lock exclusively.
    stopped: *const u8,
    /// This core, as encoded in the words of endpoints and reply objects.
    bits: usize,
    /// The same with the receivers' mark.
    receiving: usize,
    /// Another core has modified this core's state since this core's last kernel entry.
    pub(super) visited: bool,
    pub(super) kernels: &'static Kernels<A>,
    core: usize,
    standing: Standing,
    /// A remote access found the current head replenishment used up, and has charged it.
    pub(super) slice_is_over: bool,
    /// The clock reading with which `time_stays` has decided.
    pub(super) looked: Option<Ticks>,
    /// The cores that this core has modified in exclusive mode.
    pub(super) visits: CoreSet,
}

/// Offsets for fast paths in assembly.
impl<A: Arch> Gate<A> {
    /// Offset of the address of the word with this core's state.
    pub const PLACE: usize = offset_of!(Self, place);
    /// Offset of the address of the byte that says whether a core holds the entry lock exclusively.
    pub const STOPPED: usize = offset_of!(Self, stopped);
    /// Offset of this core, as encoded in the words of endpoints and reply objects.
    pub const BITS: usize = offset_of!(Self, bits);
    /// Offset of the same with the receivers' mark.
    pub const RECEIVING: usize = offset_of!(Self, receiving);
    /// Offset of the byte that says whether this core was remotely modified.
    pub const VISITED: usize = offset_of!(Self, visited);
}

impl<A: Arch> Gate<A> {
    pub(super) fn new(kernels: &'static Kernels<A>, core: usize) -> Self {
        assert!(core < CORES);
        let bits = core_bits(core as u8);
        Self {
            place: kernels.world.place_of(core),
            stopped: kernels.world.stopped(),
            bits,
            receiving: bits | Endpoint::<A>::RECEIVING,
            kernels,
            core,
            standing: Standing::Outside,
            visited: false,
            slice_is_over: false,
            looked: None,
            visits: CoreSet::EMPTY,
        }
    }

    pub(crate) const fn core(&self) -> usize {
        self.core
    }

    pub(super) fn is_inside(&self) -> bool {
        self.standing == Standing::Inside
    }

    pub(super) fn is_alone(&self) -> bool {
        self.standing == Standing::Alone
    }
}

impl<A: Arch> Kernel<A> {
    /// The first kernel entry of a secondary core: from now on it runs the threads that it is given.
    pub fn join(&mut self) {
        self.core.now = self.arch.now();
        self.come_in_alone();
        self.choose_again();
        self.leave();
        self.go_out();
    }

    /// Enters in shared mode, if no core holds the entry lock exclusively and this core was not remotely
    /// modified. Otherwise changes nothing.
    #[inline(always)]
    pub(crate) fn come_in_quickly(&mut self) -> bool {
        if BIG_LOCK || !self.gate.kernels.world.try_enter(self.gate.core) {
            return false;
        }
        if self.gate.visited {
            self.gate.kernels.world.leave(self.gate.core);
            return false;
        }
        self.gate.standing = Standing::Inside;
        true
    }

    /// A fast path in assembly has entered in shared mode.
    #[inline(always)]
    pub(crate) fn came_in(&mut self) {
        self.gate.standing = Standing::Inside;
    }

    /// Enters in shared mode, unless this core is in the kernel already. Returns false if another core has
    /// modified this core's state since the current thread entered the kernel; it may have changed anything.
    #[inline(always)]
    pub(crate) fn come_in(&mut self) -> bool {
        if BIG_LOCK {
            return self.come_in_alone();
        }
        if self.gate.standing == Standing::Outside {
            if self.gate.kernels.world.try_enter(self.gate.core) {
                self.gate.standing = Standing::Inside;
            } else {
                let kernels = self.gate.kernels;
                return self.wait_at_gate(Standing::Inside, |kernel, core| {
                    kernels.world.wait(core, || kernel.wait_and_attend());
                });
            }
        }
        self.is_as_it_was()
    }

    /// Enters, in exclusive mode unless the entry is core-local. Returns the same as [`Kernel::come_in`].
    #[inline(always)]
    pub(crate) fn come_in_for(&mut self, stays: impl FnOnce(&mut Self) -> bool) -> bool {
        self.come_in()
            && (self.gate.standing == Standing::Alone || stays(self) || self.come_in_alone())
    }

    /// Enters, in exclusive mode unless the current thread's request is core-local. Returns whether to handle
    /// the request now; otherwise the entry is over, and the thread restarts its system call when it next
    /// runs.
    #[inline(always)]
    pub(crate) fn enter_for(&mut self, stays: fn(&mut Self) -> bool) -> bool {
        self.come_in_for(stays) || self.enter_after_visit(stays)
    }

    /// The same after this core was remotely modified. The modifications take effect first: that ends like a
    /// kernel entry, with the choice of a thread. If the current thread continues, its request is handled in
    /// this same entry. If it had to restart from user mode, a core that keeps entering in exclusive mode
    /// could starve it.
    ///
    /// An entry waits for the entry lock three times at most: at its beginning, in `catch_up` for the effects
    /// of the time that has passed, and for its request. After the second wait this core holds the lock
    /// exclusively.
    #[cold]
    fn enter_after_visit(&mut self, stays: fn(&mut Self) -> bool) -> bool {
        loop {
            let asked = self.core.current.map(|thread| {
                let context = &mut self[thread].context;
                let next = context.next_pc();
                context.restart();
                (thread, next)
            });
            self.catch_up();
            self.check_budget();
            // A thread that a remote access has stopped is in another state. So is one that it has stalled:
            // its registers may have been written, and the new values count.
            let asked = asked.filter(|&(thread, _)| {
                self.core.current == Some(thread)
                    && matches!(self[thread].state, ThreadState::Running)
            });
            self.leave();
            let Some((thread, next)) = asked else {
                return false;
            };
            if self.core.current != Some(thread) {
                return false;
            }
            self[thread].context.set_next_pc(next);
            if self.come_in_for(stays) {
                return true;
            }
        }
    }

    /// Reads the clock. In shared mode, after `time_stays` has decided, returns the reading of that decision.
    pub(crate) fn look_at_clock(&mut self) -> Ticks {
        match self.gate.looked.take() {
            Some(moment) if self.gate.standing == Standing::Inside => moment,
            _ => self.arch.now(),
        }
    }

    /// Enters in exclusive mode. Returns the same as [`Kernel::come_in`].
    pub(crate) fn come_in_alone(&mut self) -> bool {
        if self.gate.standing == Standing::Alone {
            return true;
        }
        let kernels = self.gate.kernels;
        self.wait_at_gate(Standing::Alone, |kernel, core| {
            kernels.world.stop(core, || kernel.wait_and_attend());
        })
    }

    /// Waits for the entry lock by `wait`, to hold it as `then` says. In the meantime, remote accesses see
    /// the current thread as if it had not entered the kernel yet.
    fn wait_at_gate(&mut self, then: Standing, wait: impl FnOnce(&mut Self, usize)) -> bool {
        let current = self.core.current;
        let next = current.map(|thread| {
            let next = self[thread].context.next_pc();
            self[thread].context.restart();
            next
        });
        // A clock reading from before the wait does not decide about the time after it.
        self.gate.looked = None;
        wait(self, self.gate.core);
        self.gate.standing = then;
        // A thread that was stopped, stalled or migrated continues as its context says.
        if let (Some(thread), Some(next)) = (current, next)
            && self.core.current == current
            && matches!(self[thread].state, ThreadState::Running)
        {
            self[thread].context.set_next_pc(next);
        }
        self.is_as_it_was()
    }

    fn is_as_it_was(&mut self) -> bool {
        !core::mem::take(&mut self.gate.visited)
    }

    /// Applies the effects of the time that has passed, after remote accesses. Enters in exclusive mode
    /// unless these effects are core-local.
    pub(crate) fn catch_up(&mut self) {
        while !self.gate.is_alone() && (self.gate.slice_is_over || !self.time_stays()) {
            // Remote accesses during this wait are covered, too.
            self.come_in_alone();
        }
        self.settle();
        self.end_slice_that_is_over();
        self.forget_limits();
    }

    /// Whether another core has modified this core's state since its last kernel entry.
    pub fn is_visited(&self) -> bool {
        self.gate.visited
    }

    fn wait_and_attend(&mut self) {
        self.attend();
        // An emulator that runs the cores in turns switches to another one here.
        spin_loop();
    }

    /// Handles a remote call to this core, if there is one, while this core waits for the entry lock.
    pub fn attend(&mut self) {
        let (kernels, core) = (self.gate.kernels, self.gate.core);
        // SAFETY: only this core handles the requests of its mailbox.
        unsafe { kernels.requests[core].serve(|request| self.perform(request)) };
    }

    /// Whether this core holds the entry lock, in either mode, and may use the state that it owns.
    pub fn is_in(&self) -> bool {
        self.gate.standing != Standing::Outside
    }

    /// Releases the entry lock. From here on this core uses only state that no other core accesses.
    #[inline(always)]
    pub(crate) fn go_out(&mut self) {
        match core::mem::replace(&mut self.gate.standing, Standing::Outside) {
            Standing::Outside => {}
            Standing::Inside => self.gate.kernels.world.leave(self.gate.core),
            Standing::Alone => self.resume_world(),
        }
    }

    /// Leaves exclusive mode, and sends an IPI to the modified cores, so that they find out soon.
    fn resume_world(&mut self) {
        let kernels = self.gate.kernels;
        let mut visits = core::mem::replace(&mut self.gate.visits, CoreSet::EMPTY);
        // A core that waits for the entry lock finds out by itself.
        visits.retain(|core| !kernels.world.is_at_gate(core));
        kernels.world.resume(self.gate.core);
        visits.for_each(|core| self.arch.interrupt_core(core));
    }

    /// Whether another core waits for the entry lock, which this core holds exclusively.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.gate.is_alone() && self.gate.kernels.world.is_waited_for(self.gate.core)
    }
}
