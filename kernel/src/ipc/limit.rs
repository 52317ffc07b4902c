//! Budget limits: how much of a caller's time a server may use.
//!
//! A limit is a reading of the odometer of a scheduling context: of the time that was ever charged to
//! it. So charging does not know about limits, and of nested limits the outer one stays in force by
//! itself while an inner one, which is never later, is looked at. A limit belongs to the call that
//! brought it: it is put aside in the caller of a nested call, and comes back with the reply. All calls
//! above one with a limit have one, so what is below needs no look.
//!
//! Servers have no way to lift a limit: what ends a call without reply (its reply object is deleted, or
//! used to receive again; its caller is stopped) ends it here as the limit would. Where a server in the
//! middle of a call stack drops out, its caller waits for the time of the next inner server instead, and
//! fails then ([`Kernel::join_calls`]). Each of these is a few steps at one place of the stack: nothing
//! here walks along it.

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
    pub(super) fn odometer(&self, context: Ptr<SchedContext<A>>) -> u64 {
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

    /// A caller on limited time calls: the nested call has the same limit, unless a lower one is set.
    #[cold]
    pub(super) fn inherit_limit(
        &mut self,
        caller: Ptr<Thread<A>>,
        reply: Ptr<Reply<A>>,
        context: Ptr<SchedContext<A>>,
    ) {
        self[caller].outer_limit = self[context].limit;
        self[reply].above = Above::Limited(context);
    }

    /// The call that has just brought `context` to a server brought no more than `allowed` of it, nor
    /// more than is left of an outer limit: of that, the caller may have idled some away in a queue.
    pub(super) fn set_limit(&mut self, context: Ptr<SchedContext<A>>, allowed: Ticks) {
        let Some(reply) = self[context].reply else {
            return;
        };
        if self.limit_of(context).is_none_or(|outer| allowed < outer) {
            let end = self.odometer(context).wrapping_add(allowed.0);
            // A reading of exactly zero comes once in centuries: then the limit is a tick longer.
            self[context].limit = Some(NonZeroU64::new(end).unwrap_or(NonZeroU64::MIN));
        }
        self[context].set(ContextFlag::Watched, true);
        self[reply].above = Above::Limited(context);
        self.home_of(context).core.reprogram = true;
    }

    /// Whether a reply object tracks a call that fails when it ends without an answer: one with a limit.
    pub(super) fn is_limited(&self, reply: Ptr<Reply<A>>) -> bool {
        let state = self[reply].thread().map(|caller| self[caller].state);
        matches!(self[reply].above, Above::Limited(_))
            || matches!(state, Some(ThreadState::BlockedOnReturn { .. }))
            || self.is_limited_inside(reply)
    }

    /// Whether a reply object tracks a call with a limit that is not the innermost one.
    pub(crate) fn is_limited_inside(&self, reply: Ptr<Reply<A>>) -> bool {
        let Above::Reply(inner) = self[reply].above else {
            return false;
        };
        let server = self[inner].thread();
        server.is_some_and(|server| self[server].outer_limit.is_some())
    }

    /// The innermost call, which came with a limit, ends: the context goes back to the caller, and if the
    /// next outer call has a limit, too, that is the one to look at from now on.
    #[cold]
    pub(super) fn pop_limited(
        &mut self,
        caller: Ptr<Thread<A>>,
        reply: Ptr<Reply<A>>,
        context: Ptr<SchedContext<A>>,
    ) {
        let below = self[reply].below;
        let outer = self[caller].outer_limit.take();
        if self[caller].sched_context.is_some() && (outer.is_none() || below.is_none()) {
            // It has got other time meanwhile. The server that has its old one keeps the limit.
            return self.unlink_call(caller, reply);
        }
        self[context].limit = outer;
        self[context].reply = None;
        self[reply].clear();
        self[caller].state = ThreadState::Inactive;
        let above = match outer {
            Some(_) => Above::Limited(context),
            None => Above::Context(context),
        };
        self.pop_context(caller, context, below, above);
        self.home_of(context).core.reprogram = true;
    }

    /// `server`, the caller of `reply`, drops out of a call stack. Whether it served a call with a limit,
    /// which was joined with its own; then the reply object goes on to track a call. In a stack that has lost
    /// its context there is nothing to join for.
    #[cold]
    pub(super) fn join_below(&mut self, server: Ptr<Thread<A>>, reply: Ptr<Reply<A>>) -> bool {
        let is_limited =
            matches!(self[reply].above, Above::Limited(_)) || self.is_limited_inside(reply);
        match self[reply].below {
            Some(outer) if is_limited && self[server].outer_limit.is_some() => {
                self.join_calls(outer, reply);
                true
            }
            _ => {
                self[server].outer_limit = None;
                false
            }
        }
    }

    /// The server between two calls with limits drops out: the caller of the `outer` one waits for its
    /// time to come back by the `inner` one, where the outer limit is in force from now on.
    fn join_calls(&mut self, outer: Ptr<Reply<A>>, inner: Ptr<Reply<A>>) {
        let (Some(caller), Some(server)) = (self[outer].thread(), self[inner].thread()) else {
            return;
        };
        let limit = self[server].outer_limit.take();
        match self[inner].above {
            Above::Limited(context) => {
                self[context].limit = limit;
                self.home_of(context).core.reprogram = true;
            }
            // With nothing above it, the context is gone from the stack, and the limits with it.
            Above::Reply(next) if !matches!(self[next].above, Above::None) => {
                if let Some(next) = self[next].thread() {
                    self[next].outer_limit = limit;
                }
            }
            Above::Reply(_) | Above::None | Above::Context(_) => {}
        }
        let below = self[outer].below;
        self[outer].clear();
        self[inner].set_thread(Some(caller));
        self[inner].below = below;
        if let Some(below) = below {
            self[below].above = Above::Reply(inner);
        }
        self[caller].state = ThreadState::BlockedOnReturn { reply: inner };
    }

    /// The current thread, `server`, has used what it may of the time that was lent to it. The caller
    /// gets its time back, and an error; the server's timeout handler is told.
    #[cold]
    pub(crate) fn end_limit(&mut self, server: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        self.commit_time();
        let badge = self[context].badge;
        if self[server].is_runnable() {
            self[server].state = ThreadState::Restart;
        }
        let lender = self[context]
            .reply
            .and_then(|reply| Some((self[reply].thread()?, reply)));
        match lender {
            Some((caller, reply)) => self.fail_call(caller, reply),
            None => self.return_to_owner(server, context),
        }
        self.choose_again();
        // It keeps it where the caller has got other time. Then it is found here again.
        if self[server].sched_context.is_none() {
            self.report_timeout(server, badge, None);
        }
    }

    /// A call with a limit comes to nothing. From the innermost one the time goes back at once; else the
    /// inner servers go on, and the server of this call is out of the way.
    #[cold]
    pub(super) fn fail_call(&mut self, caller: Ptr<Thread<A>>, reply: Ptr<Reply<A>>) {
        // What an answer would have brought along.
        self.core.parcels.sent = None;
        let failed = match self[reply].above {
            Above::Reply(inner) if self.is_limited_inside(reply) => {
                let server = self[inner].thread();
                self.join_calls(reply, inner);
                server
            }
            _ => {
                self.pop_call(caller, reply);
                Some(caller)
            }
        };
        if let Some(failed) = failed {
            self.tell_failure(failed);
        }
    }

    /// Tells a caller that its call has come to nothing. One that called with a fault faults again.
    fn tell_failure(&mut self, caller: Ptr<Thread<A>>) {
        if self[caller].fault.take().is_some() {
            self[caller].state = ThreadState::Restart;
        } else {
            self[caller].state = ThreadState::Running;
            self.answer_call(caller, ErrorCode::LimitReached as usize, &[]);
        }
        self.wake_context(caller);
        self.offer(caller);
    }

    /// `server` gives up time that it was lent with a limit, where no call is left to return it: its owner
    /// gets it, if that has no other; else no thread has it.
    #[cold]
    pub(super) fn return_to_owner(
        &mut self,
        server: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
    ) {
        self[context].limit = None;
        self.home_of(context).core.reprogram = true;
        match self[context].owner {
            Some(owner) if owner == server => {}
            Some(owner) if self[owner].sched_context.is_none() => {
                self.donate(context, owner);
                self.wake_context(owner);
                self.start_idling(owner);
                self.run_on_new_time(owner);
            }
            _ => self.unbind_thread(context),
        }
    }

    /// A context has no thread any more. What limited the last one ends with that, unless a call is left
    /// to return it.
    pub(super) fn forget_orphan_limit(&mut self, context: Ptr<SchedContext<A>>) {
        if self[context].reply.is_none() {
            self[context].limit = None;
        }
    }
}
