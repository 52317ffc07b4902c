//! Machines with several cores. One of them acts at a time: the others are in their programs meanwhile, or
//! idle, and never in the kernel.

use std::cell::Cell;

use kernel::invariants::check_core;
use kernel::syscall::Interrupt;
use kernel::{Kernel, Kernels};

use super::{Answer, Budget, Machine, Spec, Task};
use crate::CPtr;
use crate::arch::Host;

thread_local! {
    /// The kernels of the machine that was used last.
    static KERNELS: Cell<Option<&'static Kernels<Host>>> = const { Cell::new(None) };
}

/// Lets a core do what another one, which is in the kernel, waits for.
pub fn attend(core: usize) {
    if let Some(kernels) = KERNELS.get() {
        // SAFETY: who waits has no reference to that kernel, and nobody else runs.
        let kernel = unsafe { kernels.get(core) };
        // On a machine it comes to the gate with an interrupt, or stands there already.
        if let Some(thread) = kernel.core.current {
            kernel[thread].context.enter_otherwise();
        }
        kernel.attend();
    }
}

impl Machine {
    /// Lets a core act.
    pub fn on<T>(&mut self, core: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.kernel.core.id;
        self.turn_to(core);
        let result = work(self);
        self.turn_to(before);
        result
    }

    /// The kernel of a core.
    pub fn kernel_of(&mut self, core: usize) -> &mut Kernel<Host> {
        // SAFETY: the machine is borrowed, and with it the kernel that acts.
        unsafe { self.place.kernels().get(core) }
    }

    /// The scheduling context, and with it the thread that runs on it, belongs to a core from now on.
    ///
    /// # Errors
    /// What the kernel answers.
    pub fn configure_on(&mut self, core: usize, context: CPtr, budget: Budget) -> Answer {
        let control = self.boot_info.sched_control.start + core;
        self.configure_by(control, context, budget)
    }

    /// Makes a task on a core.
    ///
    /// # Panics
    /// Where memory is used up.
    pub fn spawn_on(&mut self, core: usize, spec: Spec) -> Task {
        let task = self.spawn(spec.suspended());
        if let Some(budget) = spec.budget {
            let done = self.configure_on(core, task.context, budget);
            assert_eq!(done, Ok(vec![]));
        }
        self.resume(task);
        task
    }

    /// From now on this core acts.
    pub fn turn_to(&mut self, core: usize) {
        let time = self.kernel.arch.time.get();
        // SAFETY: the reference to the other kernel is replaced.
        self.kernel = unsafe { self.place.kernels().get(core) };
        self.kernel.arch.time.set(time);
    }

    /// Checks the cores that don't act, but those that must still find out what was done to them.
    pub(super) fn check_other_cores(&self) {
        for core in 0..self.kernel.cores() {
            // SAFETY: the machine is borrowed, so that nobody has a reference that may write.
            let kernel = unsafe { self.place.kernels().get(core) };
            if core != self.kernel.core.id && !kernel.is_visited() {
                if let Err(violation) = check_core(kernel) {
                    panic!("core {core}: {violation:x?}, at {} µs", self.now());
                }
                super::check_processor(kernel);
            }
        }
    }

    /// Everybody knows what time it is.
    pub(super) fn spread_time(&mut self) {
        KERNELS.set(Some(self.place.kernels()));
        let time = self.kernel.arch.time.get();
        for core in 0..self.kernel.cores() {
            self.kernel_of(core).arch.time.set(time);
        }
    }

    /// Lets a core take the interrupt that another one has sent it. Returns whether there was one.
    pub(super) fn take_call(&mut self) -> bool {
        for sender in 0..self.kernel.cores() {
            let bit = 1 << self.kernel.core.id;
            let calls = &mut self.kernel_of(sender).arch.calls;
            if *calls & bit != 0 {
                *calls &= !bit;
                self.interrupt(Interrupt::Core);
                return true;
            }
        }
        false
    }
}
