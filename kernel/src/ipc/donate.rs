//! Donation of scheduling contexts with calls, and their return with replies.

use super::Ipc;
use crate::arch::Arch;
use crate::object::{Above, Notification, Progress, Reply, SchedContext, Thread, ThreadState};
use crate::sched::Readiness;
use crate::token::Ptr;
use crate::tracing::Move;

impl<A: Arch> Ipc<A> {
    /// Moves a scheduling context to a passive thread; the thread that had it becomes passive.
    pub(crate) fn donate(&mut self, context: Ptr<SchedContext<A>>, to: Ptr<Thread<A>>) {
        self.take_context(context);
        self[context].thread = Some(to);
        self[to].sched_context = Some(context);
        let core = self[context].core;
        self.migrate_after_answer(to, core);
    }

    /// Takes a context from its thread, if it has one; the thread becomes passive. An idling context is
    /// charged for the time that its thread has waited.
    pub(crate) fn take_context(&mut self, context: Ptr<SchedContext<A>>) {
        self.charge_remote_current(context);
        if let Some(thread) = self[context].thread.take() {
            self.stop_idling(thread);
            self.leave_scheduler(thread);
            self[thread].sched_context = None;
        }
    }

    /// Blocks a caller after its message was delivered, and links it with the reply object of its server. Donates the
    /// caller's scheduling context if the server is passive and `may_donate`. If no reply is possible, the caller
    /// becomes inactive, as the ABI requires.
    pub(crate) fn push_call(
        &mut self,
        caller: Ptr<Thread<A>>,
        server: Ptr<Thread<A>>,
        reply: Option<Ptr<Reply<A>>>,
        may_donate: bool,
    ) {
        let Some(reply) = reply else {
            self[caller].state = ThreadState::Inactive;
            self.trace_stopped(caller);
            return;
        };
        self[reply].set_thread(Some(caller));
        let core = self[server].core;
        self[reply].set_core(core);
        self[caller].state = ThreadState::BlockedOnReply { reply };
        self.trace_blocked(caller);
        let Some(context) = self[caller].sched_context else {
            return;
        };
        if !may_donate || self[server].sched_context.is_some() {
            return;
        }
        self.join_call_chain(context, reply);
        if self[context].limit.is_some() {
            self.inherit_limit(caller, reply, context);
        }
        self.trace_move(context, Some(server), Move::Call);
        self.donate(context, server);
        let core = self[context].core;
        self[reply].set_core(core);
    }

    /// `reply` becomes the innermost of the call chain of a context, which is about to be donated.
    #[inline(always)]
    pub(crate) fn join_call_chain(&mut self, context: Ptr<SchedContext<A>>, reply: Ptr<Reply<A>>) {
        let below = self[context].reply.replace(reply);
        if let Some(below) = below {
            self[below].above = Above::Reply(reply);
        }
        self[reply].below = below;
        self[reply].above = Above::Context(context);
    }

    /// Ends a call: unlinks the caller from its reply object. If the call is the innermost of its call chain,
    /// the context returns to the caller, unless the caller has received another one meanwhile.
    pub(crate) fn pop_call(&mut self, caller: Ptr<Thread<A>>, reply: Ptr<Reply<A>>) {
        let above = self[reply].above;
        if let Above::Limited(context) = above {
            return self.pop_limited(caller, reply, context);
        }
        let below = self[reply].below;
        self.unlink_call(caller, reply);
        if let Above::Context(context) = above {
            self.pop_context(caller, context, below, above);
        }
    }

    /// Returns a context to `caller`. `below`, the reply object of the next outer call, becomes the
    /// innermost of the call chain, with `above` as its link to the context.
    pub(super) fn pop_context(
        &mut self,
        caller: Ptr<Thread<A>>,
        context: Ptr<SchedContext<A>>,
        below: Option<Ptr<Reply<A>>>,
        above: Above<A>,
    ) {
        if let Some(below) = below {
            self[below].above = above;
            let core = self[context].core;
            self[below].set_core(core);
            self[context].reply = Some(below);
        }
        if self[caller].sched_context.is_none() {
            self.trace_move(context, Some(caller), Move::Return);
            self.donate(context, caller);
        }
    }

