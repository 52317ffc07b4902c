//! Recv, and replies by Send: what a server does with a context of its own, in two steps.

use abi::MessageInfo;
use abi::registers::{CAP, INFO, REPLY};

use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::object::{Reply, Thread, ThreadState};
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Blocks the current thread until a message comes, and switches to the highest-priority ready thread. Like
    /// `fast_reply`, it loads its arguments from the register context: more frequent fast paths need not save
    /// them.
    #[inline(never)]
    pub(super) fn fast_recv(&mut self, server: Ptr<Thread<A>>) -> Eligible<Ptr<Thread<A>>> {
        // The conditions that most often fail come first: the other thread's context, and a waiting sender.
        let next = self.first_ready()?;
        let context = self.plain_context(next)?;
        let cap = self[server].context.get(CAP);
        let cap = Cap::decode_endpoint(self.find(server, cap)?).ok_or(NotEligible)?;
        self.is_on_this_core(self[cap.object].core())?;
        eligible(self[cap.object].has_no_senders())?;
        let reading = self.read_clock_with_budget()?;
        let available = self.is_first(next, context, reading)?;
        let reply = self[server].context.get(REPLY);
        let reply = self.reply_object(server, reply)?;
        let others = self.may_wait_for_call(server, &cap, reply)?;
        // At a threshold it may lose its context; another thread may be blocked with the reply object.
        eligible(!self[cap.object].has_threshold() && self[reply].thread().is_none())?;

        self.wait_for_call(server, cap.object, others, reply);
        self.commit_reading(Some(reading));
        self.switch_to_ready(next, available);
        Ok(next)
    }

    /// Replies to a caller that has kept its context; the current thread blocks only if the caller comes first.
    #[inline(never)]
    pub(super) fn fast_reply(
        &mut self,
        server: Ptr<Thread<A>>,
        reply: Ptr<Reply<A>>,
    ) -> Eligible<Ptr<Thread<A>>> {
        self.is_on_this_core(self[reply].core())?;
        let caller = self[reply].thread().ok_or(NotEligible)?;
        eligible(matches!(
            self[caller].state,
            ThreadState::BlockedOnReply { .. }
        ))?;
        eligible(self[reply].is_in_no_call_chain() && !self[caller].fault.is_some())?;
        self.is_on_this_core(self[caller].core)?;
        let context = self.plain_context(caller)?;
        let reading = self.read_clock_with_budget()?;
        let available = self.has_budget_on(context, reading.now)?;
        self.is_decided_between(server, caller, reading.now)?;

        self[reply].set_thread(None);
        // Its call may have been cut off from a chain with a limit.
        self[caller].outer_limit = None;
        self[caller].state = ThreadState::Running;
        let info = MessageInfo(self[server].context.get(INFO));
        self.deliver_message(server, caller, info, 0);
        Ok(self.wake_beside(server, caller, reading, available))
    }
}
