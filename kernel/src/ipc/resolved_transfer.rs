//! Resolved capability transfers: the extra capabilities of a message and the receive slot, looked up
//! before the message is transferred.
//!
//! A transfer with extra capabilities needs up to five lookups in the capability spaces of sender and
//! receiver, each with up to as many levels as an address has bits. All lookups come before the first
//! change of state, with a preemption point after each; the transfer, in the same kernel entry, uses the
//! result that is kept here. A system call that sends and receives transfers two messages, so there is
//! room for one result per direction.

use abi::registers::INFO;
use abi::{MAX_EXTRA_CAPS, MessageInfo};

use super::transfer::ExtraCaps;
use super::{Buffer, Ipc};
use crate::arch::{Arch, UserContext};
use crate::error::{Missing, Preempted};
use crate::object::{Endpoint, EndpointState, Reply, Thread, ThreadState};
use crate::sched::work;
use crate::slot::Slot;
use crate::token::Ptr;

/// The resolved capability transfer of one message.
pub(super) struct ResolvedCapTransfer<A: Arch> {
    sender: Ptr<Thread<A>>,
    receiver: Ptr<Thread<A>>,
    /// The slots of the extra capabilities.
    extra: ExtraCaps<A>,
    /// The empty slot that the receiver has named for a capability, if one is needed.
    receive_slot: Option<Ptr<Slot<A>>>,
}

/// The resolved capability transfers of the current system call.
pub(crate) struct ResolvedCapTransfers<A: Arch> {
    pub(super) sent: Option<ResolvedCapTransfer<A>>,
    received: Option<ResolvedCapTransfer<A>>,
}

impl<A: Arch> ResolvedCapTransfers<A> {
    /// No results.
    pub(super) const NONE: Self = Self {
        sent: None,
        received: None,
    };

    /// Drops all at the start of each system call. Results do not outlive a system call, because slots can be
    /// deleted between two. Two assignments, because one of the whole value would write all of its memory.
    #[inline(always)]
    pub(crate) fn clear(&mut self) {
        self.sent = None;
        self.received = None;
    }
}

impl<A: Arch> Ipc<A> {
    /// Resolves the capability transfer of a message that `sender` is about to send; `extra` are the extra
    /// capabilities of its invocation, at least one.
    ///
    /// # Errors
    /// [`Preempted`]; nothing has changed.
    pub(crate) fn prepare_send(
        &mut self,
        sender: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        grant: bool,
        extra: ExtraCaps<A>,
    ) -> Result<(), Preempted> {
        if grant
            && let EndpointState::Receiving(queue) = self[endpoint].state()
            && let Some(receiver) = queue.first(&self.objects)
        {
            let resolved = self.with_receive_slot(sender, receiver, Some(endpoint), extra)?;
            self.cap_transfers.sent = Some(resolved);
        }
        Ok(())
    }

    /// Resolves the capability transfer of the message that `receiver` is about to receive, if a sender
    /// waits.
    ///
    /// # Errors
    /// As for [`Ipc::prepare_send`].
    pub(crate) fn prepare_receive(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
    ) -> Result<(), Preempted> {
        if let EndpointState::Sending(queue) = self[endpoint].state()
            && let Some(sender) = queue.first(&self.objects)
            && let ThreadState::BlockedOnSend { grant: true, .. } = self[sender].state
            && let count @ 1.. = self.sent_capabilities(sender)
        {
            // None if any address does not resolve.
            let extra = self.find_extra_caps(sender, self.send_buffer(sender), count)?;
            let extra = extra.unwrap_or([None; MAX_EXTRA_CAPS]);
            let resolved = self.with_receive_slot(sender, receiver, Some(endpoint), extra)?;
            self.cap_transfers.received = Some(resolved);
        }
        Ok(())
    }