    /// Cancels a call: no context moves, and the call chain is cut at this call. If it lies between two
    /// calls with limits, these are joined instead.
    pub(crate) fn unlink_call(&mut self, caller: Ptr<Thread<A>>, reply: Ptr<Reply<A>>) {
        self[caller].state = ThreadState::Inactive;
        let below = self[reply].below;
        let above = self[reply].above;
        match above {
            Above::None => self[caller].outer_limit = None,
            Above::Context(context) => self[context].reply = None,
            Above::Reply(_) | Above::Limited(_) if self.join_below(caller, reply) => return,
            Above::Reply(above) => self[above].below = None,
            // The limit stays in force until the context is returned.
            Above::Limited(context) => self[context].reply = None,
        }
        if let Some(below) = below {
            self.cut_call_chain(below);
        }
        self[reply].clear();
    }

    /// Cuts a call chain off from its context, of which `reply` is the innermost call: that returns no
    /// context and has no limit any more. Its outer calls keep theirs, and fail if they end without a reply.
    pub(super) fn cut_call_chain(&mut self, reply: Ptr<Reply<A>>) {
        self[reply].above = Above::None;
    }
}

/// Binding a scheduling context to a thread by an explicit operation.
impl<A: Arch> Ipc<A> {
    /// Binds a context that has no thread to a thread that has no context.
    pub(crate) fn bind_thread(&mut self, context: Ptr<SchedContext<A>>, thread: Ptr<Thread<A>>) {
        self.trace_move(context, Some(thread), Move::Bind);
        self[context].thread = Some(thread);
        self.own(thread, context);
        self[thread].sched_context = Some(context);
        let core = self[context].core;
        self.migrate_after_answer(thread, core);
        self.wake_context(thread);
        self.start_idling(thread);
        self.run_on_new_time(thread);
    }

    /// Schedules a thread that has received a context and is in no scheduler queue, if it is runnable.
    pub(super) fn run_on_new_time(&mut self, thread: Ptr<Thread<A>>) {
        // Its message was deferred until another context has the budget.
        if let Progress::Deferred { .. } = self[thread].progress {
            self[thread].progress = Progress::None;
        }
        match self.readiness(thread) {
            Readiness::NotReady => {}
            Readiness::LacksBudget => {
                self.postpone(thread);
                self.stop_if_current(thread);
            }
            Readiness::Ready => {
                self.owning_core(thread).choose_again();
                self.ready_front(thread);
            }
        }
    }

    /// Binds a context that has no notification to a notification that has no context, which lends it.
    ///
    /// The bound thread of the notification may have taken a signal while the notification had no context to
    /// lend. It would never get one (seL4 issues 1617 and 1618), so it gets this one.
    pub(crate) fn bind_lender(
        &mut self,
        context: Ptr<SchedContext<A>>,
        notification: Ptr<Notification<A>>,
    ) {
        self[context].notification = Some(notification);
        self[notification].sched_context = Some(context);
        if let Some(thread) = self[notification].bound_thread
            && self[thread].is_runnable()
            && self[thread].sched_context.is_none()
        {
            self.lend_context(notification, thread);
            self.run_on_new_time(thread);
        }
    }

    /// Unbinds a context from its thread, which becomes passive and keeps its place in wait queues.
    pub(crate) fn unbind_thread(&mut self, context: Ptr<SchedContext<A>>) {
        self.trace_move(context, None, Move::Take);
        self.take_context(context);
        self.disown(context);
        self.drop_orphan_limit(context);
    }

    /// Unbinds a context from its thread, its notification and its call chain.
    pub(crate) fn unbind_all(&mut self, context: Ptr<SchedContext<A>>) {
        self.unbind_thread(context);
        if let Some(notification) = self[context].notification.take() {
            self[notification].sched_context = None;
        }
        if let Some(top) = self[context].reply.take() {
            self.cut_call_chain(top);
        }
        self[context].limit = None;
    }
}
