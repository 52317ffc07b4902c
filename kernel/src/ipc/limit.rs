//! Budget limits: how much of a caller's budget a server may use for one call.
//!
//! A limit is a value of the total consumed of a scheduling context: when the total reaches it, the limit
//! is reached. So charging needs to know nothing about limits. Of nested limits, the inner one is never
//! later than the outer one, so only the inner one is checked. A limit belongs to the call that set it: a
//! nested call saves it in its caller, and the reply restores it. All calls nested in a call with a limit
//! have one too, so outer calls need no check.
//!
//! A server cannot lift a limit: each event that ends a call without a reply (the reply object is deleted
//! or used for another receive, the caller is stopped) has the effect of the limit being reached. If a
//! server in the middle of a call chain drops out, its caller waits until the next inner server returns
//! the context, and its call fails then ([`Ipc::join_calls`]). Each of these cases takes a constant
//! number of steps at one position of the chain; there are no loops over the chain.

use core::num::NonZeroU64;

use abi::ErrorCode;

use super::Ipc;
use crate::arch::Arch;
use crate::object::{Above, ContextFlags, Reply, SchedContext, Thread, ThreadState};
use crate::time::Ticks;
use crate::token::Ptr;
use crate::tracing::{End, Move};

impl<A: Arch> Ipc<A> {
    /// Applies the limit of the caller's context to a nested call, for which a lower one may be set later.
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

    /// Limits the call that has just donated `context` to a server: to `allowed`, or to the remaining outer
    /// limit if that is lower, as it may be if an idling context was charged while the caller waited.
    #[inline(always)]
    pub(crate) fn set_limit(&mut self, context: Ptr<SchedContext<A>>, allowed: Ticks) {
        let Some(reply) = self[context].reply else {
            return;
        };
        if self.limit_of(context).is_none_or(|outer| allowed < outer) {
            let end = self.total_consumed(context).wrapping_add(allowed.0);
            // Zero means no limit. The total wraps to it once in centuries; then the limit is a tick longer.
            self[context].limit = Some(NonZeroU64::new(end).unwrap_or(NonZeroU64::MIN));
        }
        self[context].flags.set(ContextFlags::NEEDS_CHECK, true);
        self[reply].above = Above::Limited(context);
        self.owning_core_of_context(context).core.reprogram = true;
        self.trace_limited(context, allowed);
    }

    /// Whether a reply object tracks a call with a limit, which fails if it ends without a reply.
    #[inline(always)]
    pub(super) fn is_limited(&self, reply: Ptr<Reply<A>>) -> bool {
        let state = self[reply].thread().map(|caller| self[caller].state);
        matches!(self[reply].above, Above::Limited(_))
            || matches!(state, Some(ThreadState::BlockedOnReturn { .. }))
            || self.is_limited_inside(reply)
    }

    /// Whether a reply object tracks a call with a limit that is not the innermost call.
    pub(crate) fn is_limited_inside(&self, reply: Ptr<Reply<A>>) -> bool {
        let Above::Reply(inner) = self[reply].above else {
            return false;
        };
        let server = self[inner].thread();
        server.is_some_and(|server| self[server].outer_limit.is_some())
    }

    /// Ends the innermost call, which has a limit: the context returns to the caller, and the limit of the next
    /// outer call, if it has one, is in force again. If the caller has received another context meanwhile, the
    /// context returns to the caller of the next outer call, which is still being served, or else to its owner:
    /// the server must not keep it, because later callers would donate nothing to it.
    #[cold]
    pub(super) fn pop_limited(
        &mut self,
        caller: Ptr<Thread<A>>,
        reply: Ptr<Reply<A>>,
        context: Ptr<SchedContext<A>>,
    ) {
        let below = self[reply].below;
        self[reply].clear();
        self[caller].state = ThreadState::Inactive;
        self[context].reply = None;
        let outer = self[caller].outer_limit.take();
        // A thread may meanwhile have been bound to this very context.
        let can_take = |kernel: &Self, thread: Ptr<Thread<A>>| {
            kernel[thread]
                .sched_context
                .is_none_or(|own| own == context)
        };
        if can_take(self, caller) {
            return self.return_limited(caller, context, below, outer);
        }
        let Some(below) = below else {
            return self.return_to_owner(context);
        };
        self.cut_call_chain(below);
        match self[below].thread() {
            Some(waiting) if can_take(self, waiting) => {
                let next = self[below].below.take();
                let outer = self[waiting].outer_limit.take();
                self.return_limited(waiting, context, next, outer);
                if matches!(self[waiting].state, ThreadState::BlockedOnReturn { .. }) {
                    self.unlink_call(waiting, below);
                    self.report_failure(waiting);
                }
            }
            _ => self.return_to_owner(context),
        }
    }

