//! The timer that the kernel leaves to users, with the ABI's option `user-timer`.
//!
//! It is registers of the core, which any thread can name, so they are switched like the floating-point unit,
//! lazily: they stay those of the thread that used them last, their owner, and trap in other threads. The
//! timer goes on, and raises its interrupt, while its owner waits. When another thread uses it, the registers
//! are saved with the owner, where they stand still until that uses them again. So no thread reads what
//! another one wrote, but one driver should be the only thread of its core that uses them.
//!
//! Without the option they trap in all threads, except in benchmark kernels, where all share them.

use abi::config::USER_TIMER;
use kernel::Kernel;
use kernel::arch::Arch;
use kernel::object::Thread;
use kernel::token::Ptr;

use crate::timer::Timer;

/// What its registers hold.
#[derive(Clone, Copy, Debug)]
pub struct SavedTimer {
    /// When it raises its interrupt.
    pub comparator: u64,
    /// Whether it does.
    pub control: u64,
}

impl SavedTimer {
    /// A timer that was never used.
    pub const OFF: Self = Self {
        comparator: 0,
        control: 0,
    };
}

/// What a thread's context has of it.
pub type InContext = [SavedTimer; USER_TIMER as usize];

/// An architecture with such a timer, on some of its platforms.
pub trait HasUserTimer: Arch {
    /// The timers of a core.
    type Timer: Timer;

    /// Those of this core, and the second one's state.
    fn user_timer(&mut self) -> (&mut Self::Timer, &mut UserTimer<Self>);

    /// What a thread has in its context.
    fn saved_timer(context: &mut Self::Context) -> &mut InContext;
}

/// The timer's state on this core.
pub struct UserTimer<A: Arch> {
    /// Whose registers it has.
    owner: Option<Ptr<Thread<A>>>,
    open: bool,
}

impl<A: HasUserTimer> UserTimer<A> {
    /// Offset of the owner, for fast paths in assembly.
    pub const OWNER: usize = core::mem::offset_of!(Self, owner);
    /// Offset of the byte that tells whether user mode can reach it.
    pub const OPEN: usize = core::mem::offset_of!(Self, open);

    /// It has no owner, and user mode cannot reach it.
    #[expect(clippy::new_without_default, reason = "there is one for each core")]
    pub const fn new() -> Self {
        Self {
            owner: None,
            open: false,
        }
    }

    /// Whether its registers are those of a thread.
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

/// Leaves it open for its owner, and closed for others.
#[inline(always)]
pub fn switch_to<A: HasUserTimer>(kernel: &mut Kernel<A>, next: Ptr<Thread<A>>) {
    if A::Timer::FOR_USERS {
        let (timer, state) = kernel.arch.user_timer();
        state.set_open(timer, Ptr::is_same(state.owner, Some(next)));
    }
}

/// An instruction of the current thread was refused, perhaps because the timer is closed. Gives the timer to
/// it, unless it has it; returns whether the instruction is worth another try.
pub fn acquire<A: HasUserTimer>(kernel: &mut Kernel<A>) -> bool {
    if !A::Timer::FOR_USERS {
        return false;
    }
    debug_assert!(kernel.is_in());
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if kernel.arch.user_timer().1.holds(thread) {
        return false;
    }
    write_back(kernel);
    for &mut saved in A::saved_timer(&mut kernel.objects[thread].context) {
        kernel.arch.user_timer().0.put(saved);
    }
    let (timer, state) = kernel.arch.user_timer();
    state.owner = Some(thread);
    state.set_open(timer, true);
    true
}

/// Writes the registers back into the context of a thread, if they are that thread's.
pub fn release<A: HasUserTimer>(kernel: &mut Kernel<A>, thread: Ptr<Thread<A>>) {
    if A::Timer::FOR_USERS && kernel.arch.user_timer().1.holds(thread) {
        write_back(kernel);
        let (timer, state) = kernel.arch.user_timer();
        state.set_open(timer, false);
    }
}

fn write_back<A: HasUserTimer>(kernel: &mut Kernel<A>) {
    let (timer, state) = kernel.arch.user_timer();
    if let Some(owner) = state.owner.take() {
        let registers = timer.take();
        for saved in A::saved_timer(&mut kernel.objects[owner].context) {
            *saved = registers;
        }
    }
}
