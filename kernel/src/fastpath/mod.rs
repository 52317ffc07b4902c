//! Fast paths for the common cases of frequent operations.
//!
//! Fast paths are optional: without them only timing changes. A fast path first checks, without side
//! effects, whether its case is the common one. If not, it is not eligible, and the slow path runs. If
//! so, it has the same effect as the slow path, but skips checks with results that it already knows.
//! `tests/kernel-host` runs histories with and without the fast paths and compares the results.
//!
//! | fast path | common case |
//! |---|---|
//! | `call` | a receiver waits with a reply object; it is passive, or its own context has enough budget; the caller has the budget for an endpoint threshold, which does not report it to the receiver |
//! | `reply_recv` | a caller, or a faulted thread, waits for the reply, and no sender waits; a limit of the call is not reached |
//! | `send` | a receiver waits that has its own context; or the capability is one to a reply object, and the caller has kept its context |
//! | `recv` | no sender waits, the endpoint has no threshold, and another thread is ready to run |
//! | `signal` | no thread waits, or one that has its own context |
//! | `wait` | a signal is pending, or another thread is ready to run |
//! | `yield_slice` | the context is round robin, and no thread in the release queue is due |
//! | `call`, of a fault | the handler waits, as for a call |
//! | `timer` | a budget or a `YieldToTimeout` ends whose handler waits and has its own context, or a thread is due that has a higher priority |
//! | `turn` | `YieldToTimeout` by `NBSendRecv`: the thread waits for a reply and runs next, and no sender waits |
//! | `invoke` | the capability is one to memory |
//! | `capability` | as for `call` and `reply_recv` with a passive server, and with one extra capability that is not one to memory |
//!
//! None of them is eligible for other messages with extra capabilities, idling contexts, or capability lookups of
//! several levels; contexts with a timer only where it is set, where it expires, and where its thread calls a
//! receiver that has its own context; those with a limit only where a call gets it, and where the reply ends it. At
//! endpoints with a threshold, only calls are eligible, and a passive server that waits again after its reply.
//!
//! # Time
//! If a call donates its context, the current scheduling context stays the same, and so does the time at
//! which its budget ends. These fast paths do not read the clock: the next kernel entry that reads it
//! charges the time to the context, and the timer interrupts when the budget ends, whichever thread has
//! the context by then. If the current scheduling context changes, time is accounted for as on the slow
//! path.

mod call;
mod capability;
mod invoke;
mod layout;
mod recv;
mod reply_recv;
mod signal;
mod switch;
mod timer;
mod turn;
mod yield_slice;

use abi::registers::{CAP, INFO, SYSCALL};
use abi::{MessageInfo, Syscall};

pub use layout::{Layout, NO_MEMBER};

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::config::BIG_LOCK;
use crate::cores::CoreHandle;
use crate::instruments::{CHECKED, checked};
use crate::object::Thread;
use crate::slot::{RawCap, Slot};
use crate::token::Ptr;

const CALL: usize = Syscall::Call.number();
const REPLY_RECV: usize = Syscall::ReplyRecv.number();

/// The registers that fast paths need of a system call. All registers are also in the thread's register
/// context.
pub struct SystemCall<A: Arch> {
    /// The current thread.
    pub thread: Ptr<Thread<A>>,
    /// The system call number.
    pub number: usize,
    /// The address of the capability.
    pub cap: usize,
    /// The message information.
    pub info: MessageInfo,
}

impl<A: Arch> SystemCall<A> {
    /// Loads them from the register context of the current thread, if there is one: another core may have deleted it.
    #[inline(always)]
    pub fn of_current(kernel: &Kernel<A>) -> Option<Self> {
        let thread = kernel.core.current?;
        let register = |register| kernel[thread].context.get(register);
        Some(Self {
            thread,
            number: register(SYSCALL),
            cap: register(CAP),
            info: MessageInfo(register(INFO)),
        })
    }
}

/// The fast path is not eligible; nothing has changed.
#[derive(Debug)]
pub(crate) struct NotEligible;

/// The result of a fast path or of a part of it; a complete one returns the thread to run.
pub(crate) type Eligible<T> = Result<T, NotEligible>;

/// Not eligible unless `holds`.
#[inline(always)]
fn eligible(holds: bool) -> Eligible<()> {
    if holds { Ok(()) } else { Err(NotEligible) }
}

/// Not eligible if the message has extra capabilities.
#[inline(always)]
fn require_plain(info: MessageInfo) -> Eligible<()> {
    eligible(info.extra_caps() == 0)
}

impl<A: Arch> CoreHandle<A> {
    /// Checks the invariants after a fast path in assembly, in kernels that check them.
    #[inline(always)]
    pub fn after_assembly(&mut self) {
        self.entered_shared().after_fast_path();
    }
}

impl<A: Arch> Kernel<A> {
    /// Tries a fast path. Returns the thread to run; `None` if the fast path is not eligible and nothing has changed.
    #[inline(always)]
    pub(crate) fn try_fast_path(
        &mut self,
        path: impl FnOnce(&mut Self) -> Eligible<Ptr<Thread<A>>>,
    ) -> Option<Ptr<Thread<A>>> {
        if !cfg!(feature = "fast-paths") || !self.arch.has_fast_paths() || self.is_observed() {
            return None;
        }
        let next = path(self).ok()?;
        self.after_fast_path();
        Some(next)
    }

