//! Calls and replies with one extra capability, which is checked before anything changes.

use abi::registers::INFO;
use abi::{MessageInfo, WORD_BITS};

use super::{Eligible, NotEligible, eligible};
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::ipc::Buffer;
use crate::object::{Endpoint, Thread};
use crate::slot::Slot;
use crate::token::Ptr;

/// What becomes of the extra capability of a message.
#[derive(Clone, Copy)]
pub(super) enum CapTransfer<A: Arch> {
    /// It names the endpoint that the message is sent through: the receiver gets its badge.
    Unwrapped { buffer: Buffer, badge: usize },
    /// The receiver gets a copy.
    Copied {
        source: Ptr<Slot<A>>,
        target: Ptr<Slot<A>>,
    },
}

impl<A: Arch> Kernel<A> {
    /// Looks up the extra capability of a message, and the receive slot, in capability spaces of one level. Not
    /// eligible if the capability cannot be transferred.
    #[inline(always)]
    pub(super) fn prepare_transfer(
        &self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
    ) -> Eligible<CapTransfer<A>> {
        let sent = self.send_buffer(sender).ok_or(NotEligible)?;
        let buffer = self.receive_buffer(receiver).ok_or(NotEligible)?;
        let source = self.slot_of(sender, sent.extra_cap(0))?;
        if let Some(badge) = self.unwrapped(source, endpoint) {
            return Ok(CapTransfer::Unwrapped { buffer, badge });
        }
        let (cnode, index, depth) = buffer.receive_slot();
        eligible(depth == WORD_BITS)?;
        let cnode = self.find(receiver, cnode)?;
        let target = Cap::<A>::slot_of_only_level(cnode, index).ok_or(NotEligible)?;
        eligible(self[target].is_empty())?;
        eligible(Cap::<A>::is_copied_as_is(self[source].raw()))?;
        Ok(CapTransfer::Copied { source, target })
    }

    /// Transfers the capability of a message whose words were delivered.
    #[inline(always)]
    pub(super) fn complete_transfer(&mut self, receiver: Ptr<Thread<A>>, transfer: CapTransfer<A>) {
        let unwrapped = match transfer {
            CapTransfer::Unwrapped { buffer, badge } => {
                buffer.set_badge(0, badge);
                1
            }
            CapTransfer::Copied { source, target } => {
                self.insert_same(source, target);
                0
            }
        };
        let context = &mut self[receiver].context;
        let info = MessageInfo(context.get(INFO));
        let info = MessageInfo::new(info.label(), 1, info.length()).with_unwrapped(unwrapped);
        context.set_result(INFO, info.0);
    }
}
