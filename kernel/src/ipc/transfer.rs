//! Moving messages and capabilities from one thread to another.

use abi::registers::{CAP, INFO, MESSAGE_REGISTERS, MR};
use abi::{MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH, MessageInfo};

use super::Buffer;
use crate::Kernel;
use crate::arch::{Arch, UserContext};
use crate::cap::{Cap, Slot, insert_copy};
use crate::invoke::derive;
use crate::object::{Endpoint, Thread};
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
        let length = self.copy_words(sender, receiver, info.length());
        let (count, unwrapped) = if grant && info.extra_caps() > 0 {
            let (extra, place) = self.parcel(sender, receiver);
            self.transfer_caps(receiver, endpoint, extra, place)
        } else {
            (0, 0)
        };
        let answer = MessageInfo::new(info.label(), count, length).with_unwrapped(unwrapped);
        let context = &mut self[receiver].context;
        context.set_result(INFO, answer.0);
        context.set_result(CAP, badge);
    }

    /// Copies those message words that travel in registers.
    #[inline(always)]
    pub(crate) fn copy_registers(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        length: usize,
    ) {
        for (index, register) in MR.into_iter().enumerate() {
            if index >= length {
                break;
            }
            let word = self[sender].context.get(register);
            self[receiver].context.set_result(register, word);
        }
    }

    /// Copies message words; returns how many arrived.
    pub(crate) fn copy_words(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        length: usize,
    ) -> usize {
        self.copy_registers(sender, receiver, length);
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
        place: Option<Ptr<Slot<A>>>,
    ) -> (usize, usize) {
        let Some(buffer) = self.receive_buffer(receiver) else {
            return (0, 0);
        };
        let mut unwrapped = 0;
        for (index, slot) in extra.into_iter().enumerate() {
            let Some(source) = slot else {
                return (index, unwrapped);
            };
            if let Some(badge) = self.unwrapped(source, endpoint) {
                buffer.set_badge(index, badge);
                unwrapped |= 1 << index;
                continue;
            }
            // One slot, one capability; the message before may have filled it, too.
            let Some(target) = place.filter(|place| self[*place].is_empty()) else {
                return (index, unwrapped);
            };
            let cap = self[source].cap();
            match derive(self, source, cap) {
                Ok(cap) if !cap.is_null() => insert_copy(self, source, target, cap),
                _ => return (index, unwrapped),
            }
        }
        (MAX_EXTRA_CAPS, unwrapped)
    }

    /// The badge of a capability to the endpoint that it is sent through, which is not handed over.
    #[inline(always)]
    pub(super) fn unwrapped(
        &self,
        slot: Ptr<Slot<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
    ) -> Option<usize> {
        let cap = Cap::<A>::decode_endpoint(self[slot].raw())?;
        (Some(cap.object) == endpoint).then_some(cap.badge)
    }

    /// Writes message words that the kernel itself sends; returns how many fit.
    pub(crate) fn write_message(&mut self, receiver: Ptr<Thread<A>>, words: &[usize]) -> usize {
        self.write_words(receiver, words)
    }

    /// The same, inlined, for messages whose length is known: their words go straight from register to
    /// register, and only what has none to the buffer.
    #[inline(always)]
    pub(crate) fn write_words(&mut self, receiver: Ptr<Thread<A>>, words: &[usize]) -> usize {
        for (register, word) in MR.into_iter().zip(words) {
            self[receiver].context.set_result(register, *word);
        }
        if words.len() <= MESSAGE_REGISTERS {
            return words.len();
        }
        let Some(buffer) = self.receive_buffer(receiver) else {
            return MESSAGE_REGISTERS;
        };
        for (index, word) in words.iter().enumerate().skip(MESSAGE_REGISTERS) {
            buffer.set_message(index, *word);
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
            None => self.message_word_in(thread, self.send_buffer(thread), index),
        }
    }

    /// The same for those who ask for many words, and know the thread's buffer.
    #[inline(always)]
    pub(crate) fn message_word_in(
        &self,
        thread: Ptr<Thread<A>>,
        buffer: Option<Buffer>,
        index: usize,
    ) -> usize {
        match MR.get(index) {
            Some(register) => self[thread].context.get(*register),
            None => buffer.map_or(0, |buffer| buffer.message(index)),
        }
    }

    /// The length of a thread's own message, as far as it has the means to send it, and the buffer with
    /// what does not fit into registers.
    pub(crate) fn message_extent(&self, thread: Ptr<Thread<A>>) -> (usize, Option<Buffer>) {
        let length = MessageInfo(self[thread].context.get(INFO)).length();
        if length <= MESSAGE_REGISTERS {
            return (length, None);
        }
        match self.send_buffer(thread) {
            None => (MESSAGE_REGISTERS, None),
            buffer => (length, buffer),
        }
    }

    /// Writes the answer to a Call on a kernel object.
    #[inline(always)]
    pub(crate) fn answer_call(&mut self, caller: Ptr<Thread<A>>, label: usize, words: &[usize]) {
        let length = if words.is_empty() {
            0
        } else {
            self.write_message(caller, words)
        };
        let context = &mut self[caller].context;
        context.set_result(CAP, 0);
        context.set_result(INFO, MessageInfo::new(label, 0, length).0);
    }
}
