//! The timer that the kernel leaves to users, if the ABI's option `user-timer` is on.
//!
//! It consists of registers of the core, which any thread can name. They are switched lazily, as those of
//! the floating-point unit are: they belong to the thread that used them last, the owner, and accesses of
//! other threads trap. While its owner waits, the timer continues and can raise its interrupt. When another
//! thread uses it, the registers are saved in the owner's context, where they do not count until the owner
//! uses them again. So no thread reads what another one wrote, but only one driver thread per core should
//! use them.
//!
//! Without the option they trap in all threads, except in benchmark kernels, where all threads share them.

use abi::config::USER_TIMER;
use kernel::arch::Arch;
use kernel::object::Thread;
use kernel::sched::Scheduler;
use kernel::token::Ptr;

use crate::timer::Timer;

/// The saved registers.
#[derive(Clone, Copy, Debug)]
pub struct SavedTimer {
    /// The time at which it raises its interrupt.
    pub comparator: u64,
    /// Its control register.
    pub control: u64,
}

impl SavedTimer {
    /// A timer that was never used.
    pub const OFF: Self = Self {
        comparator: 0,
        control: 0,
    };
}

/// The part of a thread's context that saves the timer.
pub type InContext = [SavedTimer; USER_TIMER as usize];

/// An architecture with such a timer, on some of its platforms.
pub trait HasUserTimer: Arch {
    /// The timers of a core.
    type Timer: Timer;

    /// The timers of this core, and the state of the second one.
    fn user_timer(&mut self) -> (&mut Self::Timer, &mut UserTimer<Self>);

    /// The saved timer in a thread's context.
    fn saved_timer(context: &mut Self::Context) -> &mut InContext;
}

/// The timer's state on this core.
pub struct UserTimer<A: Arch> {
    /// The thread to which the register contents belong.
    owner: Option<Ptr<Thread<A>>>,
    open: bool,
}

impl<A: HasUserTimer> UserTimer<A> {
    /// Offset of the owner, for fast paths in assembly.
    pub const OWNER: usize = core::mem::offset_of!(Self, owner);
    /// Offset of the byte that indicates whether user mode can access it.
    pub const OPEN: usize = core::mem::offset_of!(Self, open);

    /// A timer without an owner, which user mode cannot access.
    pub const fn new() -> Self {
        Self {
            owner: None,
            open: false,
        }
    }

    /// Whether the register contents belong to a thread.
    pub fn holds(&self, thread: Ptr<Thread<A>>) -> bool {
        self.owner == Some(thread)
    }

    fn set_open(&mut self, timer: &mut A::Timer, open: bool) {
        if self.open != open {
            self.open = open;
            timer.set_open(open);
        }
    }
}

/// Allows access if the next thread is the owner, and forbids it otherwise.
#[inline(always)]
pub fn switch_to<A: HasUserTimer>(kernel: &mut Scheduler<A>, next: Ptr<Thread<A>>) {
    if A::Timer::FOR_USERS {
        let (timer, state) = kernel.arch.user_timer();
        state.set_open(timer, Ptr::is_same(state.owner, Some(next)));
    }
}

/// Handles an undefined instruction of the current thread, which may have been an access to the timer.
/// Makes the thread its owner, unless it already is; returns whether to execute the instruction again.
pub fn acquire<A: HasUserTimer>(kernel: &mut Scheduler<A>) -> bool {
    if !A::Timer::FOR_USERS {
        return false;
    }
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if kernel.arch.user_timer().1.holds(thread) {
        return false;
    }
    write_back(kernel);
    for &mut saved in A::saved_timer(&mut kernel.capabilities.objects[thread].context) {
        kernel.arch.user_timer().0.put(saved);
    }
    let (timer, state) = kernel.arch.user_timer();
    state.owner = Some(thread);
    state.set_open(timer, true);
    true
}

/// Writes the registers back into the context of a thread, if it is their owner.
pub fn release<A: HasUserTimer>(kernel: &mut Scheduler<A>, thread: Ptr<Thread<A>>) {
    if A::Timer::FOR_USERS && kernel.arch.user_timer().1.holds(thread) {
        write_back(kernel);
        let (timer, state) = kernel.arch.user_timer();
        state.set_open(timer, false);
    }
}

fn write_back<A: HasUserTimer>(kernel: &mut Scheduler<A>) {
    let (timer, state) = kernel.arch.user_timer();
    if let Some(owner) = state.owner.take() {
        let registers = timer.take();
        for saved in A::saved_timer(&mut kernel.capabilities.objects[owner].context) {
            *saved = registers;
        }
    }
}
