//! Several cores: the state of secondary cores, and what the kernel requires.

use kernel::arch::Multicore;
use kernel::object::Thread;
use kernel::sched::Scheduler;
use kernel::token::Ptr;

use super::{ExecutionState, Machine, fpu};
use crate::lines::Lines;
use crate::platform::Platform;
use crate::spaces::{AddressSpaces, Remote};

impl<V: ExecutionState, P: Platform> Machine<V, P> {
    /// The state of a secondary core.
    pub fn of(core: usize, (controller, timer): (P::Controller, P::Timer)) -> Self {
        Self::with(core, Lines::of(core, controller, P::TIMER_INTERRUPT), timer)
    }
}

impl<V: ExecutionState, P: Platform> Multicore for Machine<V, P> {
    type Remote = Remote<V::Format>;

    fn interrupt_core(&mut self, core: usize) {
        self.lines.interrupt_core(core);
    }

    fn perform(kernel: &mut Scheduler<Self>, remote: Remote<V::Format>) {
        kernel.arch.spaces.perform(remote);
    }

    fn holds(&self, thread: Ptr<Thread<Self>>) -> bool {
        self.fpu.owner == Some(thread) || self.user_timer.holds(thread)
    }

    fn write_back_thread(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
    }
}