    /// Performs a system call of the current thread if a fast path is eligible. Returns the thread to run;
    /// `None` if no fast path is eligible and nothing has changed.
    #[inline(always)]
    pub fn take_fast_path(&mut self) -> Option<Ptr<Thread<A>>> {
        let call = SystemCall::of_current(self)?;
        match call.number {
            CALL | REPLY_RECV => self.take_fast_path_of_call(&call),
            _ => self.take_other_fast_path(&call),
        }
    }

    /// The same of a Call or ReplyRecv. Architectures have an entry point for these: it saves the others the test, and the
    /// registers that this fast path needs.
    #[inline(always)]
    pub fn take_fast_path_of_call(&mut self, call: &SystemCall<A>) -> Option<Ptr<Thread<A>>> {
        self.try_unmodified(|kernel| match call.number {
            CALL => kernel.fast_call(call),
            REPLY_RECV => kernel.fast_reply_recv(call),
            _ => Err(NotEligible),
        })
    }

    /// The same for a Call or ReplyRecv with one extra capability. With several cores, capabilities are changed
    /// in exclusive mode only.
    #[inline(always)]
    pub(crate) fn take_fast_path_with_capability(
        &mut self,
        thread: Ptr<Thread<A>>,
        number: usize,
    ) -> Option<Ptr<Thread<A>>> {
        let info = MessageInfo(self[thread].context.get(INFO));
        if info.extra_caps() != 1 {
            return None;
        }
        self.take_fast_path_with(thread, number, info)
    }

    #[inline(never)]
    fn take_fast_path_with(
        &mut self,
        thread: Ptr<Thread<A>>,
        number: usize,
        info: MessageInfo,
    ) -> Option<Ptr<Thread<A>>> {
        let cap = self[thread].context.get(CAP);
        let call = SystemCall {
            thread,
            number,
            cap,
            info,
        };
        self.try_unmodified(|kernel| match number {
            CALL => kernel.fast_call_with_capability(&call),
            REPLY_RECV => kernel.fast_reply_recv_with_capability(&call),
            _ => Err(NotEligible),
        })
    }

    /// The same of all other system calls.
    #[inline(always)]
    pub fn take_other_fast_path(&mut self, call: &SystemCall<A>) -> Option<Ptr<Thread<A>>> {
        const SEND: usize = Syscall::Send.number();
        const NB_SEND: usize = Syscall::NBSend.number();
        const RECV: usize = Syscall::Recv.number();
        const WAIT: usize = Syscall::Wait.number();
        const NB_WAIT: usize = Syscall::NBWait.number();
        const NB_SEND_RECV: usize = Syscall::NBSendRecv.number();
        const YIELD: usize = Syscall::Yield.number();
        self.try_unmodified(|kernel| match call.number {
            SEND | NB_SEND => kernel.fast_send(call),
            WAIT | NB_WAIT => kernel.fast_wait(call),
            YIELD => kernel.fast_yield(call),
            RECV => kernel.fast_recv(call.thread),
            NB_SEND_RECV => kernel.fast_turn(call.thread),
            _ => Err(NotEligible),
        })
    }

    /// Tries a fast path, unless this core was remotely modified: the effects of that come first.
    #[inline(always)]
    fn try_unmodified(
        &mut self,
        path: impl FnOnce(&mut Self) -> Eligible<Ptr<Thread<A>>>,
    ) -> Option<Ptr<Thread<A>>> {
        if BIG_LOCK || self.is_remotely_modified() {
            return None;
        }
        self.try_fast_path(path)
    }

    /// The capability at an address of a thread, packed, if its capability space has one level; the caller decodes the
    /// kind that it expects.
    #[inline(always)]
    fn find(&self, thread: Ptr<Thread<A>>, address: usize) -> Eligible<RawCap> {
        let slot = self.slot_of(thread, address)?;
        Ok(self[slot].raw())
    }

    /// The slot of that capability.
    #[inline(always)]
    fn slot_of(&self, thread: Ptr<Thread<A>>, address: usize) -> Eligible<Ptr<Slot<A>>> {
        Cap::<A>::slot_of_only_level(self[thread].root(), address).ok_or(NotEligible)
    }

    /// Not eligible unless `core`, the owning core of an object, is this core.
    #[inline(always)]
    fn is_on_this_core(&self, core: u8) -> Eligible<()> {
        eligible(self.is_own_core(core))
    }

    /// Checks the invariants after a fast path, in kernels that check them.
    #[inline(always)]
    fn after_fast_path(&mut self) {
        checked!(self.note_fast_path());
        // A long operation on memory may have read the clock after the timer deadline. Then the timer
        // interrupt is pending, and its handler chooses the thread to run.
        if CHECKED && self.core.now < self.core.timer_deadline.time() {
            checked!(self.check_after_entry());
        }
    }
}
