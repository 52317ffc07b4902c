//! Budget limits: how much of a caller's time a server may use.
//!
//! A limit is a reading of the odometer of a scheduling context: of the time that was ever charged to
//! it. So charging does not know about limits, and of nested limits the outer one stays in force by
//! itself while an inner one, which is never later, is looked at. A limit belongs to the call that
//! brought it: it is put aside in the caller of a nested call, and comes back with the reply.

use core::num::NonZeroU64;

use abi::ErrorCode;

use crate::Kernel;
use crate::arch::Arch;
use crate::object::{Above, ContextFlag, Reply, SchedContext, Thread, ThreadState};
use crate::time::Ticks;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// What may still be used of a context before its limit is reached; `None`: it has no limit.
    #[inline]
    pub(crate) fn limit_of(&self, context: Ptr<SchedContext<A>>) -> Option<Ticks> {
        let end = self[context].limit?;
        let used = self.odometer(context);
        // Past the end the difference is negative.
        Some(Ticks((end.get().wrapping_sub(used) as i64).max(0) as u64))
    }

    /// All time ever used of a context.
    fn odometer(&self, context: Ptr<SchedContext<A>>) -> u64 {
        let charged = self[context].odometer();
        charged.wrapping_add(self.uncharged(context).0)
    }

    /// What was used of a context and not charged to it yet.
    pub(super) fn uncharged(&self, context: Ptr<SchedContext<A>>) -> Ticks {
        if self.is_paying(context) {
            self.core_of(self[context].core).consumed
        } else {
            Ticks::ZERO
        }
    }

    /// The call that has just brought `context` to a server brought no more than `allowed` of it.
    pub(super) fn set_limit(&mut self, context: Ptr<SchedContext<A>>, allowed: Ticks) {
        let Some(reply) = self[context].reply else {
            return;
        };
        let Some(caller) = self[reply].thread() else {
            return;
        };
        let end = self.odometer(context).wrapping_add(allowed.0);
        // A reading of exactly zero comes once in centuries: then the limit is a tick longer.
        let end = NonZeroU64::new(end).unwrap_or(NonZeroU64::MIN);
        self[caller].outer_limit = self[context].limit.replace(end);
        self[context].set(ContextFlag::Watched, true);
        self[reply].above = Above::Limited(context);
        self.home_of(context).core.reprogram = true;
    }

    /// The call of `caller`, which came with a limit, has ended: what lies above `below`, the next
    /// outer call. If that has a limit, too, it is the one to look at from now on.
    pub(super) fn leave_limit(
        &mut self,
        caller: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        below: Option<Ptr<Reply<A>>>,
    ) -> Above<A> {
        self.home_of(context).core.reprogram = true;
        match self[caller].outer_limit.take() {
            Some(outer) if below.is_some() => {
                self[context].limit = Some(outer);
                Above::Limited(context)
            }
            _ => Above::Context(context),
        }
    }

    /// The current thread, `server`, has used what it may of the time that was lent to it. The caller
    /// gets its time back, and an error; the server's timeout handler is told.
    #[cold]
    pub(crate) fn end_limit(&mut self, server: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        self.commit_time();
        let badge = self[context].badge;
        let lender = self[context]
            .reply
            .and_then(|reply| Some((reply, self[reply].thread()?)));
        let Some((reply, caller)) = lender else {
            self[context].limit = None;
            return;
        };
        if self[server].is_runnable() {
            self[server].state = ThreadState::Restart;
        }
        self.pop_call(caller, reply);
        self.fail_call(caller);
        self.choose_again();
        self.report_timeout(server, badge, None);
    }

    /// A call came to nothing. Who called with a fault faults again.
    fn fail_call(&mut self, caller: Ptr<Thread<A>>) {
        if self[caller].fault.take().is_some() {
            self[caller].state = ThreadState::Restart;
        } else {
            self[caller].state = ThreadState::Running;
            self.answer_call(caller, ErrorCode::LimitReached as usize, &[]);
        }
        self.wake_context(caller);
        self.offer(caller);
    }
}
