//! Invocations of objects: errors and effects.

use abi::{ErrorCode, Method, ObjectType, endpoint_flags};

use crate::caps::{Cap, Place, Rights};
use crate::entry::Call;
use crate::refills::Refills;
use crate::state::{Choice, Id, MIN_BUDGET, Model, State, Time, Words};
use crate::thresholds::Threshold;

type Answer = Result<Words, (ErrorCode, Words)>;

const DONE: Answer = Ok(Vec::new());
const ILLEGAL: Answer = Err((ErrorCode::IllegalOperation, Vec::new()));

fn invalid_cap(number: usize) -> Answer {
    Err((ErrorCode::InvalidCapability, vec![Some(number)]))
}

fn range(minimum: usize, maximum: usize) -> Answer {
    Err((ErrorCode::RangeError, vec![Some(minimum), Some(maximum)]))
}

impl Model {
    /// A method call of a thread on an object.
    pub fn invoke(&mut self, caller: Id, cap: Cap, call: &Call) -> Answer {
        let is = |method: Method| call.label == method.number();
        let word = |index: usize| call.words.get(index).copied().unwrap_or(0);
        let place = |index: usize| Place::Address(call.caps.get(index).copied().unwrap_or(0));
        let first = self.cap(place(0));
        match cap {
            Cap::CNode => self.invoke_cnode(call),
            Cap::Thread { id } if is(Method::TcbSuspend) => {
                self.suspend(id);
                DONE
            }
            Cap::Thread { id } if is(Method::TcbResume) => {
                self.resume(id);
                DONE
            }
            Cap::Thread { id } if is(Method::TcbSetPriority) => {
                self.check_authority(first, &[word(0)])?;
                self.set_priority(id, word(0) as u8);
                DONE
            }
            Cap::Thread { id }
                if is(Method::TcbSetCriticality) || is(Method::TcbSetMcCriticality) =>
            {
                let Cap::Thread { id: authority } = first else {
                    return invalid_cap(1);
                };
                let most = self.threads[authority].criticality_authority;
                if word(0) > most.into() {
                    return range(0, most.into());
                }
                if is(Method::TcbSetCriticality) {
                    self.set_criticality(id, word(0) as u8);
                } else {
                    self.threads[id].criticality_authority = word(0) as u8;
                }
                DONE
            }
            Cap::SchedControl if is(Method::SchedControlSetCriticalityLevel) => {
                if word(0) > 7 {
                    return range(0, 7);
                }
                self.level = word(0) as u8;
                self.choose_anew();
                DONE
            }
            Cap::Thread { id } if is(Method::TcbSetSchedParams) => {
                self.check_authority(first, &[word(0), word(1)])?;
                self.set_sched_params(caller, id, call)
            }
            Cap::Thread { .. } if is(Method::TcbConfigure) => DONE,
            Cap::Thread { id } if is(Method::TcbWriteRegisters) => {
                if word(0) & 1 != 0 {
                    self.resume(id);
                }
                DONE
            }
            Cap::Thread { id } if is(Method::TcbSetTimeoutEndpoint) => {
                if !first.is_handler() {
                    return invalid_cap(1);
                }
                self.replace(Place::TimeoutHandler(id), place(0));
                DONE
            }
            Cap::Thread { id: thread } if is(Method::TcbBindNotification) => match first {
                _ if self.threads[thread].notification.is_some() => ILLEGAL,
                Cap::Notification { id, rights, .. } => {
                    let object = &mut self.notifications[id];
                    if !rights.read || !object.queue.is_empty() || object.thread.is_some() {
                        return ILLEGAL;
                    }
                    object.thread = Some(thread);
                    self.threads[thread].notification = Some(id);
                    DONE
                }
                _ => ILLEGAL,
            },
            Cap::Thread { id } if is(Method::TcbUnbindNotification) => {
                if self.threads[id].notification.is_none() {
                    return ILLEGAL;
                }
                self.unbind_notification(id);
                DONE
            }
            Cap::Context { id } if is(Method::SchedContextBind) => self.bind(id, first),
            Cap::Context { id } if is(Method::SchedContextUnbind) => {
                if self.contexts[id].thread == Some(caller) {
                    return ILLEGAL;
                }
                self.unbind_context(id);
                DONE
            }
            Cap::Context { id } if is(Method::SchedContextUnbindObject) => {
                self.unbind_object(caller, id, first)
            }
            Cap::Context { id } if is(Method::SchedContextConsumed) => {
                let consumed = std::mem::take(&mut self.contexts[id].consumed);
                Ok(vec![Some(consumed as usize)])
            }
            Cap::Context { id } if is(Method::SchedContextYieldTo) => self.yield_to(caller, id),
            Cap::SchedControl if is(Method::SchedControlConfigureFlags) => {
                let Cap::Context { id } = first else {
                    return invalid_cap(1);
                };
                self.configure(caller, id, call);
                DONE
            }
            Cap::IrqHandler(_) if is(Method::IrqAckIrq) => DONE,
            Cap::IrqHandler(line) if is(Method::IrqSetIrqHandler) => {
                self.replace(Place::Line(line), place(0));
                DONE
            }
            Cap::IrqControl if is(Method::IrqIssueIrqHandler) => {
                self.put(Place::Address(word(1)), Cap::IrqHandler(word(0)));
                DONE
            }
            Cap::Memory if is(Method::UntypedRetype) => {
                self.create(word(0), word(4));
                DONE
            }
            Cap::Null | Cap::Endpoint { .. } | Cap::Notification { .. } => invalid_cap(0),
            _ => ILLEGAL,
        }
    }

