//! Messages between threads.

use crate::arch::Registers;
use crate::cap::CPtr;
use crate::ipc_buffer;
use crate::time::Microseconds;
use abi::MessageInfo;
use abi::registers::MESSAGE_REGISTERS;

/// A message that is about to be sent, or has just arrived.
///
/// The first words travel in registers and are here by value; further words and capabilities lie in
/// the thread's IPC buffer, where the next system call may overwrite them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Label, length and numbers of capabilities.
    pub info: MessageInfo,
    /// The words that travel in registers.
    pub registers: [usize; MESSAGE_REGISTERS],
}

/// What a receive brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// Badge of the capability that was used to send, or the word of a notification.
    pub badge: usize,
    /// The message; `None` when a notification was received.
    pub message: Option<Message>,
}

impl Message {
    /// A message of `words` under `label`. Words beyond the registers go to the IPC buffer now.
    ///
    /// # Panics
    /// When there are more than [`abi::MAX_MESSAGE_LENGTH`] words.
    #[inline(always)]
    pub fn new(label: usize, words: &[usize]) -> Self {
        let mut registers = [0; MESSAGE_REGISTERS];
        for (index, &word) in words.iter().enumerate() {
            match registers.get_mut(index) {
                Some(register) => *register = word,
                None => ipc_buffer::set_message_word(index, word),
            }
        }
        Self {
            info: MessageInfo::new(label, 0, words.len()),
            registers,
        }
    }

    /// A message without words.
    #[inline(always)]
    pub const fn empty(label: usize) -> Self {
        Self {
            info: MessageInfo::new(label, 0, 0),
            registers: [0; MESSAGE_REGISTERS],
        }
    }

    /// The same message with up to three capabilities. They go to the IPC buffer now.
    ///
    /// # Panics
    /// When there are more than [`abi::MAX_EXTRA_CAPS`].
    #[inline(always)]
    pub fn with_capabilities(self, capabilities: &[CPtr]) -> Self {
        for (index, &capability) in capabilities.iter().enumerate() {
            ipc_buffer::set_capability(index, capability);
        }
        let info = MessageInfo::new(self.label(), capabilities.len(), self.length());
        Self { info, ..self }
    }

    /// What the message is about.
    pub const fn label(&self) -> usize {
        self.info.label()
    }

    /// Number of words.
    pub const fn length(&self) -> usize {
        self.info.length()
    }

    /// Number of capabilities that arrived.
    pub const fn capabilities(&self) -> usize {
        self.info.extra_caps()
    }

    /// Word `index`, or 0 when the message is shorter.
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

    /// The time that was lent with the message, if it came through an endpoint with the flag
    /// [`abi::endpoint_flags::TELL_BUDGET`]: it stands behind the message.
    pub fn lent_time(&self) -> Microseconds {
        let mut words = [0; crate::time::WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            *word = self.raw_word(self.length() + index);
        }
        Microseconds::from_words(words)
    }

    /// The badge of capability `index`, when it came through the endpoint that the message came
    /// through and so arrived as a badge.
    pub fn unwrapped_badge(&self, index: usize) -> Option<usize> {
        (index < abi::MAX_EXTRA_CAPS && self.info.unwrapped() >> index & 1 == 1)
            .then(|| ipc_buffer::unwrapped_badge(index))
    }

    /// The message in registers that come back from the kernel.
    pub(crate) fn from_registers(registers: &Registers) -> Self {
        Self {
            info: MessageInfo(registers.info),
            registers: registers.words,
        }
    }
}

/// What the message information register holds before a receive. The kernel leaves it there when a
/// notification, or nothing, is received; and no message that arrives is 127 words long.
pub(crate) const NO_MESSAGE: usize = usize::MAX;

/// The information word for a call that sends and receives. The kernel ignores the unwrapped bits of
/// what is sent, and no message arrives with all of them set and fewer than three capabilities; so
/// the word is recognised when it comes back untouched.
pub(crate) const fn marked(info: MessageInfo) -> MessageInfo {
    info.with_unwrapped(7)
}

impl Received {
    /// What registers that come back from a receive say.
    pub(crate) fn from_registers(registers: &Registers) -> Self {
        Self {
            badge: registers.cap,
            message: (registers.info != NO_MESSAGE).then(|| Message::from_registers(registers)),
        }
    }

    /// What registers that come back from a send and receive in one call say, when `sent` was in the
    /// information register before.
    #[inline(always)]
    pub(crate) fn from_sent(registers: &Registers, sent: MessageInfo) -> Self {
        Self {
            badge: registers.cap,
            message: (registers.info != sent.0).then(|| Message::from_registers(registers)),
        }
    }

    /// The same for a receive that does not block.
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
