//! The way into the kernel and out of it, where there are several cores.

use core::mem::offset_of;

use super::visit::CoreSet;
use super::{BIG_LOCK, CORES, Kernels};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::object::{Endpoint, ThreadState, core_bits};
use crate::sync::spin_loop;
use crate::time::Ticks;

/// Where a core stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Outside,
    Inside,
    Alone,
}

/// A core's side of the gate. What fast paths in assembly use stands first.
#[repr(C)]
pub struct Gate<A: Arch> {
    /// Where others see where this core is.
    place: *const usize,
    /// Where it stands whether the world is stopped.
    stopped: *const u8,
    /// The core as it stands in the words of endpoints and reply objects,
    bits: usize,
    /// and with the mark of receivers.
    receiving: usize,
    /// Somebody who was alone has been here since this core entered the kernel the last time.
    pub(super) visited: bool,
    pub(super) kernels: &'static Kernels<A>,
    core: usize,
    standing: Standing,
    /// Who was here found that the slice of the current thread is over, and has charged it.
    pub(super) slice_is_over: bool,
    /// The moment for which it was asked whether the time stays on this core.
    pub(super) looked: Option<Ticks>,
    /// Where this core has been while it is alone.
    pub(super) visits: CoreSet,
}

/// What fast paths in assembly know.
impl<A: Arch> Gate<A> {
    /// Offset of the address of the word that tells where this core is.
    pub const PLACE: usize = offset_of!(Self, place);
    /// Offset of the address of the byte that tells whether the world is stopped.
    pub const STOPPED: usize = offset_of!(Self, stopped);
    /// Offset of the core, as it stands in the words of endpoints and reply objects.
    pub const BITS: usize = offset_of!(Self, bits);
    /// Offset of the same, with the mark of receivers.
    pub const RECEIVING: usize = offset_of!(Self, receiving);
    /// Offset of the byte that tells whether somebody has been here.
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
    /// The first entry of a core other than that which has booted: from now on it runs whom it is given.
    pub fn join(&mut self) {
        self.core.now = self.arch.now();
        self.come_in_alone();
        self.choose_again();
        self.leave();
        self.go_out();
    }

    /// Goes inside, for what concerns this core alone, if nobody has stopped the world or been here. Else
    /// nothing has changed.
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

    /// A fast path in assembly has gone inside.
    #[inline(always)]
    pub(crate) fn came_in(&mut self) {
        self.gate.standing = Standing::Inside;
    }

    /// Goes inside. Returns whether everything is as it was when the current thread entered the kernel; else
    /// another core was here, which may have changed anything.
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

    /// Becomes alone unless the entry stays on this core. Returns the same as [`Kernel::come_in`].
    #[inline(always)]
    pub(crate) fn come_in_for(&mut self, stays: impl FnOnce(&mut Self) -> bool) -> bool {
        self.come_in()
            && (self.gate.standing == Standing::Alone || stays(self) || self.come_in_alone())
    }

    /// Becomes alone unless what the current thread has entered the kernel for stays on this core. Returns
    /// whether that is to be done now; else the entry is over, and the thread asks again when it runs again.
    #[inline(always)]
    pub(crate) fn enter_for(&mut self, stays: fn(&mut Self) -> bool) -> bool {
        self.come_in_for(stays) || self.enter_after_visit(stays)
    }

    /// The same, after another core was here. What it has changed counts first: that ends as a kernel entry
    /// does, with the choice of a thread. If the current one goes on, it is served in this entry. If it had to
    /// ask again from user mode, a core that is here all the time would keep it from its system calls for ever.
    ///
    /// An entry waits at the gate three times at most: at its beginning; in order to tell others about the time
    /// that has passed; and in order to do what it is for. After the second it is alone.
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
            // One that a visitor has stopped is in another state, and so is one of which it has asked for the
            // registers: these may have been written, and count.
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

    /// The time. Who has asked whether the time stays on this core goes by the moment of the question.
    pub(crate) fn look_at_clock(&mut self) -> Ticks {
        match self.gate.looked.take() {
            Some(moment) if self.gate.standing == Standing::Inside => moment,
            _ => self.arch.now(),
        }
    }

    /// Becomes alone. Returns the same as [`Kernel::come_in`].
    pub(crate) fn come_in_alone(&mut self) -> bool {
        if self.gate.standing == Standing::Alone {
            return true;
        }
        let kernels = self.gate.kernels;
        self.wait_at_gate(Standing::Alone, |kernel, core| {
            kernels.world.stop(core, || kernel.wait_and_attend());
        })
    }

    /// Waits for its turn, in which the core stands elsewhere. Who is alone meanwhile finds the current thread
    /// as if it had not entered the kernel yet.
    fn wait_at_gate(&mut self, then: Standing, wait: impl FnOnce(&mut Self, usize)) -> bool {
        let current = self.core.current;
        let next = current.map(|thread| {
            let next = self[thread].context.next_pc();
            self[thread].context.restart();
            next
        });
        // Who was asked before it waits does not answer for the time afterwards.
        self.gate.looked = None;
        wait(self, self.gate.core);
        self.gate.standing = then;
        // One that was stopped or moved, or whose registers were asked for, goes on as its context says.
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

    /// Does what the time asks for, after others were here. It is alone for it if somebody else has to be
    /// told.
    pub(crate) fn catch_up(&mut self) {
        while !self.gate.is_alone() && (self.gate.slice_is_over || !self.time_stays()) {
            // Whoever comes meanwhile is caught up with, too.
            self.come_in_alone();
        }
        self.settle();
        self.end_slice_that_is_over();
        self.forget_limits();
    }

    /// Whether somebody who was alone has been here.
    pub fn is_visited(&self) -> bool {
        self.gate.visited
    }

    fn wait_and_attend(&mut self) {
        self.attend();
        // An emulator of which the cores take turns lets another one go on.
        spin_loop();
    }

    /// Does what another core asks for, if it does, while this one waits at the gate.
    pub fn attend(&mut self) {
        let (kernels, core) = (self.gate.kernels, self.gate.core);
        // SAFETY: these are this core's.
        unsafe { kernels.requests[core].serve(|request| self.perform(request)) };
    }

    /// Whether this core may use what belongs to it, as nobody else does.
    pub fn is_in(&self) -> bool {
        self.gate.standing != Standing::Outside
    }

    /// Leaves the kernel. From here on nothing may be used but what is the core's alone.
    #[inline(always)]
    pub(crate) fn go_out(&mut self) {
        match core::mem::replace(&mut self.gate.standing, Standing::Outside) {
            Standing::Outside => {}
            Standing::Inside => self.gate.kernels.world.leave(self.gate.core),
            Standing::Alone => self.resume_world(),
        }
    }

    /// Lets the others go on, and those that were visited find out soon.
    fn resume_world(&mut self) {
        let kernels = self.gate.kernels;
        let mut visits = core::mem::replace(&mut self.gate.visits, CoreSet::EMPTY);
        // Who waits at the gate finds out by itself.
        visits.retain(|core| !kernels.world.is_at_gate(core));
        kernels.world.resume(self.gate.core);
        visits.for_each(|core| self.arch.interrupt_core(core));
    }

    /// Whether anybody waits for this core, which is alone.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.gate.is_alone() && self.gate.kernels.world.is_waited_for(self.gate.core)
    }
}