    /// Makes an object.
    fn create(&mut self, kind: usize, address: usize) {
        let is = |one: ObjectType| kind == one.number();
        let (badge, rights) = (0, Rights::ALL);
        let cap = if is(ObjectType::Endpoint) {
            Cap::Endpoint { id: push(&mut self.endpoints), badge, rights }
        } else if is(ObjectType::Notification) {
            Cap::Notification { id: push(&mut self.notifications), badge, rights }
        } else if is(ObjectType::Reply) {
            Cap::Reply { id: push(&mut self.replies) }
        } else if is(ObjectType::SchedContext) {
            Cap::Context { id: push(&mut self.contexts) }
        } else if is(ObjectType::Tcb) {
            Cap::Thread { id: push(&mut self.threads) }
        } else {
            Cap::Frame(address)
        };
        self.put(Place::Address(address), cap);
    }

    fn replace(&mut self, place: Place, source: Place) {
        self.delete(place);
        self.insert(place, self.cap(source), source);
    }

    fn check_authority(&self, authority: Cap, priorities: &[usize]) -> Answer {
        let Cap::Thread { id } = authority else {
            return invalid_cap(1);
        };
        let most = self.threads[id].authority.into();
        if priorities.iter().any(|priority| *priority > most) {
            return range(0, most);
        }
        DONE
    }

    fn set_sched_params(&mut self, caller: Id, id: Id, call: &Call) -> Answer {
        let place = |index: usize| Place::Address(call.caps[index]);
        let (context, handler) = (self.cap(place(1)), self.cap(place(2)));
        match context {
            Cap::Context { id: context } => {
                let mine = self.threads[id].context == Some(context);
                let free =
                    self.threads[id].context.is_none() && self.contexts[context].thread.is_none();
                if !mine && !free || !self.may_take(id, context) {
                    return ILLEGAL;
                }
            }
            Cap::Null if id == caller => return ILLEGAL,
            Cap::Null => {}
            _ => return invalid_cap(2),
        }
        if !handler.is_handler() {
            return invalid_cap(3);
        }
        self.replace(Place::FaultHandler(id), place(2));
        self.threads[id].authority = call.words[0] as u8;
        self.set_priority(id, call.words[1] as u8);
        match context {
            Cap::Context { id: context } if self.threads[id].context != Some(context) => {
                self.bind(context, Cap::Thread { id })
            }
            Cap::Null => {
                if let Some(context) = self.threads[id].context {
                    self.finish_yield_of(context);
                    self.unbind_thread(context);
                }
                DONE
            }
            _ => DONE,
        }
    }

    fn invoke_cnode(&mut self, call: &Call) -> Answer {
        let is = |method: Method| call.label == method.number();
        let word = |index: usize| call.words.get(index).copied().unwrap_or(0);
        let (target, source) = (Place::Address(word(0)), Place::Address(word(2)));
        if is(Method::CNodeDelete) {
            self.delete(target);
            return DONE;
        }
        if is(Method::CNodeRevoke) {
            self.revoke(target);
            return DONE;
        }
        if is(Method::CNodeCancelBadgedSends) {
            return match self.cap(target) {
                Cap::Endpoint { id, badge, rights: Rights::ALL } => {
                    if badge != 0 {
                        self.cancel_badged_sends(id, badge);
                    }
                    DONE
                }
                _ => ILLEGAL,
            };
        }
        if is(Method::CNodeEndpointSetThreshold) {
            return self.set_threshold(target, word(2) as Time, word(3));
        }
        if self.cap(target) != Cap::Null {
            return Err((ErrorCode::DeleteFirst, Vec::new()));
        }
        if self.cap(source) == Cap::Null {
            return Err((ErrorCode::FailedLookup, vec![Some(1), Some(2), Some(word(3))]));
        }
        if is(Method::CNodeMove) {
            self.relocate(source, target);
            return DONE;
        }
        let (rights, mint) = (Rights::from_word(word(4)), is(Method::CNodeMint));
        match self.derive(source, rights, word(5), mint) {
            Some(cap) => {
                self.insert(target, cap, source);
                DONE
            }
            None => ILLEGAL,
        }
    }

