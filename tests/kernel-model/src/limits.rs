//! Call chains, and budget limits: how much of a caller's budget a server may use for one call.
//!
//! Calls that lent the same context form a chain. Each may have a limit; a call inside of one with a
//! limit has one, too. Time is charged to all limits of a chain, and that of the innermost call is in
//! force. A call with a limit that ends without a reply fails: its caller gets the error
//! `LimitReached`, and the context, as soon as the servers inside have returned it.

use abi::ErrorCode;

use crate::state::{Id, Model, Reply, State, Time};

/// The calls that lent a context, the innermost last; without context if they were cut off from it.
/// Then the innermost has no limit any more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    pub context: Option<Id>,
    pub calls: Vec<Lent>,
}

/// A call that lent its context, and what may still be used of it, with time that is not charged yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lent {
    pub reply: Id,
    pub limit: Option<Time>,
}

impl Model {
    pub fn chain_of(&self, context: Id) -> Option<&Chain> {
        self.chains.iter().find(|chain| chain.context == Some(context))
    }

    /// The chain that a call is in, and its place there.
    fn position_of(&self, reply: Id) -> Option<(usize, usize)> {
        let place = |chain: &Chain| chain.calls.iter().position(|call| call.reply == reply);
        self.chains.iter().enumerate().find_map(|(index, chain)| Some((index, place(chain)?)))
    }

    /// The limit in force; without calls, that of a call of which the caller has dropped out.
    pub fn limit(&self, context: Id) -> Option<Time> {
        let innermost = self.chain_of(context).and_then(|chain| chain.calls.last());
        innermost.map_or(self.contexts[context].orphan_limit, |call| call.limit)
    }

    /// What may still be used of a context until its limit is reached.
    pub fn limit_left(&self, context: Id) -> Option<Time> {
        Some(self.limit(context)?.saturating_sub(self.uncharged(context)))
    }

    pub fn charge_limits(&mut self, context: Id, time: Time) {
        let chain = self.chains.iter_mut().find(|chain| chain.context == Some(context));
        let limits =
            chain.into_iter().flat_map(|chain| &mut chain.calls).map(|call| &mut call.limit);
        for limit in limits.chain([&mut self.contexts[context].orphan_limit]).flatten() {
            *limit = limit.saturating_sub(time);
        }
    }

    /// A call lends its caller's context; the limit of an outer call applies to it, too.
    pub fn lend(&mut self, context: Id, reply: Id) {
        let call = Lent { reply, limit: self.limit(context) };
        match self.chains.iter_mut().find(|chain| chain.context == Some(context)) {
            Some(chain) => chain.calls.push(call),
            None => self.chains.push(Chain { context: Some(context), calls: vec![call] }),
        }
    }

    /// Limits the call that has just lent a context.
    pub fn set_limit(&mut self, context: Id, time: Time) {
        let limit = time + self.uncharged(context);
        let chain = self.chains.iter_mut().find(|chain| chain.context == Some(context));
        if let Some(call) = chain.and_then(|chain| chain.calls.last_mut()) {
            call.limit = Some(call.limit.map_or(limit, |outer| outer.min(limit)));
        }
    }

    /// A chain loses its context, and the innermost call its limit.
    pub fn lose(&mut self, context: Id) {
        if let Some(chain) = self.chains.iter_mut().find(|chain| chain.context == Some(context)) {
            chain.lose();
        }
        self.drop_chains();
    }

    /// Chains without calls, and those without context or limit, mean nothing.
    fn drop_chains(&mut self) {
        let limited = |chain: &Chain| chain.calls.iter().any(|call| call.limit.is_some());
        self.chains
            .retain(|chain| limited(chain) || chain.context.is_some() && !chain.calls.is_empty());
    }

    /// The thread that waits for a reply, which it no longer does.
    fn take_caller(&mut self, reply: Id) -> Option<Id> {
        let Reply::Caller(caller) = std::mem::take(&mut self.replies[reply]) else {
            return None;
        };
        self.threads[caller].state = State::Inactive;
        Some(caller)
    }

    /// Ends a call. From the innermost one of a chain, the context returns to its caller.
    pub fn end_call(&mut self, reply: Id) {
        let caller = self.take_caller(reply);
        let Some((index, place)) = self.position_of(reply) else {
            return;
        };
        let chain = &mut self.chains[index];
        match chain.context {
            Some(context) if place + 1 == chain.calls.len() => {
                let limit = chain.calls.pop().and_then(|call| call.limit);
                match caller.filter(|caller| self.can_take(*caller, context)) {
                    Some(caller) => self.take_back(context, caller),
                    None if limit.is_some() => self.pass_on(context, index),
                    None => {}
                }
                self.drop_chains();
            }
            _ => self.cut(index, place),
        }
    }

    /// A caller that has got another context does not take its own back; it may have been bound to it.
    fn can_take(&self, caller: Id, context: Id) -> bool {
        self.threads[caller].context.is_none_or(|own| own == context)
    }

    fn take_back(&mut self, context: Id, caller: Id) {
        if self.threads[caller].context.is_none() {
            self.give_context(context, caller);
        }
    }

