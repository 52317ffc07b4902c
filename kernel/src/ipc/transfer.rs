//! Transfer of messages and capabilities between threads.

use abi::registers::{CAP, INFO, MESSAGE_REGISTERS, MR};
use abi::{MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH, MessageInfo, WORD_BITS};

use super::{Buffer, Ipc};
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::error::Error;
use crate::object::{Endpoint, Thread};
use crate::slot::Slot;
use crate::time::Microseconds;
use crate::token::Ptr;

/// The slots of the extra capabilities of a message.
pub(crate) type ExtraCaps<A> = [Option<Ptr<Slot<A>>>; MAX_EXTRA_CAPS];

impl<A: Arch> Ipc<A> {
    /// Transfers the message of `sender`, or its pending fault, to `receiver`. `endpoint` is the endpoint
    /// that it is sent through, `None` for replies. Extra capabilities are transferred if `grant`.
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
            let (extra, receive_slot) = self.resolved(sender, receiver);
            self.transfer_caps(receiver, endpoint, extra, receive_slot)
        } else {
            (0, 0)
        };
        let answer = MessageInfo::new(info.label(), count, length).with_unwrapped(unwrapped);
        let context = &mut self[receiver].context;
        context.set_result(INFO, answer.0);
        context.set_result(CAP, badge);
    }

    /// Copies message words; returns how many were copied.
    #[inline(always)]
    pub(crate) fn copy_words(
        &mut self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        length: usize,
    ) -> usize {
        for (index, register) in MR.into_iter().enumerate() {
            if index >= length {
                break;
            }
            let word = self[sender].context.get(register);
            self[receiver].context.set_result(register, word);
        }
        if length <= MESSAGE_REGISTERS {
            return length;
        }
        self.copy_buffered_words(sender, receiver, length)
    }

    /// Copies the message words that are not in registers; returns how many were copied with those that are.
    #[inline(never)]
    fn copy_buffered_words(
        &self,
        sender: Ptr<Thread<A>>,
        receiver: Ptr<Thread<A>>,
        length: usize,
    ) -> usize {
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

    /// Transfers extra capabilities; returns how many were transferred, and as a bit mask which of them were
    /// unwrapped (seL4 reference manual, section "Capability Transfer").
    fn transfer_caps(
        &mut self,
        receiver: Ptr<Thread<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
        extra: ExtraCaps<A>,
        receive_slot: Option<Ptr<Slot<A>>>,
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
            // The receive slot takes one capability. An earlier message may have filled it, too.
            let Some(target) = receive_slot.filter(|receive_slot| self[*receive_slot].is_empty())
            else {
                return (index, unwrapped);
            };
            let cap = self[source].cap();
            match self.derive_cap(source, cap) {
                Ok(cap) if !cap.is_null() => self.insert_copy(source, target, cap),
                _ => return (index, unwrapped),
            }
        }
        (MAX_EXTRA_CAPS, unwrapped)
    }

    /// The badge of a capability to the endpoint that the message is sent through. Such a capability is
    /// unwrapped: the receiver gets its badge only.
    #[inline(always)]
    pub(crate) fn unwrapped(
        &self,
        slot: Ptr<Slot<A>>,
        endpoint: Option<Ptr<Endpoint<A>>>,
    ) -> Option<usize> {
        let cap = Cap::<A>::decode_endpoint(self[slot].raw())?;
        (Some(cap.object) == endpoint).then_some(cap.badge)
    }

    /// Writes the words of a message from the kernel; returns how many fit.
    pub(crate) fn write_message(&mut self, receiver: Ptr<Thread<A>>, words: &[usize]) -> usize {
        self.write_words(receiver, words)
    }

    /// [`Ipc::write_message`], inlined, for messages of constant length: the compiler can then keep the
    /// words in registers.
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

    /// Writes message word `index` of a thread, if a register or its IPC buffer has room for it.
    pub(crate) fn set_message_word(&mut self, thread: Ptr<Thread<A>>, index: usize, word: usize) {
        match (MR.get(index), self.receive_buffer(thread)) {
            (Some(register), _) => self[thread].context.set_result(*register, word),
            (None, Some(buffer)) if index < MAX_MESSAGE_LENGTH => buffer.set_message(index, word),
            (None, _) => {}
        }
    }

    /// The length of time or instant in the first words of the message that a thread sends, which are in registers.
    #[inline(always)]
    pub(crate) fn message_time(&self, thread: Ptr<Thread<A>>) -> Microseconds {
        let word = |index| self.message_word_in(thread, None, index) as u64;
        Microseconds(match WORD_BITS {
            64 => word(0),
            _ => word(1) << 32 | word(0),
        })
    }

    /// Word `index` of the message that a thread sends, of which `buffer` has the words that are not in registers.
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

    /// The length of the message that a thread sends, limited to the registers if it has no IPC buffer, and
    /// the buffer with the words that are not in registers.
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

    /// Writes the result of a Call on a kernel object.
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

    /// Writes an error as the result of a Call.
    #[cold]
    pub(crate) fn answer_error(&mut self, thread: Ptr<Thread<A>>, error: Error) {
        let (code, words, count) = error.message();
        self.answer_call(thread, code as usize, &words[..count]);
    }
}