    /// Only by a capability that is not a copy. Threads that wait already stay accepted.
    fn set_threshold(&mut self, target: Place, budget: Time, flags: usize) -> Answer {
        let Some(id) = self.original_endpoint(target) else {
            return ILLEGAL;
        };
        let limits = flags & endpoint_flags::LIMIT != 0;
        debug_assert!(budget > 0 || !limits);
        let threshold = Threshold { budget, limits };
        self.endpoints[id].threshold = (budget > 0 || flags != 0).then_some(threshold);
        DONE
    }

    /// Suspends the thread and cancels its blocking operation.
    pub fn suspend(&mut self, thread: Id) {
        if let Some(context) = self.threads[thread].yielded_to.take() {
            self.contexts[context].yielder = None;
        }
        self.cancel(thread);
        let object = &mut self.threads[thread];
        if object.state == State::Running {
            object.called_last = object.calls_next;
        }
        object.state = State::Inactive;
        self.leave_queues(thread);
        if self.current == Some(thread) {
            self.choose_anew();
        }
    }

    fn resume(&mut self, thread: Id) {
        if self.is_runnable(thread) {
            return;
        }
        self.cancel(thread);
        self.threads[thread].state = State::Restart;
        self.wake(thread);
        self.possible_switch_to(thread);
    }

    fn set_priority(&mut self, thread: Id, priority: u8) {
        let ready = self.is_ready(thread) || self.choice == Choice::Candidate(thread);
        if ready || self.current == Some(thread) {
            self.choose_anew();
        }
        if ready {
            self.leave_queues(thread);
        }
        self.threads[thread].priority = priority;
        if ready {
            self.ready_first(thread);
        }
        self.requeue(thread);
    }

    /// Sets the criticality of the thread's own context; if it has none, that of a context without
    /// owner on which it runs without a donation.
    fn set_criticality(&mut self, thread: Id, criticality: u8) {
        self.threads[thread].criticality = criticality;
        let own = self.contexts.iter().position(|context| context.owner == Some(thread));
        let unowned = self.threads[thread].context.filter(|id| {
            let context = &self.contexts[*id];
            context.owner.is_none() && self.chain_of(*id).is_none()
        });
        let Some(context) = own.or(unowned) else {
            return;
        };
        let holder = self.contexts[context].thread;
        let ready = holder
            .filter(|holder| self.is_ready(*holder) || self.choice == Choice::Candidate(*holder));
        if ready.is_some() || holder.is_some() && self.current == holder {
            self.choose_anew();
        }
        if let Some(holder) = ready {
            self.leave_queues(holder);
        }
        self.contexts[context].criticality = criticality;
        if let Some(holder) = ready {
            self.ready_first(holder);
        }
    }

    /// Makes the thread the owner of the context, which takes the thread's criticality.
    fn own(&mut self, thread: Id, context: Id) {
        for other in self.contexts.iter_mut().filter(|other| other.owner == Some(thread)) {
            other.owner = None;
        }
        self.contexts[context].owner = Some(thread);
        self.contexts[context].criticality = self.threads[thread].criticality;
    }

    /// A blocked thread can only be given a context with a replenishment that is due.
    fn may_take(&self, thread: Id, context: Id) -> bool {
        let refills = &self.contexts[context].refills;
        let released = refills.as_ref().is_some_and(|refills| refills.head().0 <= self.now);
        !self.is_blocked(thread) || released
    }

    fn bind(&mut self, context: Id, target: Cap) -> Answer {
        match target {
            Cap::Thread { id: thread } => {
                if self.contexts[context].thread.is_some()
                    || self.threads[thread].context.is_some()
                    || !self.may_take(thread, context)
                {
                    return ILLEGAL;
                }
                self.give_context(context, thread);
                self.own(thread, context);
                self.run_on_new_time(thread);
                DONE
            }
            Cap::Notification { id, .. } => {
                if self.contexts[context].notification.is_some()
                    || self.notifications[id].context.is_some()
                {
                    return ILLEGAL;
                }
                self.contexts[context].notification = Some(id);
                self.notifications[id].context = Some(context);
                // A passive bound thread that took a signal before is the first to borrow the
                // context.
                if let Some(thread) = self.notifications[id].thread
                    && self.is_runnable(thread)
                    && self.threads[thread].context.is_none()
                {
                    self.borrow_context(thread, id);
                    self.run_on_new_time(thread);
                }
                DONE
            }
            _ => invalid_cap(1),
        }
    }

