//! Endpoints that ask senders for time: thresholds.
//!
//! A server behind a threshold serves only callers who can pay for it, so that running out of time in
//! the middle of a request is an error of somebody, not a matter of course. The idea is that of
//! Johnston's endpoint budget thresholds for seL4's MCS kernel.
//!
//! None of this is on the way of a message through an endpoint without guard: `send` and `receive`
//! come here when they find one, and are run again with the guard put aside.

use abi::endpoint_flags::{LIMIT, TELL_BUDGET};
use abi::registers::INFO;
use abi::{MessageInfo, WORD_BITS};

use super::{Receiver, SendOptions};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::EndpointCap;
use crate::invoke::Error;
use crate::object::{
    ContextFlag, Endpoint, EndpointState, Guard, PendingFault, Progress, SchedContext, Thread,
    ThreadState,
};
use crate::sched::Funding;
use crate::time::Ticks;
use crate::token::Ptr;

/// What becomes of a message that needs funding.
enum Admission {
    /// It is sent.
    Pass,
    /// The sender waits until it has gathered the time, and tries again.
    Defer,
    /// It is not sent.
    Refuse(Error),
}

impl<A: Arch> Kernel<A> {
    /// Sends to an endpoint with a guard. `sender` is the current thread.
    #[cold]
    pub(super) fn send_guarded(
        &mut self,
        sender: Ptr<Thread<A>>,
        cap: EndpointCap<A>,
        options: SendOptions,
    ) {
        let endpoint = cap.object;
        let Some(guard) = self[endpoint].guard() else {
            return;
        };
        match self.admit(sender, guard, options) {
            Admission::Pass => {}
            Admission::Defer => return self.defer(sender),
            Admission::Refuse(error) => return self.refuse(sender, options, error),
        }
        let receiver = match self[endpoint].state() {
            EndpointState::Receiving(queue) => queue.first(&self.objects),
            EndpointState::Idle | EndpointState::Sending(_) => None,
        };
        self.without_guard(endpoint, |kernel| kernel.send(sender, cap, options));
        if let Some(receiver) = receiver {
            self.delivered(receiver, guard, self[sender].sched_context.is_none());
        }
    }

    /// Receives from an endpoint with a guard.
    #[cold]
    pub(super) fn receive_guarded(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        how: Receiver<A>,
    ) {
        let Some(guard) = self[endpoint].guard() else {
            return;
        };
        self.abandon_orphan(receiver, how.blocking);
        let passive = self[receiver].sched_context.is_none();
        let comes = matches!(self[endpoint].state(), EndpointState::Sending(_));
        self.without_guard(endpoint, |kernel| {
            kernel.receive_behind_guard(receiver, endpoint, how)
        });
        if comes {
            let donated = passive && self[receiver].sched_context.is_some();
            self.delivered(receiver, guard, donated);
        }
    }

    /// Callers may go away while they are served, and leave their time with the server (seL4 reference
    /// manual, section "Scheduling Context Donation"). With that it would be a server with time of its
    /// own, little time maybe, and take no more from those who come. So it gives such time up when it
    /// waits for them.
    fn abandon_orphan(&mut self, server: Ptr<Thread<A>>, waits: bool) {
        if let Some(context) = self[server].sched_context
            && waits
            && self[context].reply.is_none()
            && self[context].notification.is_none()
            && self[context].owner != Some(server)
        {
            if self[context].limit.is_some() {
                self.return_to_owner(server, context);
            } else {
                self.unbind_thread(context);
            }
        }
    }

    /// Does something with an endpoint whose guard, if there is one, is put aside.
    pub(super) fn without_guard(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        work: impl FnOnce(&mut Self),
    ) {
        let guard = self[endpoint].guard();
        if guard.is_some() {
            self[endpoint].set_guard(None);
        }
        work(self);
        if guard.is_some() {
            self[endpoint].set_guard(guard);
        }
    }

