//! Machines with several cores. One core acts at a time; meanwhile the others are in user mode or
//! idle, never in the kernel, except in [`Machine::syscall_among_ipis`].

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use abi::Syscall;
use abi::registers::SYSCALL;
use kernel::arch::UserContext;

use kernel::invariants::check_core;
use kernel::syscall::Interrupt;
use kernel::time::Ticks;
use kernel::{Kernel, Kernels};

use super::{Answer, Budget, Machine, Message, Operands, Spec, Task};
use crate::CPtr;
use crate::arch::Host;

thread_local! {
    /// The kernels of the machine that was used last on this host thread.
    static KERNELS: Cell<*const Kernels<Host>> = const { Cell::new(std::ptr::null()) };
}

/// Lets a core handle its requests, for which another core waits in the kernel.
pub fn handle_requests(core: usize) {
    // SAFETY: a machine that has several cores sets it before one of them waits for another.
    if let Some(kernels) = unsafe { KERNELS.get().as_ref() } {
        // SAFETY: the waiting core has no reference to that kernel, and no other core runs.
        let mut handle = unsafe { kernels.handle(core) };
        // On real hardware, the core takes an IPI or already waits for the entry lock.
        handle.handle_request(|kernel| {
            if let Some(thread) = kernel.core.current {
                kernel[thread].context.enter_otherwise();
            }
        });
    }
}

impl Machine {
    /// Runs `work` on a core.
    pub fn on<T>(&mut self, core: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.kernel.core.id;
        self.turn_to(core);
        let result = work(self);
        self.turn_to(before);
        result
    }

    /// The kernel of a core.
    pub fn kernel_of(&mut self, core: usize) -> &mut Kernel<Host> {
        if core == self.kernel.core.id {
            return self.kernel;
        }
        // SAFETY: the machine is borrowed, and with it all kernels; this one is not the acting one.
        unsafe { self.place.kernels().get(core) }
    }