    /// Returns a context to `caller`, with the limit of the next outer call, which `below` tracks.
    fn return_limited(
        &mut self,
        caller: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        below: Option<Ptr<Reply<A>>>,
        limit: Option<NonZeroU64>,
    ) {
        self[context].limit = limit;
        let above = match limit {
            Some(_) => Above::Limited(context),
            None => Above::Context(context),
        };
        self.pop_context(caller, context, below, above);
        self.owning_core_of_context(context).core.reprogram = true;
    }

    /// `server`, the caller of `reply`, drops out of a call chain. Returns whether it served a call with a
    /// limit that was joined with its own; `reply` then stays in use and tracks the outer caller.
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

    /// Joins two calls with limits, because the server between them drops out: the caller of `outer` waits
    /// for its context to return by `inner`, to which the outer limit now applies.
    fn join_calls(&mut self, outer: Ptr<Reply<A>>, inner: Ptr<Reply<A>>) {
        let (Some(caller), Some(server)) = (self[outer].thread(), self[inner].thread()) else {
            return;
        };
        let limit = self[server].outer_limit.take();
        match self[inner].above {
            Above::Limited(context) => {
                self[context].limit = limit;
                self.owning_core_of_context(context).core.reprogram = true;
            }
            Above::Reply(next) => {
                if let Some(next) = self[next].thread() {
                    self[next].outer_limit = limit;
                }
            }
            Above::None | Above::Context(_) => {}
        }
        let below = self[outer].below;
        self[outer].clear();
        self[inner].set_thread(Some(caller));
        self[inner].below = below;
        if let Some(below) = below {
            self[below].above = Above::Reply(inner);
        }
        self[caller].state = ThreadState::BlockedOnReturn { reply: inner };
        self.trace_blocked(caller);
    }

    /// The current thread, `server`, has reached the limit of its donated context. The context returns to
    /// the caller and the call fails; the timeout is reported to the server's timeout handler.
    #[cold]
    pub(crate) fn end_limit(&mut self, server: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        self.trace_exhausted(context, End::Limit);
        self.commit_time();
        let badge = self[context].badge;
        if self[server].is_runnable() {
            self[server].state = ThreadState::Restart;
        }
        let donor = self[context]
            .reply
            .and_then(|reply| Some((self[reply].thread()?, reply)));
        match donor {
            Some((caller, reply)) => self.fail_call(caller, reply),
            None => self.return_to_owner(context),
        }
        self.choose_again();
        // It keeps a context of its own, of which the limit has ended.
        if self[server].sched_context.is_none() {
            self.report_timeout(server, badge, None);
        }
    }

    /// A call with a limit fails. If it is the innermost call, the context returns to the caller immediately.
    /// Otherwise the inner servers continue on the context, the server of this call drops out of the chain, and
    /// its own nested call fails.
    #[cold]
    pub(super) fn fail_call(&mut self, caller: Ptr<Thread<A>>, reply: Ptr<Reply<A>>) {
        // The capabilities of the reply, which is not sent.
        self.cap_transfers.sent = None;
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
            self.report_failure(failed);
        }
    }

    /// Reports the failure of its call to a caller. A caller that waits for a fault handler faults again.
    fn report_failure(&mut self, caller: Ptr<Thread<A>>) {
        if self[caller].fault.take().is_some() {
            self.wake(caller, ThreadState::Restart);
        } else {
            self.answer_call(caller, ErrorCode::LimitReached as usize, &[]);
            self.wake(caller, ThreadState::Running);
        }
    }

    /// Takes a context with a limit from its server, if no call is left to return it. It goes to the thread it
    /// is bound to, if that has no other context; otherwise it is unbound.
    #[cold]
    pub(super) fn return_to_owner(&mut self, context: Ptr<SchedContext<A>>) {
        self[context].limit = None;
        self.owning_core_of_context(context).core.reprogram = true;
        match self[context].owner {
            owner if owner.is_some() && owner == self[context].thread => {}
            Some(owner) if self[owner].sched_context.is_none() => {
                self.trace_move(context, Some(owner), Move::Return);
                self.donate(context, owner);
                self.wake_context(owner);
                self.start_idling(owner);
                self.run_on_new_time(owner);
            }
            _ => self.unbind_thread(context),
        }
    }

    /// Removes the limit of a context that has no thread any more, unless a call is left to return it.
    pub(super) fn drop_orphan_limit(&mut self, context: Ptr<SchedContext<A>>) {
        if self[context].reply.is_none() {
            self[context].limit = None;
        }
    }
}
