//! Thresholds of endpoints: the budget that a sender must have.

use abi::ErrorCode;

use crate::refills::Refills;
use crate::state::{Id, MIN_BUDGET, Model, State, Time, Words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Threshold {
    /// What the receiver gets at least.
    pub budget: Time,
    /// It is also the most that the receiver may use.
    pub limits: bool,
}

/// How a message is sent.
#[derive(Clone, Copy)]
pub struct Sending {
    pub blocking: bool,
    pub call: bool,
    pub donate: bool,
}

impl Model {
    /// Time that a context has consumed and that is not charged yet.
    pub fn uncharged(&self, context: Id) -> Time {
        if self.current_context == Some(context) { self.used } else { 0 }
    }

    /// The running thread may send its context there without a limit, which it may not if it runs
    /// under one itself.
    pub fn would_lift_limit(&self, thread: Id, endpoint: Id) -> bool {
        let context = self.threads[thread].context;
        self.endpoints[endpoint].threshold.is_none()
            && context.is_some_and(|id| self.limit_left(id).is_some())
    }

    /// Whether a message of the running thread is sent now. If not, the thread may have to wait for
    /// budget first, or gets an error.
    pub fn admit(&mut self, sender: Id, threshold: Threshold, how: Sending) -> bool {
        let needed = threshold.budget + MIN_BUDGET;
        let Some(context) = self.threads[sender].context.filter(|_| how.donate) else {
            return self.refuse(sender, how, ErrorCode::IllegalOperation, Vec::new());
        };
        let limit = self.limit_left(context);
        if limit.is_some() && !(how.call && threshold.limits) {
            return self.refuse(sender, how, ErrorCode::IllegalOperation, Vec::new());
        }
        let most = self.budget(context).min(limit.unwrap_or(Time::MAX));
        if most < needed {
            return self.refuse(sender, how, ErrorCode::BudgetTooSmall, numbers(needed, most));
        }
        // A deferred sender has used a little to try again. More than that, and it did something else.
        let credit = self.retry.map_or(0, |used| used + self.used);
        let credit = if credit <= MIN_BUDGET { credit } else { 0 };
        if self.head(context).saturating_sub(self.used) + credit >= needed {
            return true;
        }
        match self.merge(context, needed, how.blocking) {
            Merged::Now => true,
            Merged::Never => self.refuse(sender, how, ErrorCode::IllegalOperation, Vec::new()),
            Merged::Later => {
                let thread = &mut self.threads[sender];
                thread.fault = None;
                thread.state = State::Running;
                thread.calls_next = thread.called_last;
                thread.deferred = Some(0);
                self.wait_for_turn(sender);
                self.choose_anew();
                false
            }
        }
    }

    /// A thread whose fault message is refused stops; callers get an error, other senders nothing.
    fn refuse(&mut self, sender: Id, how: Sending, error: ErrorCode, words: Words) -> bool {
        if self.threads[sender].fault.take().is_some() {
            self.threads[sender].state = State::Inactive;
            self.leave_queues(sender);
        } else if how.call {
            self.set_result(sender, error as usize, words);
        }
        false
    }

    fn refills_of(&self, context: Id) -> &Refills {
        self.contexts[context].refills.as_ref().expect("a thread runs on it")
    }

    fn budget(&self, context: Id) -> Time {
        self.refills_of(context).list.iter().map(|(_, amount)| amount).sum()
    }

    fn head(&self, context: Id) -> Time {
        self.refills_of(context).head().1
    }

    /// Merges due replenishments of the current context until its head suffices, and later ones if the
    /// thread may wait.
    fn merge(&mut self, context: Id, needed: Time, may_wait: bool) -> Merged {
        let round_robin = self.refills_of(context).is_round_robin();
        if round_robin && !may_wait {
            return Merged::Never;
        }
        self.commit();
        let now = self.now;
        let refills = self.contexts[context].refills.as_mut().expect("a thread runs on it");
        if round_robin {
            refills.renew();
            Merged::Later
        } else if !refills.merge_until(needed, if may_wait { Time::MAX } else { now }) {
            Merged::Never
        } else if refills.head().0 <= now {
            Merged::Now
        } else {
            Merged::Later
        }
    }

    /// A message with a threshold was received; `donated`: with the sender's context.
    pub fn delivered(&mut self, receiver: Id, threshold: Threshold, donated: bool) {
        let Some(context) = self.threads[receiver].context.filter(|_| donated) else {
            return;
        };
        // The context may have been changed while the sender waited for the receiver.
        let refills = self.contexts[context].refills.as_mut().expect("its sender was admitted");
        if refills.head().1 < threshold.budget && !refills.is_round_robin() {
            refills.merge_until(threshold.budget + MIN_BUDGET, Time::MAX);
        }
        if threshold.limits {
            self.set_limit(context, threshold.budget);
        }
    }

    /// A server that would wait at an endpoint with a threshold on a context that it borrowed and for
    /// which no caller waits gives it up.
    pub fn abandon_orphan(&mut self, server: Id) {
        if let Some(id) = self.threads[server].context
            && self.chain_of(id).is_none()
            && self.contexts[id].owner != Some(server)
        {
            match self.limit_left(id) {
                Some(_) => self.return_to_owner(id),
                None => self.unbind_thread(id),
            }
        }
    }

    /// `YieldUntilBudget`. What was lent with a limit is not merged: its owner would have to wait.
    pub fn yield_until(&mut self, thread: Id, needed: Time) {
        let Some(context) = self.current_context else {
            return;
        };
        let now = self.head(context).saturating_sub(self.used);
        let most = match self.limit_left(context) {
            Some(limit) => now.min(limit),
            None => self.budget(context),
        };
        if needed > most {
            let error = ErrorCode::BudgetTooSmall as usize;
            return self.set_result(thread, error, numbers(needed, most));
        }
        self.set_result(thread, 0, Vec::new());
        if now < needed && self.merge(context, needed, true) == Merged::Later {
            self.wait_for_turn(thread);
            self.choose_anew();
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Merged {
    Now,
    Later,
    Never,
}

fn numbers(needed: Time, most: Time) -> Words {
    vec![Some(needed as usize), Some(most as usize)]
}
