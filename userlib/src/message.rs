//! Messages between threads.

use crate::arch::Registers;
use crate::cap::CPtr;
use crate::ipc_buffer;
use crate::time::Microseconds;
use abi::MessageInfo;
use abi::registers::MESSAGE_REGISTERS;

/// A message to be sent, or one that was received.
///
/// The first words are transferred in registers and stored here by value; further words and capabilities are
/// in the thread's IPC buffer, which the next system call may overwrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Label, length and numbers of capabilities.
    pub info: MessageInfo,
    /// The message registers.
    pub registers: [usize; MESSAGE_REGISTERS],
}

/// The result of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Badge of the sender's capability, or the word of a notification.
    pub badge: usize,
    /// The message; `None` if a notification was received.
    pub message: Option<Message>,
}

impl Message {
    /// A message of `words` with this label. Words that do not fit into registers are written to the IPC
    /// buffer immediately.
    ///
    /// # Panics
    /// If there are more than [`abi::MAX_MESSAGE_LENGTH`] words.
    #[inline(always)]
    pub fn new(label: usize, words: &[usize]) -> Self {
        Self::empty(label).followed_by(words)
    }

    /// A message that has no capabilities yet, with more words at its end; they are written as by [`Message::new`].
    #[inline(always)]
    pub(crate) fn followed_by(mut self, words: &[usize]) -> Self {
        let length = self.length();
        let registers = self.registers.get_mut(length..).unwrap_or_default();
        let (first, rest) = words.split_at(words.len().min(registers.len()));
        for (register, &word) in registers.iter_mut().zip(first) {
            *register = word;
        }
        if !rest.is_empty() {
            ipc_buffer::set_message_words(length + first.len(), rest);
        }
        self.info = MessageInfo::new(self.label(), 0, length + words.len());
        self
    }

    /// A message without words.
    #[inline(always)]
    pub const fn empty(label: usize) -> Self {
        Self {
            info: MessageInfo::new(label, 0, 0),
            registers: [0; MESSAGE_REGISTERS],
        }
    }

    /// The same message with up to three capabilities, which are written to the IPC buffer immediately.
    ///
    /// # Panics
    /// If there are more than [`abi::MAX_EXTRA_CAPS`].
    #[inline(always)]
    pub fn with_capabilities(self, capabilities: &[CPtr]) -> Self {
        for (index, &capability) in capabilities.iter().enumerate() {
            ipc_buffer::set_capability(index, capability);
        }
        let info = MessageInfo::new(self.label(), capabilities.len(), self.length());
        Self { info, ..self }
    }

    /// The label.
    pub const fn label(&self) -> usize {
        self.info.label()
    }

    /// Number of words.
    pub const fn length(&self) -> usize {
        self.info.length()
    }

    /// Number of received capabilities.
    pub const fn capabilities(&self) -> usize {
        self.info.extra_caps()
    }

    /// Word `index`, or 0 if the message is shorter.
    #[inline(always)]
    pub fn word(&self, index: usize) -> usize {
        if index >= self.length() {
            return 0;
        }
        self.raw_word(index)
    }

    #[inline(always)]
    pub(crate) fn raw_word(&self, index: usize) -> usize {
        match self.registers.get(index) {
            Some(&word) => word,
            None => ipc_buffer::message_word(index),
        }
    }

    /// The budget available to the server, if the message came through an endpoint with the flag
    /// [`abi::endpoint_flags::TELL_BUDGET`]: the kernel stores it after the message.
    pub fn lent_time(&self) -> Microseconds {
        let mut words = [0; crate::time::WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            *word = self.raw_word(self.length() + index);
        }
        Microseconds::from_words(words)
    }

    /// The badge of capability `index`, if it was unwrapped: it refers to the endpoint through which the
    /// message came, and was received as a badge.
    pub fn unwrapped_badge(&self, index: usize) -> Option<usize> {
        (index < abi::MAX_EXTRA_CAPS && self.info.unwrapped() >> index & 1 == 1)
            .then(|| ipc_buffer::unwrapped_badge(index))
    }

    /// The message in registers returned by the kernel.
    pub(crate) fn from_registers(registers: &Registers) -> Self {
        Self {
            info: MessageInfo(registers.info),
            registers: registers.words,
        }
    }
}

/// Value of the message information register before a receive. The kernel leaves it unchanged if a
/// notification, or nothing, was received; no received message has a length of 127 words.
pub(crate) const NO_MESSAGE: usize = usize::MAX;

/// The information word for a system call that sends and receives. The kernel ignores the unwrapped bits of a
/// sent message, and no received message has all of them set with fewer than three capabilities. So an
/// unchanged word is recognised when the call returns.
pub(crate) const fn marked(info: MessageInfo) -> MessageInfo {
    info.with_unwrapped(7)
}

impl Received {
    /// The result of a receive, from its registers.
    pub(crate) fn from_registers(registers: &Registers) -> Self {
        Self {
            badge: registers.cap,
            message: (registers.info != NO_MESSAGE).then(|| Message::from_registers(registers)),
        }
    }

    /// The result of a system call that sends and receives, from its registers; `sent` was in the information
    /// register before.
    #[inline(always)]
    pub(crate) fn from_sent(registers: &Registers, sent: MessageInfo) -> Self {
        Self {
            badge: registers.cap,
            message: (registers.info != sent.0).then(|| Message::from_registers(registers)),
        }
    }

    /// The same for a non-blocking receive.
    pub(crate) fn from_registers_if_any(registers: &Registers) -> Option<Self> {
        let received = Self::from_registers(registers);
        (received.badge != 0 || received.message.is_some()).then_some(received)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_continue_in_the_buffer() {
        let words: [usize; 7] = core::array::from_fn(|index| 100 + index);
        let message = Message::new(42, &words).with_capabilities(&[CPtr(9), CPtr(8)]);
        assert_eq!(
            (message.label(), message.length(), message.capabilities()),
            (42, 7, 2)
        );
        for (index, word) in words.into_iter().enumerate() {
            assert_eq!(message.word(index), word);
        }
        assert_eq!(message.word(7), 0);
        assert_eq!(ipc_buffer::message_word(6), 106);
        assert_eq!(ipc_buffer::unwrapped_badge(1), 8);
        assert_eq!(message.unwrapped_badge(1), None);
    }

    #[test]
    fn signals_carry_no_message() {
        let mut registers = Registers {
            cap: 5,
            info: NO_MESSAGE,
            ..Registers::default()
        };
        assert_eq!(Received::from_registers(&registers).message, None);
        registers.cap = 0;
        assert_eq!(Received::from_registers_if_any(&registers), None);
        registers.info = MessageInfo::new(3, 0, 0).0;
        let received = Received::from_registers_if_any(&registers).unwrap();
        assert_eq!(received.message.unwrap().label(), 3);
    }
}
