//! Measurement.
//!
//! A measurement is the difference of two *stamps* of the counter. Stamps are taken directly before the
//! instruction that enters the kernel and directly after it, by the same assembly code for all measurements.
//! So the cost of a stamp itself is a constant, which is measured too ([`Counter::cost`]) and subtracted. The
//! result is the kernel's work plus the one instruction that entered the kernel.

mod arch;

pub use arch::{Counter, UNDEFINED_BYTES, page, use_fpu};

use crate::partner::Shared;
use userlib::arch::Registers;
use userlib::{CPtr, Error, Message, MessageInfo, Result, abi, ipc_buffer};

/// Rounds that are not counted: they fill caches and lazily created structures.
pub const WARM_UP: usize = 8;
/// Measured rounds.
pub const SAMPLES: usize = 32;
/// All rounds.
pub const ROUNDS: usize = WARM_UP + SAMPLES;

/// The counter's values directly before and after the instruction that entered the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stamps {
    /// Before.
    pub before: usize,
    /// After.
    pub after: usize,
}

impl Counter {
    /// The cost of a stamp: the difference of two stamps in a row.
    pub fn cost(self) -> usize {
        let stamps = self.nothing();
        self.between(stamps.before, stamps.after)
    }

    /// The difference of two stamps without the cost of the measurement.
    pub fn net(self, from: usize, to: usize) -> usize {
        self.between(from, to) - self.cost()
    }

    /// Performs a system call with a capability as its only argument; returns its cost.
    pub fn call(self, call: abi::Syscall, capability: CPtr) -> usize {
        let mut registers = sending(capability, filled(0));
        let stamps = self.timed(call, &mut registers);
        self.net(stamps.before, stamps.after)
    }

    /// Performs an invocation; returns its cost.
    pub fn invoke(
        self,
        object: CPtr,
        label: usize,
        words: &[usize],
        caps: &[CPtr],
    ) -> Result<usize> {
        let message = Message::new(label, words).with_capabilities(caps);
        let mut registers = sending(object, message.info);
        registers.words = message.registers;
        let stamps = self.timed(abi::Syscall::Call, &mut registers);
        let info = MessageInfo(registers.info);
        if info.label() != 0 {
            return Err(Error::from_answer(&Message {
                info,
                registers: registers.words,
            }));
        }
        Ok(self.net(stamps.before, stamps.after))
    }
}

/// The registers of a send.
pub fn sending(target: CPtr, info: MessageInfo) -> Registers {
    Registers {
        cap: target.0,
        info: info.0,
        ..Registers::default()
    }
}

/// A message of `words` arbitrary words.
pub fn filled(words: usize) -> MessageInfo {
    for index in abi::registers::MESSAGE_REGISTERS..words {
        ipc_buffer::set_message_word(index, index);
    }
    MessageInfo::new(0, 0, words)
}

/// The stamps of one side in all rounds.
pub type Log = [Stamps; ROUNDS + 1];

/// An empty log.
pub const EMPTY: Log = [Stamps {
    before: 0,
    after: 0,
}; ROUNDS + 1];

/// The log of the peer.
pub fn log_of(shared: Shared) -> Log {
    core::array::from_fn(|round| shared.stamps(round))
}

/// The samples of a benchmark; `sample` returns the cost of a round.
pub fn samples(sample: impl Fn(usize) -> usize) -> [usize; SAMPLES] {
    core::array::from_fn(|index| sample(WARM_UP + index))
}

/// The samples of a benchmark with identical rounds; `round` performs one and returns its cost.
pub fn repeated(mut round: impl FnMut() -> Result<usize>) -> Result<[usize; SAMPLES]> {
    for _ in 0..WARM_UP {
        round()?;
    }
    let mut samples = [0; SAMPLES];
    for sample in &mut samples {
        *sample = round()?;
    }
    Ok(samples)
}
