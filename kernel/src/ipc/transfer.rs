//! Moving messages and capabilities from one thread to another.

use abi::registers::{CAP, INFO, MESSAGE_REGISTERS, MR};
use abi::{MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH, MessageInfo};

use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, Slot, insert_copy, lookup_cap, lookup_slot};
use crate::invoke::derive;
use crate::object::{Endpoint, Thread, ThreadSlot};
use crate::token::Ptr;

/// The slots of the capabilities that come with a message.
pub(crate) type ExtraCaps<A> = [Option<Ptr<Slot<A>>>; MAX_EXTRA_CAPS];

impl<A: Arch> Kernel<A> {
    /// Transfers what `sender` has in its message registers and buffer. `endpoint`: the one that it
    /// goes through, `None` for replies. Capabilities go along if `grant`.
    pub(crate) fn transfer(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
        badge: usize,
        grant: bool,
    ) {
        if self[sender].fault.is_some() {
            self.transfer_fault(sender, receiver, badge);
            return;
        }
        let info = MessageInfo(self[sender].context.get(INFO));
        let extra = if grant {
            self.extra_caps(sender, info)
        } else {
            [None; MAX_EXTRA_CAPS]
        };
        let length = self.copy_words(sender, receiver, info.length());
        let (count, unwrapped) = self.transfer_caps(receiver, endpoint, extra);
        let answer = MessageInfo::new(info.label(), count, length).with_unwrapped(unwrapped);
        let context = &mut self[receiver].context;
        context.set_result(INFO, answer.0);
        context.set_result(CAP, badge);
    }

    /// The slots of the capabilities that a message sends along; none if any does not resolve.
    fn extra_caps(&self, sender: Ptr<Thread<A>>, info: MessageInfo) -> ExtraCaps<A> {
        let mut slots = [None; MAX_EXTRA_CAPS];
        let Some(buffer) = self.send_buffer(sender) else {
            return slots;
        };
        let root = self[sender].cap(ThreadSlot::CSpace);
        for (index, slot) in slots.iter_mut().enumerate().take(info.extra_caps()) {
            match lookup_cap(self, root, buffer.extra_cap(index)) {
                Ok(found) => *slot = Some(found),
                Err(_) => return [None; MAX_EXTRA_CAPS],
            }
        }
        slots
    }

    /// Copies message words; returns how many arrived.
    fn copy_words(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        length: usize,
    ) -> usize {
        for register in MR.iter().take(length) {
            let word = self[sender].context.get(*register);
            self[receiver].context.set_result(*register, word);
        }
        if length <= MESSAGE_REGISTERS {
            return length;
        }
        match (self.send_buffer(sender), self.receive_buffer(receiver)) {
            (Some(from), Some(to)) => {
                for index in MESSAGE_REGISTERS..length {
                    to.set_message(index, from.message(index));
                }
                length
            }
            _ => MESSAGE_REGISTERS,
        }
    }

    /// Hands capabilities over; returns how many arrived and which of them as badges (seL4 reference
    /// manual, section "Capability Transfer").
    fn transfer_caps(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
        extra: ExtraCaps<A>,
    ) -> (usize, usize) {
        let Some(buffer) = self.receive_buffer(receiver) else {
            return (0, 0);
        };
        let (mut unwrapped, mut placed) = (0, false);
        for (index, slot) in extra.into_iter().enumerate() {
            let Some(source) = slot else {
                return (index, unwrapped);
            };
            match self[source].cap() {
                Cap::Endpoint(cap) if Some(cap.object) == endpoint => {
                    buffer.set_badge(index, cap.badge);
                    unwrapped |= 1 << index;
                }
                cap => {
                    // One slot, one capability.
                    if placed {
                        return (index, unwrapped);
                    }
                    let Some(target) = self.receive_slot(receiver, buffer.receive_slot()) else {
                        return (index, unwrapped);
                    };
                    match derive(self, source, cap) {
                        Ok(cap) if !cap.is_null() => insert_copy(self, source, target, cap),
                        _ => return (index, unwrapped),
                    }
                    placed = true;
                }
            }
        }
        (MAX_EXTRA_CAPS, unwrapped)
    }

    /// The empty slot that a receiver has set aside.
    fn receive_slot(
        &self,
        receiver: Ptr<Thread<A>>,
        (cnode, index, depth): (usize, usize, usize),
    ) -> Option<Ptr<Slot<A>>> {
        let root = self[receiver].cap(ThreadSlot::CSpace);
        let cnode = lookup_cap(self, root, cnode).ok()?;
        let slot = lookup_slot(self, self[cnode].cap(), index, depth, false).ok()?;
        self[slot].is_empty().then_some(slot)
    }

    /// Writes message words that the kernel itself sends; returns how many fit.
    pub(crate) fn write_message(&mut self, receiver: Ptr<Thread<A>>, words: &[usize]) -> usize {
        let buffer = self.receive_buffer(receiver);
        for (index, word) in words.iter().enumerate() {
            match (MR.get(index), buffer) {
                (Some(register), _) => self[receiver].context.set_result(*register, *word),
                (None, Some(buffer)) => buffer.set_message(index, *word),
                (None, None) => return index,
            }
        }
        words.len()
    }

    /// Writes message word `index` of a thread, if it has the means to receive it.
    pub(crate) fn set_message_word(&mut self, thread: Ptr<Thread<A>>, index: usize, word: usize) {
        match (MR.get(index), self.receive_buffer(thread)) {
            (Some(register), _) => self[thread].context.set_result(*register, word),
            (None, Some(buffer)) if index < MAX_MESSAGE_LENGTH => buffer.set_message(index, word),
            (None, _) => {}
        }
    }

    /// Message word `index` of a thread's own message.
    pub(crate) fn message_word(&self, thread: Ptr<Thread<A>>, index: usize) -> usize {
        match MR.get(index) {
            Some(register) => self[thread].context.get(*register),
            None => self
                .send_buffer(thread)
                .map_or(0, |buffer| buffer.message(index)),
        }
    }

    /// The length of a thread's own message, as far as it has the means to send it.
    pub(crate) fn message_length(&self, thread: Ptr<Thread<A>>) -> usize {
        let length = MessageInfo(self[thread].context.get(INFO)).length();
        if self.send_buffer(thread).is_some() {
            length
        } else {
            length.min(MESSAGE_REGISTERS)
        }
    }

    /// Writes the answer to a Call on a kernel object.
    pub(crate) fn answer_call(&mut self, caller: Ptr<Thread<A>>, label: usize, words: &[usize]) {
        let length = self.write_message(caller, words);
        let context = &mut self[caller].context;
        context.set_result(CAP, 0);
        context.set_result(INFO, MessageInfo::new(label, 0, length).0);
    }
}