    pub fn run_on_new_time(&mut self, thread: Id) {
        self.threads[thread].deferred = None;
        self.wake(thread);
        if self.is_schedulable(thread) {
            if self.has_budget(thread) {
                self.choose_anew();
                self.ready_first(thread);
            } else {
                self.postpone(thread);
            }
        }
    }

    fn unbind_object(&mut self, caller: Id, context: Id, target: Cap) -> Answer {
        match target {
            Cap::Thread { id } => {
                if self.contexts[context].thread != Some(id) || id == caller {
                    return ILLEGAL;
                }
                self.finish_yield_of(context);
                self.unbind_thread(context);
                DONE
            }
            Cap::Notification { id, .. } => {
                if self.contexts[context].notification != Some(id) {
                    return ILLEGAL;
                }
                self.contexts[context].notification = None;
                self.notifications[id].context = None;
                DONE
            }
            _ => invalid_cap(1),
        }
    }

    /// Unbinds the context from its thread.
    pub fn unbind_thread(&mut self, context: Id) {
        self.contexts[context].owner = None;
        if let Some(thread) = self.contexts[context].thread {
            self.take_context(thread);
        }
        self.drop_orphan_limit(context);
    }

    /// A limit for which no call is left ends when the context loses its thread.
    pub fn drop_orphan_limit(&mut self, context: Id) {
        if self.chain_of(context).is_none() {
            self.contexts[context].orphan_limit = None;
        }
    }

    /// Unbinds the context from its thread, its notification, and the call chain.
    pub fn unbind_context(&mut self, context: Id) {
        self.finish_yield_of(context);
        if self.current.is_some() && self.current == self.contexts[context].thread {
            self.commit();
        }
        self.unbind_thread(context);
        if let Some(notification) = self.contexts[context].notification.take() {
            self.notifications[notification].context = None;
        }
        self.lose(context);
        self.contexts[context].orphan_limit = None;
    }

    fn configure(&mut self, caller: Id, id: Id, call: &Call) {
        let [budget, period, extra, badge, flags] = [0, 1, 2, 3, 4].map(|index| call.words[index]);
        debug_assert!(MIN_BUDGET <= budget as Time && budget <= period);
        let (budget, period, max) = (budget as Time, period as Time, extra + 2);
        if self.current_context == Some(id) {
            self.commit();
        }
        let now = self.now;
        let thread = self.contexts[id].thread;
        if let Some(thread) = thread {
            self.leave_queues(thread);
        }
        let in_use = thread.is_some_and(|thread| self.is_runnable(thread));
        let context = &mut self.contexts[id];
        match &mut context.refills {
            Some(refills) if in_use && budget != period => refills.update(now, budget, period, max),
            refills => *refills = Some(Refills::new(now, budget, period, max)),
        }
        (context.badge, context.sporadic) = (badge, flags & 1 != 0);
        if thread == Some(caller) {
            self.choose_anew();
        } else if let Some(thread) = thread {
            self.possible_switch_to(thread);
        }
    }

    fn yield_to(&mut self, caller: Id, context: Id) -> Answer {
        let Some(target) = self.contexts[context].thread else {
            return ILLEGAL;
        };
        if target == caller || self.threads[target].priority > self.threads[caller].authority {
            return ILLEGAL;
        }
        self.finish_yield_of(context);
        if self.is_schedulable(target) && !self.has_budget(target) {
            self.postpone(target);
        }
        if self.is_schedulable(target) {
            let preempts = self.threads[target].priority >= self.threads[caller].priority;
            if preempts {
                self.choose_anew();
                self.ready_first(caller);
                self.ready_first(target);
                self.threads[caller].yielded_to = Some(context);
                self.contexts[context].yielder = Some(caller);
                return DONE;
            }
            self.ready_first(target);
        }
        Ok(vec![Some(std::mem::take(&mut self.contexts[context].consumed) as usize)])
    }

    /// The thread gets the consumed time of the context to which it yielded.
    pub fn finish_yield(&mut self, caller: Id) {
        if let Some(context) = self.threads[caller].yielded_to.take() {
            self.contexts[context].yielder = None;
            let consumed = std::mem::take(&mut self.contexts[context].consumed);
            self.set_result(caller, 0, vec![Some(consumed as usize)]);
        }
    }

    pub fn finish_yield_of(&mut self, context: Id) {
        if let Some(caller) = self.contexts[context].yielder {
            self.finish_yield(caller);
        }
    }
}

/// Adds a new object of its kind; returns its index.
fn push<T: Default>(objects: &mut Vec<T>) -> Id {
    objects.push(T::default());
    objects.len() - 1
}
