//! The capabilities that go with a message, and the place for the one that is handed over.
//!
//! The ways to them lead through the capability spaces of both sides and can be long: up to five of as
//! many levels as an address has bits. They are gone before anything changes, and after each of them
//! there is a preemption point; the transfer in the same kernel entry finds the result here. A system
//! call that sends and receives transfers two messages, so there is room for one each way.

use abi::registers::INFO;
use abi::{MAX_EXTRA_CAPS, MessageInfo};

use super::transfer::ExtraCaps;
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Slot, lookup_quickly, lookup_slot};
use crate::invoke::{Failure, look_after_checks, look_up};
use crate::object::{Endpoint, EndpointState, Reply, Thread, ThreadSlot, ThreadState};
use crate::token::Ptr;

/// What was found for a message.
pub(super) struct Parcel<A: Arch> {
    sender: Ptr<Thread<A>>,
    receiver: Ptr<Thread<A>>,
    /// The capabilities.
    extra: ExtraCaps<A>,
    /// An empty slot of the receiver's, if it has set one aside and it is needed.
    place: Option<Ptr<Slot<A>>>,
}

/// What was found for the messages that are about to be transferred.
pub(crate) struct Parcels<A: Arch> {
    pub(super) sent: Option<Parcel<A>>,
    received: Option<Parcel<A>>,
}

impl<A: Arch> Parcels<A> {
    /// As each system call begins: slots may be gone after it.
    pub(crate) const NONE: Self = Self {
        sent: None,
        received: None,
    };
}

impl<A: Arch> Kernel<A> {
    /// Before a thread sends to an endpoint; `extra` is what its invocation brings along.
    ///
    /// # Errors
    /// [`Failure::Preempted`]; nothing has changed.
    pub(crate) fn prepare_send(
        &mut self,
        sender: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
        grant: bool,
        extra: ExtraCaps<A>,
    ) -> Result<(), Failure> {
        if grant
            && self.sends_capabilities(sender)
            && let EndpointState::Receiving(queue) = self[endpoint].state()
            && let Some(receiver) = queue.first(&self.objects)
        {
            let parcel = self.pack(sender, receiver, Some(endpoint), extra)?;
            self.core.parcels.sent = Some(parcel);
        }
        Ok(())
    }

    /// Before a thread receives from an endpoint.
    ///
    /// # Errors
    /// As for [`Kernel::prepare_send`].
    pub(crate) fn prepare_receive(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Ptr<Endpoint<A>>,
    ) -> Result<(), Failure> {
        if let EndpointState::Sending(queue) = self[endpoint].state()
            && let Some(sender) = queue.first(&self.objects)
            && let ThreadState::BlockedOnSend { grant: true, .. } = self[sender].state
            && self.sends_capabilities(sender)
        {
            let extra = self.find_extra_caps(sender)?;
            let parcel = self.pack(sender, receiver, Some(endpoint), extra)?;
            self.core.parcels.received = Some(parcel);
        }
        Ok(())
    }

    /// Before a thread replies; `extra` is what its invocation brings along.
    ///
    /// # Errors
    /// As for [`Kernel::prepare_send`].
    pub(crate) fn prepare_reply(
        &mut self,
        replier: Ptr<Thread<A>>,
        reply: Ptr<Reply<A>>,
        grant: bool,
        extra: ExtraCaps<A>,
    ) -> Result<(), Failure> {
        if grant
            && self.sends_capabilities(replier)
            && let Some(caller) = self[reply].thread()
        {
            let parcel = self.pack(replier, caller, None, extra)?;
            self.core.parcels.sent = Some(parcel);
        }
        Ok(())
    }

    /// Whether capabilities go with what a thread sends.
    fn sends_capabilities(&self, sender: Ptr<Thread<A>>) -> bool {
        let info = MessageInfo(self[sender].context.get(INFO));
        info.extra_caps() > 0 && !self[sender].fault.is_some()
    }

    /// Finds the place for one of the capabilities.
    fn pack(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
        extra: ExtraCaps<A>,
    ) -> Result<Parcel<A>, Failure> {
        let is_handed_over = |slot: Ptr<Slot<A>>| self.unwrapped(slot, endpoint).is_none();
        let place = if extra.into_iter().flatten().any(is_handed_over) {
            self.find_place(receiver)?
        } else {
            None
        };
        look_after_checks(self)?;
        Ok(Parcel {
            sender,
            receiver,
            extra,
            place,
        })
    }

    /// What was found for the message of `sender` to `receiver`. Nothing was if the first phase of this
    /// system call has changed from where the thread receives; then no capabilities come, because it is
    /// too late for preemption points.
    pub(super) fn parcel(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
    ) -> (ExtraCaps<A>, Option<Ptr<Slot<A>>>) {
        let Parcels { sent, received } = &mut self.core.parcels;
        let found = [sent, received].into_iter().find_map(|place| {
            place.take_if(|parcel| parcel.sender == sender && parcel.receiver == receiver)
        });
        found.map_or(([None; MAX_EXTRA_CAPS], None), |parcel| {
            (parcel.extra, parcel.place)
        })
    }

    /// The slots of the capabilities that a message sends along; none if any does not resolve.
    fn find_extra_caps(&mut self, sender: Ptr<Thread<A>>) -> Result<ExtraCaps<A>, Failure> {
        let mut slots = [None; MAX_EXTRA_CAPS];
        let Some(buffer) = self.send_buffer(sender) else {
            return Ok(slots);
        };
        let count = MessageInfo(self[sender].context.get(INFO)).extra_caps();
        let root = self[sender].cap(ThreadSlot::CSpace);
        for (index, slot) in slots.iter_mut().enumerate().take(count) {
            let found = lookup_quickly(self, root, buffer.extra_cap(index));
            look_up(self)?;
            match found {
                Ok(found) => *slot = Some(found),
                Err(_) => return Ok([None; MAX_EXTRA_CAPS]),
            }
        }
        Ok(slots)
    }

    /// The empty slot that a receiver has set aside.
    fn find_place(&mut self, receiver: Ptr<Thread<A>>) -> Result<Option<Ptr<Slot<A>>>, Failure> {
        let Some(buffer) = self.receive_buffer(receiver) else {
            return Ok(None);
        };
        let (cnode, index, depth) = buffer.receive_slot();
        let root = self[receiver].cap(ThreadSlot::CSpace);
        let cnode = lookup_quickly(self, root, cnode);
        look_up(self)?;
        let Ok(cnode) = cnode else {
            return Ok(None);
        };
        let cnode = self[cnode].cap();
        let slot = lookup_slot(self, cnode, index, depth, false);
        look_up(self)?;
        Ok(slot.ok().filter(|slot| self[*slot].is_empty()))
    }
}
