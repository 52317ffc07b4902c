//! The capabilities that go with a message, and the place for the one that is handed over.
//!
//! The ways to them lead through the capability spaces of both sides and can be long: up to five of as
//! many levels as an address has bits. They are gone before anything changes, and after each of them
//! there is a preemption point; who transfers the message in the same kernel entry finds the result
//! here.

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
pub(crate) struct Parcel<A: Arch> {
    sender: Ptr<Thread<A>>,
    receiver: Ptr<Thread<A>>,
    /// The capabilities.
    extra: ExtraCaps<A>,
    /// An empty slot of the receiver's, if it has set one aside and it is needed.
    place: Option<Ptr<Slot<A>>>,
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
        if !grant || !self.sends_capabilities(sender) {
            return Ok(());
        }
        match self[endpoint].state() {
            EndpointState::Receiving(queue) => match queue.first(&self.objects) {
                Some(receiver) => self.pack(sender, receiver, Some(endpoint), Some(extra)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
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
        let EndpointState::Sending(queue) = self[endpoint].state() else {
            return Ok(());
        };
        let Some(sender) = queue.first(&self.objects) else {
            return Ok(());
        };
        let granted = matches!(
            self[sender].state,
            ThreadState::BlockedOnSend { grant: true, .. }
        );
        if !granted || !self.sends_capabilities(sender) {
            return Ok(());
        }
        self.pack(sender, receiver, Some(endpoint), None)
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
        match self[reply].thread() {
            Some(caller) if grant && self.sends_capabilities(replier) => {
                self.pack(replier, caller, None, Some(extra))
            }
            _ => Ok(()),
        }
    }

    /// Whether capabilities go with what a thread sends.
    fn sends_capabilities(&self, sender: Ptr<Thread<A>>) -> bool {
        let info = MessageInfo(self[sender].context.get(INFO));
        info.extra_caps() > 0 && !self[sender].fault.is_some()
    }

    /// Finds the capabilities, unless they were found before, and the place for one of them.
    fn pack(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
        extra: Option<ExtraCaps<A>>,
    ) -> Result<(), Failure> {
        self.core.parcel = None;
        let extra = match extra {
            Some(extra) => extra,
            None => self.find_extra_caps(sender, true)?,
        };
        let parcel = self.find_parcel(sender, receiver, endpoint, extra, true)?;
        look_after_checks(self)?;
        self.core.parcel = Some(parcel);
        Ok(())
    }

    fn find_parcel(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
        extra: ExtraCaps<A>,
        may_stop: bool,
    ) -> Result<Parcel<A>, Failure> {
        let is_handed_over = |slot: Ptr<Slot<A>>| self.unwrapped(slot, endpoint).is_none();
        let place = if extra.into_iter().flatten().any(is_handed_over) {
            self.find_place(receiver, may_stop)?
        } else {
            None
        };
        Ok(Parcel {
            sender,
            receiver,
            extra,
            place,
        })
    }

    fn look_after_lookup(&mut self, may_stop: bool) -> Result<(), Failure> {
        if may_stop { look_up(self) } else { Ok(()) }
    }

    /// What was found for the message of `sender` to `receiver`. If it is for somebody else, because
    /// the queue has changed since, it is found now, where there is no going back.
    pub(super) fn parcel(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
    ) -> (ExtraCaps<A>, Option<Ptr<Slot<A>>>) {
        let found = self.core.parcel.take();
        let found = found.filter(|one| one.sender == sender && one.receiver == receiver);
        let found = match found {
            Some(parcel) => Ok(parcel),
            None => self
                .find_extra_caps(sender, false)
                .and_then(|extra| self.find_parcel(sender, receiver, endpoint, extra, false)),
        };
        found.map_or(([None; MAX_EXTRA_CAPS], None), |parcel| {
            (parcel.extra, parcel.place)
        })
    }

    /// The slots of the capabilities that a message sends along; none if any does not resolve.
    fn find_extra_caps(
        &mut self,
        sender: Ptr<Thread<A>>,
        may_stop: bool,
    ) -> Result<ExtraCaps<A>, Failure> {
        let mut slots = [None; MAX_EXTRA_CAPS];
        let Some(buffer) = self.send_buffer(sender) else {
            return Ok(slots);
        };
        let count = MessageInfo(self[sender].context.get(INFO)).extra_caps();
        let root = self[sender].cap(ThreadSlot::CSpace);
        for (index, slot) in slots.iter_mut().enumerate().take(count) {
            match lookup_quickly(self, root, buffer.extra_cap(index)) {
                Ok(found) => *slot = Some(found),
                Err(_) => return Ok([None; MAX_EXTRA_CAPS]),
            }
            self.look_after_lookup(may_stop)?;
        }
        Ok(slots)
    }

    /// The empty slot that a receiver has set aside.
    fn find_place(
        &mut self,
        receiver: Ptr<Thread<A>>,
        may_stop: bool,
    ) -> Result<Option<Ptr<Slot<A>>>, Failure> {
        let Some(buffer) = self.receive_buffer(receiver) else {
            return Ok(None);
        };
        let (cnode, index, depth) = buffer.receive_slot();
        let root = self[receiver].cap(ThreadSlot::CSpace);
        let Ok(cnode) = lookup_quickly(self, root, cnode) else {
            return Ok(None);
        };
        self.look_after_lookup(may_stop)?;
        let cnode = self[cnode].cap();
        let Ok(slot) = lookup_slot(self, cnode, index, depth, false) else {
            return Ok(None);
        };
        self.look_after_lookup(may_stop)?;
        Ok(self[slot].is_empty().then_some(slot))
    }
}