    /// The caller of the innermost call, which has ended, has got another context. So this one returns to
    /// the caller of the next outer call, or else to its owner.
    fn pass_on(&mut self, context: Id, index: usize) {
        if let Some(&Lent { reply, .. }) = self.chains[index].calls.last()
            && let Reply::Caller(caller) = self.replies[reply]
            && self.can_take(caller, context)
        {
            self.chains[index].calls.pop();
            self.take_back(context, caller);
            if let State::AwaitingReturn { .. } = self.threads[caller].state {
                self.take_caller(reply);
                self.report_failure(caller);
            }
        } else {
            self.chains[index].lose();
            self.return_to_owner(context);
        }
    }

    /// A call ends, and no context moves. Its chain is cut there, but its limit stays in force.
    fn cut(&mut self, index: usize, place: usize) {
        let chain = &mut self.chains[index];
        let context = chain.context;
        let inner = Chain { context, calls: chain.calls.split_off(place + 1) };
        let limit = chain.calls.pop().and_then(|call| call.limit);
        chain.lose();
        self.chains.push(inner);
        if let Some(context) = context {
            self.contexts[context].orphan_limit = limit;
        }
        self.drop_chains();
    }

    /// The server between two calls with limits drops out: the caller of the outer call waits for the
    /// return of the context from the inner one, to which the outer limit now applies. Returns the
    /// server.
    fn join(&mut self, index: usize, outer: usize) -> Option<Id> {
        let outer_call = self.chains[index].calls.remove(outer);
        let inner = &mut self.chains[index].calls[outer];
        inner.limit = inner.limit.and(outer_call.limit);
        let reply = inner.reply;
        let server = self.take_caller(reply);
        if let Some(caller) = self.take_caller(outer_call.reply) {
            self.replies[reply] = Reply::Caller(caller);
            self.threads[caller].state = State::AwaitingReturn { reply };
        }
        server
    }

    fn has_limit(&self, index: usize, place: usize) -> bool {
        self.chains[index].calls.get(place).is_some_and(|call| call.limit.is_some())
    }

    /// The caller of a call drops out: it is stopped or deleted, or does something else. No context
    /// moves.
    pub fn drop_caller(&mut self, reply: Id) {
        match self.position_of(reply) {
            Some((index, place))
                if place > 0
                    && self.has_limit(index, place - 1)
                    && self.has_limit(index, place) =>
            {
                self.join(index, place - 1);
            }
            Some((index, place)) => {
                self.take_caller(reply);
                self.cut(index, place);
            }
            None => {
                self.take_caller(reply);
            }
        }
    }

    /// Whether a reply object has a caller whose call has a limit.
    pub fn is_limited(&self, reply: Id) -> bool {
        let Reply::Caller(caller) = self.replies[reply] else {
            return false;
        };
        let place = self.position_of(reply);
        matches!(self.threads[caller].state, State::AwaitingReturn { .. })
            || place.is_some_and(|(index, place)| self.has_limit(index, place))
    }

    /// Whether that is not the innermost of its chain.
    pub fn is_limited_inside(&self, reply: Id) -> bool {
        self.position_of(reply).is_some_and(|(index, place)| {
            self.has_limit(index, place) && place + 1 < self.chains[index].calls.len()
        })
    }

    /// A call with a limit fails: its reply object is deleted or used again, or the limit is reached.
    /// If servers inside have the context, its caller waits for them, and the own call of its server
    /// fails.
    pub fn fail_call(&mut self, reply: Id) {
        let failed = match (self.position_of(reply), self.replies[reply]) {
            (Some((index, place)), _) if self.is_limited_inside(reply) => self.join(index, place),
            (_, Reply::Caller(caller)) => {
                self.end_call(reply);
                Some(caller)
            }
            _ => None,
        };
        if let Some(caller) = failed {
            self.report_failure(caller);
        }
    }

    /// A thread that waits for its fault handler faults again.
    fn report_failure(&mut self, caller: Id) {
        if self.threads[caller].fault.take().is_some() {
            self.threads[caller].state = State::Restart;
        } else {
            self.threads[caller].state = State::Running;
            self.set_result(caller, ErrorCode::LimitReached as usize, Vec::new());
        }
        self.wake(caller);
        self.possible_switch_to(caller);
    }

    /// The running thread has reached the limit of its context.
    pub fn end_limit(&mut self, thread: Id, context: Id) {
        self.commit();
        if self.is_runnable(thread) {
            self.threads[thread].state = State::Restart;
        }
        match self.chain_of(context).and_then(|chain| chain.calls.last()) {
            Some(call) => self.fail_call(call.reply),
            None => self.return_to_owner(context),
        }
        self.choose_anew();
        if self.threads[thread].context.is_none() {
            self.report_timeout(thread, self.contexts[context].badge);
        }
    }

    /// A server loses a context that no caller waits for.
    pub fn return_to_owner(&mut self, context: Id) {
        self.contexts[context].orphan_limit = None;
        match self.contexts[context].owner {
            owner if owner.is_some() && owner == self.contexts[context].thread => {}
            Some(owner) if self.threads[owner].context.is_none() => {
                self.give_context(context, owner);
                self.run_on_new_time(owner);
            }
            _ => self.unbind_thread(context),
        }
    }
}

impl Chain {
    fn lose(&mut self) {
        self.context = None;
        if let Some(innermost) = self.calls.last_mut() {
            innermost.limit = None;
        }
    }
}
