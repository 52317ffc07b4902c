//! `SchedContext_YieldTo`: running a scheduling context's thread and learning what it used.

use crate::Kernel;
use crate::arch::Arch;
use crate::invoke::time_words;
use crate::object::{SchedContext, Thread};
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Notes that `caller` waits for the use of `context`.
    pub(crate) fn begin_yield_to(&mut self, caller: Ptr<Thread<A>>, context: Ptr<SchedContext<A>>) {
        self[caller].yielding_to = Some(context);
        self[context].yielded_from = Some(caller);
    }

    /// Nobody learns the result any more.
    pub(crate) fn cancel_yield_to(&mut self, caller: Ptr<Thread<A>>) {
        if let Some(context) = self[caller].yielding_to.take() {
            self[context].yielded_from = None;
        }
    }

    /// `caller` runs again, or the context it waits for goes away: it learns the time used.
    pub(crate) fn finish_yield_to(&mut self, caller: Ptr<Thread<A>>) {
        let Some(context) = self[caller].yielding_to else {
            return;
        };
        self.cancel_yield_to(caller);
        let consumed = self.take_consumed(context);
        let (words, count) = time_words(consumed);
        self.answer_call(caller, 0, &words[..count]);
    }

    /// Somebody waits for the use of `context`, which goes away or is asked for again: they learn the
    /// result now.
    pub(crate) fn finish_pending_yield(&mut self, context: Ptr<SchedContext<A>>) {
        if let Some(caller) = self[context].yielded_from {
            self.finish_yield_to(caller);
        }
    }
}
