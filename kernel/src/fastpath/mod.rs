//! Fast paths through the kernel for what programs do all the time.
//!
//! Everything here could be left out, and nothing would change but the time that it takes: a fast path
//! looks first, without any effect, whether its case is the usual one, and if anything is unusual it
//! declines, so that the general path is taken. If it does not decline, it does what the general path
//! would do, only without looking again at what it knows already. `tests/host` runs histories with and
//! without the fast paths and compares what comes of them.
//!
//! | way | usual is |
//! |---|---|
//! | `call` | a receiver waits with a reply object; it has no time, or its own and enough |
//! | `reply_recv` | a caller, or a thread with a fault, waits for the reply and nobody waits to send |
//! | `send` | a receiver waits that has its own time |
//! | `signal` | nobody waits, or a thread that has its own time |
//! | `wait` | there is a signal, or somebody is ready who runs meanwhile |
//! | `yield_slice` | the time is a round-robin slice, and nobody waits for time |
//! | `fault` | the handler waits, as for a call |
//! | `invoke` | the capability is one to memory |
//!
//! None of them takes messages that carry capabilities, endpoints with thresholds, time with a limit or
//! a timer, time that idles, or capability spaces of several levels.
//!
//! # Time
//! Where a call takes its time along, the scheduling context that pays stays the same, and so does the
//! moment when its budget ends. These ways do not look at the clock; what has passed is on the context
//! when somebody looks next, and the timer interrupts when the budget ends, wherever the context is by
//! then. Where another context pays, time is accounted for as on the general path.

mod call;
mod fault;
mod invoke;
mod layout;
mod lookup;
mod reply_recv;
mod signal;
mod switch;
mod yield_slice;

use abi::{MessageInfo, Syscall};

pub use layout::{Layout, NO_MEMBER};

use crate::Kernel;
use crate::arch::Arch;
use crate::cores::CORES;
use crate::object::Thread;
use crate::token::Ptr;

/// A system call as it enters the kernel. The other registers are in the thread's context; these are
/// there, too.
pub struct SystemCall<A: Arch> {
    /// The current thread.
    pub thread: Ptr<Thread<A>>,
    /// Its number.
    pub number: usize,
    /// The capability that it is about.
    pub cap: usize,
    /// The description of the message.
    pub info: MessageInfo,
}

/// The way declines: nothing has changed.
#[derive(Debug)]
struct Declined;

/// What comes of a fast path: in the end, who runs.
type Way<T> = Result<T, Declined>;

/// Declines unless something usual holds.
#[inline(always)]
fn usual(holds: bool) -> Way<()> {
    if holds { Ok(()) } else { Err(Declined) }
}

impl<A: Arch> Kernel<A> {
    #[inline(always)]
    fn takes_fast_paths(&self) -> bool {
        self.arch.has_fast_paths() && !self.is_measured()
    }

    /// Performs a system call of the current thread if there is a fast path for it. Returns who runs
    /// then; if there is none, nothing has changed.
    #[inline(always)]
    pub fn take_fast_path(&mut self, call: &SystemCall<A>) -> Option<Ptr<Thread<A>>> {
        const CALL: usize = Syscall::Call.number();
        const REPLY_RECV: usize = Syscall::ReplyRecv.number();
        if !self.takes_fast_paths() {
            return None;
        }
        if !self.come_in_quickly() {
            return None;
        }
        let way = if call.number == CALL {
            self.fast_call(call)
        } else if call.number == REPLY_RECV {
            self.fast_reply_recv(call)
        } else {
            self.other_fast_path(call.thread, call.number, call.cap, call.info)
        };
        let next = self.after_way(way)?;
        self.go_out();
        Some(next)
    }

    /// Declines where something belongs to another core.
    #[inline(always)]
    fn is_here(&self, core: u8) -> Way<()> {
        usual(CORES == 1 || usize::from(core) == self.core.id)
    }

    #[inline(always)]
    fn after_way(&mut self, way: Way<Ptr<Thread<A>>>) -> Option<Ptr<Thread<A>>> {
        let next = way.ok()?;
        self.after_fast_path();
        Some(next)
    }

    /// What kernels that check themselves do at the end of a fast path in assembly.
    #[inline(always)]
    pub fn after_assembly(&mut self) {
        self.came_in();
        self.after_fast_path();
        self.go_out();
    }

    /// What kernels that check themselves do at the end of a fast path.
    #[inline(always)]
    fn after_fast_path(&mut self) {
        #[cfg(any(test, feature = "invariants"))]
        {
            self.watch.fast_paths += 1;
            // A long operation on memory may have seen that the timer's moment has come. Its interrupt
            // waits, and decides who runs.
            if self.core.now < self.core.alarm.time() {
                self.check_after_entry();
            }
        }
    }

    #[inline(never)]
    fn other_fast_path(
        &mut self,
        thread: Ptr<Thread<A>>,
        number: usize,
        cap: usize,
        info: MessageInfo,
    ) -> Way<Ptr<Thread<A>>> {
        let call = SystemCall {
            thread,
            number,
            cap,
            info,
        };
        const SEND: usize = Syscall::Send.number();
        const NB_SEND: usize = Syscall::NBSend.number();
        const WAIT: usize = Syscall::Wait.number();
        const NB_WAIT: usize = Syscall::NBWait.number();
        const YIELD: usize = Syscall::Yield.number();
        match number {
            SEND | NB_SEND => self.fast_send(&call),
            WAIT | NB_WAIT => self.fast_wait(&call),
            YIELD => self.fast_yield(&call),
            _ => Err(Declined),
        }
    }
}