    /// Whether what a sender asks for may happen.
    fn admit(&mut self, sender: Ptr<Thread<A>>, guard: Guard, options: SendOptions) -> Admission {
        let Some(context) = self[sender].sched_context.filter(|_| options.donate) else {
            return Admission::Refuse(Error::IllegalOperation);
        };
        let limit = self.limit_of(context);
        if limit.is_some() && !(options.call && guard.has(LIMIT)) {
            return Admission::Refuse(Error::IllegalOperation);
        }
        let most = self.whole_budget(context);
        if most < guard.needed {
            let needed = self.arch.clock().microseconds(guard.needed);
            return Admission::Refuse(self.too_small(needed, most));
        }
        let left = self[context].head().amount;
        let left = left.saturating_sub(self.core.consumed);
        if left + self.way_back(context) >= guard.needed {
            return Admission::Pass;
        }
        match self.gather(context, guard.needed, options.blocking) {
            Funding::AtHand => Admission::Pass,
            Funding::Later => Admission::Defer,
            Funding::Missing => Admission::Refuse(Error::IllegalOperation),
        }
    }

    /// What a deferred sender has used since it was released: it had to leave the kernel and to enter it
    /// again, which takes no more than the smallest budget. One that has used more did something else
    /// on the way (its registers or its program may have been changed), and is asked like any other.
    fn way_back(&self, context: Ptr<SchedContext<A>>) -> Ticks {
        let used = |since| Ticks(self.odometer(context).wrapping_sub(since));
        let used = self.core.again.map_or(Ticks::ZERO, used);
        if used <= self.min_budget() {
            used
        } else {
            Ticks::ZERO
        }
    }

    /// Lets a sender wait for time, or for its turn, and then do again what it did.
    fn defer(&mut self, sender: Ptr<Thread<A>>) {
        self[sender].fault = PendingFault::None;
        self[sender].context.restart();
        self[sender].state = ThreadState::Running;
        if let Some(context) = self[sender].sched_context {
            let since = self.odometer(context);
            self[sender].progress = Progress::Deferred { since };
            self[context].set(ContextFlag::Watched, true);
        }
        self.wait_for_time(sender);
    }

    /// Tells a caller why nothing was sent; others learn nothing, as the ABI wants it. A fault that
    /// can't be told stops its thread.
    fn refuse(&mut self, sender: Ptr<Thread<A>>, options: SendOptions, error: Error) {
        if let Some(fault) = self[sender].fault.take() {
            self.stop_with(sender, fault);
        } else if options.call {
            let (code, words, count) = error.message();
            self.answer_call(sender, code as usize, &words[..count]);
        }
    }

    /// A message came through the endpoint. `donated`: time came with it.
    fn delivered(&mut self, receiver: Ptr<Thread<A>>, guard: Guard, donated: bool) {
        let context = self[receiver].sched_context.filter(|_| donated);
        if let Some(context) = context {
            // What it had when it was sent may have gone since: contexts that idle use it up while
            // they wait. Then the receiver waits for the rest, instead of being cut short. What a deferred
            // sender needed for its way back is not missing.
            let least = guard.needed.saturating_sub(self.min_budget());
            if self[context].head().amount < least && !self[context].is_round_robin() {
                self[context].refills().gather(guard.needed, Ticks::NEVER);
                self.core.reprogram = true;
            }
            if guard.has(LIMIT) {
                self.set_limit(context, least);
            }
        }
        if guard.has(TELL_BUDGET) {
            let budget = context.map_or(Ticks::ZERO, |context| self.at_hand(context));
            self.tell_budget(receiver, budget);
        }
    }

    /// What may be used of a context before it ends or reaches a limit.
    pub(crate) fn at_hand(&self, context: Ptr<SchedContext<A>>) -> Ticks {
        let head = self[context].head().amount;
        let head = head.saturating_sub(self.uncharged(context));
        head.min(self.limit_of(context).unwrap_or(Ticks::NEVER))
    }

    /// Writes a length of time behind the message that a receiver has got.
    fn tell_budget(&mut self, receiver: Ptr<Thread<A>>, budget: Ticks) {
        let budget = self.arch.clock().microseconds(budget).0;
        let end = MessageInfo(self[receiver].context.get(INFO)).length();
        self.set_message_word(receiver, end, budget as usize);
        if WORD_BITS == 32 {
            self.set_message_word(receiver, end + 1, (budget >> 32) as usize);
        }
    }
}