    /// Resolves the capability transfer of a reply; `extra` are the extra capabilities of the invocation, at least
    /// one.
    ///
    /// # Errors
    /// As for [`Ipc::prepare_send`].
    pub(crate) fn prepare_reply(
        &mut self,
        replier: Ptr<Thread<A>>,
        reply: Ptr<Reply<A>>,
        grant: bool,
        extra: ExtraCaps<A>,
    ) -> Result<(), Preempted> {
        if grant && let Some(caller) = self[reply].thread() {
            let resolved = self.with_receive_slot(replier, caller, None, extra)?;
            self.cap_transfers.sent = Some(resolved);
        }
        Ok(())
    }

    /// How many extra capabilities the message of a thread has. Fault messages have none.
    fn sent_capabilities(&self, sender: Ptr<Thread<A>>) -> usize {
        match self[sender].fault.is_some() {
            true => 0,
            false => MessageInfo(self[sender].context.get(INFO)).extra_caps(),
        }
    }

    /// Looks up the receive slot, unless all capabilities are unwrapped.
    fn with_receive_slot(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
        extra: ExtraCaps<A>,
    ) -> Result<ResolvedCapTransfer<A>, Preempted> {
        let is_handed_over = |slot: Ptr<Slot<A>>| self.unwrapped(slot, endpoint).is_none();
        let receive_slot = if extra.into_iter().flatten().any(is_handed_over) {
            self.find_receive_slot(receiver)?
        } else {
            None
        };
        self.preempt_after(work::CHECKS)?;
        Ok(ResolvedCapTransfer {
            sender,
            receiver,
            extra,
            receive_slot,
        })
    }

    /// Takes the resolved capability transfer from `sender` to `receiver`. There is none if the send phase
    /// of this system call has changed from which thread the caller receives. The message then arrives
    /// without capabilities, because preemption points are not possible after the send phase.
    pub(super) fn resolved(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
    ) -> (ExtraCaps<A>, Option<Ptr<Slot<A>>>) {
        let ResolvedCapTransfers { sent, received } = &mut self.cap_transfers;
        let found = [sent, received].into_iter().find_map(|direction| {
            direction.take_if(|resolved| resolved.sender == sender && resolved.receiver == receiver)
        });
        found.map_or(([None; MAX_EXTRA_CAPS], None), |resolved| {
            (resolved.extra, resolved.receive_slot)
        })
    }

    /// The slots of the first `count` extra capabilities of a message, whose addresses are in `buffer`. The
    /// inner error is that of the first address that does not resolve.
    ///
    /// # Errors
    /// As for [`Ipc::prepare_send`].
    #[inline(always)]
    pub(crate) fn find_extra_caps(
        &mut self,
        sender: Ptr<Thread<A>>,
        buffer: Option<Buffer>,
        count: usize,
    ) -> Result<Result<ExtraCaps<A>, Missing>, Preempted> {
        let mut slots = [None; MAX_EXTRA_CAPS];
        if let Some(buffer) = buffer {
            for (index, slot) in slots.iter_mut().enumerate().take(count) {
                let address = buffer.extra_cap(index);
                match self.lookup_quickly(sender, address)? {
                    Ok(found) => *slot = Some(found),
                    Err(failure) => return Ok(Err(Missing { address, failure })),
                }
            }
        }
        Ok(Ok(slots))
    }

    /// The receive slot that a receiver names in its IPC buffer, if the slot is empty.
    fn find_receive_slot(
        &mut self,
        receiver: Ptr<Thread<A>>,
    ) -> Result<Option<Ptr<Slot<A>>>, Preempted> {
        let Some(buffer) = self.receive_buffer(receiver) else {
            return Ok(None);
        };
        let (cnode, index, depth) = buffer.receive_slot();
        let Ok(cnode) = self.lookup_quickly(receiver, cnode)? else {
            return Ok(None);
        };
        let cnode = self[cnode].cap();
        let slot = self.lookup_slot(cnode, index, depth, false)?;
        Ok(slot.ok().filter(|slot| self[*slot].is_empty()))
    }
}