    /// Makes a core the owner of a scheduling context and of the thread that runs on it.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn configure_on(&mut self, core: usize, context: CPtr, budget: Budget) -> Answer {
        let control = self.boot_info.sched_control.start + core;
        self.configure_by(control, context, budget)
    }

    /// Makes a task that a core owns.
    ///
    /// # Panics
    /// If memory is exhausted.
    pub fn spawn_on(&mut self, core: usize, spec: Spec) -> Task {
        let task = self.spawn(spec.suspended());
        if let Some(budget) = spec.budget {
            let done = self.configure_on(core, task.context, budget);
            assert_eq!(done, Ok(vec![]));
        }
        self.resume(task);
        task
    }

    /// The running task of this core makes a system call while the other cores take IPIs again and again: all
    /// at the same time, each core on a thread of the host.
    ///
    /// # Panics
    /// As [`Machine::syscall`].
    pub fn syscall_among_ipis(
        &mut self,
        task: Task,
        call: Syscall,
        operands: Operands,
        message: &Message,
    ) {
        self.prepare(task, operands, message);
        self.expect_running(task);
        let context = &mut self.kernel[task.thread].context;
        context.set_result(SYSCALL, call.number());
        context.advance_to_syscall();
        context.enter_syscall();
        let (acting, cores) = (self.kernel.core.id, self.kernel.cores());
        for core in (0..cores).filter(|core| *core != acting) {
            let kernel = self.kernel_of(core);
            if let Some(thread) = kernel.core.current {
                kernel[thread].context.enter_otherwise();
            }
        }
        let (kernels, done) = (self.place.kernels(), AtomicBool::new(false));
        thread::scope(|scope| {
            for core in 0..cores {
                let done = &done;
                scope.spawn(move || {
                    // SAFETY: each core has one host thread, and the machine's reference is not used meanwhile.
                    let mut handle = unsafe { kernels.handle(core) };
                    if core == acting {
                        handle.enter().handle_syscall(Kernel::take_fast_path);
                        done.store(true, Ordering::Release);
                    }
                    while !done.load(Ordering::Acquire) {
                        handle.enter().handle_interrupt(Interrupt::Core);
                        thread::yield_now();
                    }
                });
            }
        });
        // SAFETY: it replaces the only other reference.
        self.kernel = unsafe { kernels.get(acting) };
        self.settle();
    }

    /// Does `work` on this core while another one is in the kernel, in shared mode. Returns whether it could stay there;
    /// if this core waits for exclusive mode, the other one leaves, `wait` later.
    ///
    /// # Panics
    /// As `work`.
    pub fn is_done_beside(
        &mut self,
        other: usize,
        wait: Ticks,
        work: impl FnOnce(&mut Self),
    ) -> bool {
        // From the announcement that a core waits until it has seen that it must.
        const WHILE: Duration = Duration::from_millis(20);
        let (kernels, acting) = (self.place.kernels(), self.kernel.core.id);
        let (entered, done) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            let other = scope.spawn(|| {
                // SAFETY: no other handle of it is in use: that core has nothing to do meanwhile.
                let mut handle = unsafe { kernels.handle(other) };
                let entry = handle.enter();
                entered.store(true, Ordering::Release);
                while !done.load(Ordering::Acquire) && !kernels.is_waiting(acting) {
                    thread::yield_now();
                }
                let stayed = done.load(Ordering::Acquire);
                if !stayed {
                    thread::sleep(WHILE);
                    // SAFETY: the waiting core has no reference to its kernel.
                    let time = unsafe { &kernels.read(acting).arch.time };
                    time.set(time.get() + wait);
                }
                drop(entry);
                stayed
            });
            while !entered.load(Ordering::Acquire) {
                thread::yield_now();
            }
            work(self);
            done.store(true, Ordering::Release);
            other.join().expect("it only waits")
        })
    }

    /// Makes this core the acting one.
    pub fn turn_to(&mut self, core: usize) {
        let time = self.kernel.arch.time.get();
        // SAFETY: the reference to the other kernel is replaced.
        self.kernel = unsafe { self.place.kernels().get(core) };
        self.kernel.arch.time.set(time);
    }

    /// The kernels of all cores.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel<Host>> {
        (0..self.kernel.cores()).map(|core| match core == self.kernel.core.id {
            true => &*self.kernel,
            // SAFETY: the machine is borrowed, so no mutable reference is in use.
            false => unsafe { self.place.kernels().read(core) },
        })
    }

    /// Checks the cores that do not act, except those that have not yet seen a remote modification.
    pub(super) fn check_other_cores(&self) {
        let acting = self.kernel.core.id;
        for kernel in self.kernels().filter(|kernel| kernel.core.id != acting) {
            if !kernel.is_remotely_modified() {
                if let Err(violation) = check_core(kernel) {
                    panic!(
                        "core {}: {violation:x?}, at {} µs",
                        kernel.core.id,
                        self.now()
                    );
                }
                super::check_processor(kernel);
            }
        }
    }

    /// Sets the clocks of all cores to the time of this core.
    #[cfg(feature = "smp")]
    pub(super) fn spread_time(&mut self) {
        KERNELS.set(self.place.kernels());
        let time = self.kernel.arch.time.get();
        for core in 0..self.kernel.cores() {
            self.kernel_of(core).arch.time.set(time);
        }
    }

    /// Lets this core take an IPI from another core. Returns whether there was one.
    pub(super) fn take_call(&mut self) -> bool {
        let is_called = self.accept_call();
        if is_called {
            self.interrupt(Interrupt::Core);
        }
        is_called
    }

    /// Accepts an IPI that another core has sent to this one. Returns whether there was one.
    pub fn accept_call(&mut self) -> bool {
        let bit = 1 << self.kernel.core.id;
        (0..self.kernel.cores()).any(|sender| {
            let calls = &mut self.kernel_of(sender).arch.calls;
            let is_called = *calls & bit != 0;
            *calls &= !bit;
            is_called
        })
    }

    /// The cores share a clock and an interrupt controller: sets all clocks to the latest time, and masks lines for all
    /// as this core does.
    pub fn share(&mut self) {
        KERNELS.set(self.place.kernels());
        let cores = 0..self.kernel.cores();
        let times = cores
            .clone()
            .map(|core| self.kernel_of(core).arch.time.get());
        let (time, lines) = (times.max().unwrap_or_default(), self.kernel.arch.lines);
        for core in cores {
            let arch = &mut self.kernel_of(core).arch;
            arch.time.set(time);
            for (line, own) in arch.lines.iter_mut().zip(lines) {
                line.masked = own.masked;
            }
        }
    }
}
