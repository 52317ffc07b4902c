//! Endpoints, notifications and replies, and the donation of contexts along them.

use crate::caps::{Cap, Place, Rights};
use crate::state::{Id, Model, Reply, State, Words};
use crate::thresholds::Sending;

impl Model {
    fn enqueue(&mut self, thread: Id, endpoint: Id) {
        let priority = self.threads[thread].priority;
        let queue = &self.endpoints[endpoint].queue;
        let place = queue.partition_point(|other| self.threads[*other].priority >= priority);
        self.endpoints[endpoint].queue.insert(place, thread);
    }

    fn enqueue_waiter(&mut self, thread: Id, notification: Id) {
        let priority = self.threads[thread].priority;
        let queue = &self.notifications[notification].queue;
        let place = queue.partition_point(|other| self.threads[*other].priority >= priority);
        self.notifications[notification].queue.insert(place, thread);
    }

    /// After a change of priority: last of the new priority.
    pub fn requeue(&mut self, thread: Id) {
        match self.threads[thread].state {
            State::Sending { endpoint, .. } | State::Receiving { endpoint, .. } => {
                self.endpoints[endpoint].queue.retain(|other| *other != thread);
                self.enqueue(thread, endpoint);
            }
            State::Waiting { notification } => {
                self.notifications[notification].queue.retain(|other| *other != thread);
                self.enqueue_waiter(thread, notification);
            }
            _ => {}
        }
    }

    /// Cancels the thread's blocking operation; no context moves.
    pub fn cancel(&mut self, thread: Id) {
        match self.threads[thread].state {
            State::Sending { endpoint, .. } => {
                self.endpoints[endpoint].queue.retain(|other| *other != thread);
            }
            State::Receiving { endpoint, reply } => {
                self.endpoints[endpoint].queue.retain(|other| *other != thread);
                if let Some(reply) = reply {
                    self.replies[reply] = Reply::Free;
                }
            }
            State::Waiting { notification } => {
                self.notifications[notification].queue.retain(|other| *other != thread);
            }
            State::Calling { reply } | State::AwaitingReturn { reply } => self.drop_caller(reply),
            _ => return,
        }
        self.threads[thread].fault = None;
        self.threads[thread].state = State::Inactive;
    }

    /// Transfers a message, or the fault message of the sender.
    fn transfer(&mut self, from: Id, to: Id, badge: usize) {
        let (label, words) = match self.threads[from].fault {
            Some(fault) => self.fault_message(from, fault),
            None => (self.threads[from].label, self.threads[from].words.clone()),
        };
        let receiver = &mut self.threads[to];
        (receiver.badge, receiver.label, receiver.words) = (badge, label, words);
    }

    /// Sends to an endpoint, or waits for a receiver. Calls and faults need a reply and, with
    /// `donate`, donate their context to a passive receiver.
    pub fn send(
        &mut self,
        from: Id,
        endpoint: Id,
        badge: usize,
        rights: Rights,
        call: bool,
        donate: bool,
    ) {
        let can_reply = rights.can_reply();
        let how = Sending { blocking: true, call, donate };
        if !self.passes_threshold(from, endpoint, how) {
            return;
        }
        if self.waiting_receiver(endpoint).is_some() {
            self.meet_receiver(from, endpoint, badge, |model, to, reply| {
                if call {
                    model.await_reply(from, to, reply.filter(|_| can_reply), donate);
                }
            });
        } else {
            self.threads[from].state = State::Sending { endpoint, badge, can_reply, call };
            self.enqueue(from, endpoint);
        }
    }

    /// Sends if a receiver waits. A combined call donates the sender's context to a passive receiver.
    pub fn send_if_waiting(&mut self, from: Id, endpoint: Id, badge: usize, donate: bool) {
        let how = Sending { blocking: false, call: false, donate };
        if !self.passes_threshold(from, endpoint, how) {
            return;
        }
        if self.waiting_receiver(endpoint).is_some() {
            self.meet_receiver(from, endpoint, badge, |model, to, _| {
                if donate && model.threads[to].context.is_none() {
                    model.donate(from, to);
                }
            });
        }
    }

    fn passes_threshold(&mut self, from: Id, endpoint: Id, how: Sending) -> bool {
        let threshold = self.endpoints[endpoint].threshold;
        threshold.is_none_or(|threshold| self.admit(from, threshold, how))
    }

