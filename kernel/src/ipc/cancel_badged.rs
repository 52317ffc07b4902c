//! The badge cancellation cursor of an endpoint.
//!
//! `CNode_CancelBadgedSends` (module `invoke::cancel_badged`) has preemption points. Senders with another badge stay in the
//! queue, so a cancellation that is preempted needs a cursor: the next sender to examine. The cursor is stored in the thread
//! at the root of the queue, and a bit in the endpoint shows whether there is one. If the next sender leaves the queue, the
//! cursor advances.

use super::Ipc;
use crate::arch::Arch;
use crate::object::{CancelCursor, Endpoint, Thread, ThreadState};
use crate::token::Ptr;

impl<A: Arch> Ipc<A> {
    /// The badge cancellation cursor of an endpoint.
    pub(crate) fn cancel_cursor_of(&self, endpoint: Ptr<Endpoint<A>>) -> Option<CancelCursor<A>> {
        if !self[endpoint].is_cancelling() {
            return None;
        }
        self[self[endpoint].queue().root()?].cursor
    }

    pub(crate) fn set_cancel_cursor(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        cursor: Option<CancelCursor<A>>,
    ) {
        let root = self[endpoint].queue().root();
        if let Some(root) = root {
            self[root].cursor = cursor;
        }
        self[endpoint].set_cancelling(root.is_some() && cursor.is_some());
    }

    /// Examines the next sender. Returns whether it was the last.
    pub(crate) fn cancel_next(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        cursor: CancelCursor<A>,
    ) -> bool {
        let thread = cursor.next;
        let next = self[endpoint].queue().after(&self.objects, thread);
        self.set_cancel_cursor(endpoint, next.map(|next| CancelCursor { next, ..cursor }));
        self.cancel_if_matching(thread, &cursor);
        next.is_none()
    }

    /// Takes a sender out of the queue and restarts it, if the cancellation applies to it.
    pub(super) fn cancel_if_matching(&mut self, thread: Ptr<Thread<A>>, cursor: &CancelCursor<A>) {
        let is_meant = self[thread].last_cancel < cursor.number
            && matches!(
                self[thread].state,
                ThreadState::BlockedOnSend { badge, .. } if badge == cursor.badge
            );
        if is_meant {
            self.cancel_and_restart(thread);
        }
    }

    /// Takes a sender out of the queue of an endpoint that has a cursor. The removal may change the root of
    /// the queue, in which the cursor is stored, and the cursor must not point to the removed sender.
    #[cold]
    pub(super) fn leave_while_cancelling(
        &mut self,
        endpoint: Ptr<Endpoint<A>>,
        thread: Ptr<Thread<A>>,
    ) {
        let mut cursor = self.cancel_cursor_of(endpoint);
        self.set_cancel_cursor(endpoint, None);
        if let Some(current) = cursor
            && current.next == thread
        {
            let next = self[endpoint].queue().after(&self.objects, thread);
            cursor = next.map(|next| CancelCursor { next, ..current });
        }
        self.leave_endpoint(endpoint, thread);
        self.set_cancel_cursor(endpoint, cursor);
    }
}
