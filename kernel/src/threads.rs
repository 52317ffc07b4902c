//! The list of all threads, for debug output: in debug kernels only.
//!
//! The kernel itself never traverses it, except to print it for `DebugDumpScheduler` and `DebugSnapshot`, and
//! then only up to a bound.

use abi::registers::PC;

use crate::arch::{Arch, UserContext};
use crate::console::debug_line;
use crate::object::{THREAD_SLOTS, Thread, ThreadState};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// A link in the list.
pub(crate) type Link<A> = Option<Ptr<Thread<A>>>;

impl<A: Arch> ExclusiveKernel<A> {
    /// A thread was made.
    pub(crate) fn list_thread(&mut self, thread: Ptr<Thread<A>>) {
        let older = self.instruments.threads;
        self.exclusive()
            .each_core(|kernel| kernel.instruments.threads = Some(thread));
        self[thread].instruments.older = older;
        if let Some(older) = older {
            self[older].instruments.newer = Some(thread);
        }
    }

    /// A thread is deleted.
    pub(crate) fn unlist_thread(&mut self, thread: Ptr<Thread<A>>) {
        let instruments = &self[thread].instruments;
        let (newer, older) = (instruments.newer, instruments.older);
        match newer {
            Some(newer) => self[newer].instruments.older = older,
            None => self
                .exclusive()
                .each_core(|kernel| kernel.instruments.threads = older),
        }
        if let Some(older) = older {
            self[older].instruments.newer = newer;
        }
    }
}

impl<A: Arch> Kernel<A> {
    /// The threads, youngest first.
    pub(crate) fn all_threads(&self) -> impl Iterator<Item = Ptr<Thread<A>>> {
        core::iter::successors(self.instruments.threads, |thread| {
            self[*thread].instruments.older
        })
    }

    /// Prints the threads; with `caps` also the contents of their slots.
    pub(crate) fn print_threads(&self, caps: bool) {
        for (index, thread) in self.all_threads().enumerate() {
            if index == MAX {
                debug_line::<A>(format_args!("kernel: and more threads"));
                return;
            }
            self.print_thread(thread);
            let slots = if caps { THREAD_SLOTS } else { 0 };
            for (number, slot) in self[thread].slots[..slots].iter().enumerate() {
                let tag = slot.raw().tag();
                debug_line::<A>(format_args!("kernel:   slot {number} holds kind {tag}"));
            }
        }
    }

    fn print_thread(&self, thread: Ptr<Thread<A>>) {
        let it = &self[thread];
        let name = it.shown_name();
        let state = match it.state {
            _ if self.is_current(thread) => "current",
            ThreadState::Inactive => "inactive",
            ThreadState::Running => "running",
            ThreadState::Restart => "restart",
            ThreadState::BlockedOnSend { .. } => "blocked on send",
            ThreadState::BlockedOnReceive { .. } => "blocked on receive",
            ThreadState::BlockedOnReply { .. } => "blocked on reply",
            ThreadState::BlockedOnReturn { .. } => "blocked on return of its time",
            ThreadState::BlockedOnNotification { .. } => "blocked on notification",
        };
        let passive = it.sched_context.map_or(", passive", |_| "");
        debug_line::<A>(format_args!(
            "kernel: thread {:#x} \"{name}\" {state}{passive}, priority {}, domain {}, pc {:#x}",
            thread.address(),
            it.priority,
            it.domain,
            it.context.get(PC),
        ));
    }
}

/// The largest number of threads that are printed.
const MAX: usize = 256;