    fn waiting_receiver(&self, endpoint: Id) -> Option<Id> {
        let first = *self.endpoints[endpoint].queue.first()?;
        matches!(self.threads[first].state, State::Receiving { .. }).then_some(first)
    }

    fn meet_receiver(
        &mut self,
        from: Id,
        endpoint: Id,
        badge: usize,
        then: impl FnOnce(&mut Self, Id, Option<Id>),
    ) {
        let to = self.endpoints[endpoint].queue.remove(0);
        let State::Receiving { reply, .. } = self.threads[to].state else {
            unreachable!("only receivers wait here")
        };
        if let Some(reply) = reply {
            self.replies[reply] = Reply::Free;
        }
        self.transfer(from, to, badge);
        self.threads[to].state = State::Running;
        then(self, to, reply);
        self.wake(to);
        self.possible_switch_to(to);
        if let Some(threshold) = self.endpoints[endpoint].threshold {
            self.delivered(to, threshold, self.threads[from].context.is_none());
        }
    }

    /// The caller waits for a reply; without a reply object it becomes inactive.
    fn await_reply(&mut self, caller: Id, receiver: Id, reply: Option<Id>, donate: bool) {
        let Some(reply) = reply else {
            self.threads[caller].state = State::Inactive;
            self.threads[caller].fault = None;
            return;
        };
        self.threads[caller].state = State::Calling { reply };
        self.replies[reply] = Reply::Caller(caller);
        if donate
            && self.threads[receiver].context.is_none()
            && let Some(context) = self.threads[caller].context
        {
            self.lend(context, reply);
            self.donate(caller, receiver);
        }
    }

    fn donate(&mut self, from: Id, to: Id) {
        if let Some(context) = self.threads[from].context {
            self.give_context(context, to);
        }
    }

    /// Receives from an endpoint, or waits for a sender if the call may block.
    pub fn receive(&mut self, thread: Id, endpoint: Id, reply: Option<Id>, blocking: bool) {
        if let Some(reply) = reply {
            match self.replies[reply] {
                Reply::Caller(_) if self.is_limited(reply) => self.fail_call(reply),
                Reply::Receiver(other) | Reply::Caller(other) if other != thread => {
                    self.cancel(other);
                }
                _ => {}
            }
        }
        if let Some(notification) = self.threads[thread].notification {
            if let Some(word) = self.notifications[notification].word.take() {
                self.threads[thread].badge = word;
                self.borrow_context(thread, notification);
                return;
            }
            if blocking {
                self.return_context(thread, notification);
            }
        }
        let threshold = self.endpoints[endpoint].threshold;
        if threshold.is_some() && blocking {
            self.abandon_orphan(thread);
        }
        let passive = self.threads[thread].context.is_none();
        let first = self.endpoints[endpoint].queue.first().copied();
        match first.map(|first| (first, self.threads[first].state)) {
            Some((from, State::Sending { badge, can_reply, call, .. })) => {
                self.endpoints[endpoint].queue.remove(0);
                self.transfer(from, thread, badge);
                self.wake(from);
                if call {
                    let timeout = matches!(
                        self.threads[from].fault,
                        Some(crate::faults::Fault::Timeout { .. })
                    );
                    self.await_reply(from, thread, reply.filter(|_| can_reply), !timeout);
                } else {
                    self.threads[from].state = State::Running;
                    self.possible_switch_to(from);
                }
                if let Some(threshold) = threshold {
                    let donated = passive && self.threads[thread].context.is_some();
                    self.delivered(thread, threshold, donated);
                }
            }
            _ if blocking => {
                if let Some(reply) = reply {
                    self.replies[reply] = Reply::Receiver(thread);
                }
                self.threads[thread].state = State::Receiving { endpoint, reply };
                self.enqueue(thread, endpoint);
            }
            _ => self.threads[thread].badge = 0,
        }
    }

    /// Replies to the caller of a reply object, if there is one.
    pub fn reply(&mut self, from: Id, reply: Id) {
        let Reply::Caller(caller) = self.replies[reply] else {
            return;
        };
        let fails = matches!(self.threads[caller].state, State::AwaitingReturn { .. });
        if fails || self.is_limited_inside(reply) {
            return self.fail_call(reply);
        }
        self.end_call(reply);
        self.wake(caller);
        let fault = self.threads[caller].fault.take();
        let (label, words) = (self.threads[from].label, self.threads[from].words.clone());
        match fault {
            Some(fault) => self.answer_fault(caller, fault, label, &words),
            None => {
                self.transfer(from, caller, 0);
                self.threads[caller].state = State::Running;
            }
        }
        let timed_out = matches!(fault, Some(crate::faults::Fault::Timeout { .. }));
        if self.is_runnable(caller) && self.threads[caller].context.is_some() {
            if self.is_schedulable(caller) && !self.has_budget(caller) && !timed_out {
                if self.threads[caller].state == State::Running {
                    // Its call is complete: it continues after it.
                    self.threads[caller].called_last = false;
                }
                if !self.raise_timeout(caller) {
                    self.postpone(caller);
                }
            } else {
                self.possible_switch_to(caller);
            }
        }
    }

    /// Moves a context to a thread, from the one that has it.
    pub fn give_context(&mut self, context: Id, to: Id) {
        if let Some(from) = self.contexts[context].thread {
            self.take_context(from);
        }
        self.contexts[context].thread = Some(to);
        self.threads[to].context = Some(context);
    }

    /// Removes the thread's context.
    pub fn take_context(&mut self, thread: Id) {
        self.leave_queues(thread);
        if let Some(context) = self.threads[thread].context.take() {
            self.contexts[context].thread = None;
        }
    }

    /// Signals: wakes a waiter or a receiving bound thread with the badge, or sets the word.
    pub fn signal(&mut self, notification: Id, badge: usize) {
        let object = &mut self.notifications[notification];
        let bound = object.thread;
        let receives = |thread: &Id| matches!(self.threads[*thread].state, State::Receiving { .. });
        let waiter = if object.word.is_some() {
            None
        } else if object.queue.is_empty() {
            bound.filter(receives)
        } else {
            Some(object.queue[0])
        };
        match waiter {
            Some(thread) => {
                self.cancel(thread);
                self.threads[thread].state = State::Running;
                self.threads[thread].badge = badge;
                self.borrow_context(thread, notification);
                self.wake(thread);
                self.possible_switch_to(thread);
            }
            None => *self.notifications[notification].word.get_or_insert(0) |= badge,
        }
    }

    /// Waits for a signal.
    pub fn wait(&mut self, thread: Id, notification: Id, blocking: bool) {
        if let Some(word) = self.notifications[notification].word.take() {
            self.threads[thread].badge = word;
            self.borrow_context(thread, notification);
            self.wake(thread);
        } else if blocking {
            self.threads[thread].state = State::Waiting { notification };
            self.enqueue_waiter(thread, notification);
            self.return_context(thread, notification);
        } else {
            self.threads[thread].badge = 0;
        }
    }

    /// A woken passive thread borrows the notification's context, if that has no thread.
    pub fn borrow_context(&mut self, thread: Id, notification: Id) {
        if let Some(context) = self.notifications[notification].context
            && self.threads[thread].context.is_none()
            && self.contexts[context].thread.is_none()
        {
            if self.contexts[context].owner.is_none() {
                self.contexts[context].criticality = self.threads[thread].criticality;
            }
            self.give_context(context, thread);
        }
    }

    fn return_context(&mut self, thread: Id, notification: Id) {
        let lent = self.notifications[notification].context;
        if let Some(context) = lent.filter(|_| self.threads[thread].context == lent) {
            self.take_context(thread);
            self.drop_orphan_limit(context);
        }
    }

    pub fn unbind_notification(&mut self, thread: Id) {
        if let Some(notification) = self.threads[thread].notification.take() {
            self.notifications[notification].thread = None;
        }
    }

    /// Cancels the sends with this badge.
    pub fn cancel_badged_sends(&mut self, endpoint: Id, badge: usize) {
        for thread in self.endpoints[endpoint].queue.clone() {
            let State::Sending { badge: sent, .. } = self.threads[thread].state else {
                continue;
            };
            if sent == badge {
                self.restart_sender(thread);
            }
        }
    }

    /// Signals the notification of an interrupt line.
    pub fn interrupt(&mut self, line: Id) {
        if let Cap::Notification { id, badge, rights } = self.cap(Place::Line(line))
            && rights.write
        {
            self.signal(id, badge);
        }
    }

    pub fn set_result(&mut self, thread: Id, label: usize, words: Words) {
        let thread = &mut self.threads[thread];
        (thread.badge, thread.label, thread.words) = (0, label, words);
    }
}
