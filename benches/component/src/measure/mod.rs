//! Measuring.
//!
//! What is measured is the way from one *stamp* of the counter to another. Stamps are taken directly
//! before the instruction that enters the kernel and directly after it, by assembly that is the same
//! for all; so what a stamp itself costs is a constant, which is measured too ([`Counter::cost`]) and
//! subtracted. What is left is the kernel's work and the one instruction that called for it.

mod arch;

pub use arch::{Counter, UNDEFINED_BYTES, page, use_fpu};

use crate::partner::Shared;
use userlib::arch::Registers;
use userlib::{CPtr, Error, Message, MessageInfo, Result, abi, ipc_buffer};

/// Rounds that are not counted: in them, lazily built things are built and caches filled.
pub const WARM_UP: usize = 8;
/// Rounds that are counted.
pub const SAMPLES: usize = 32;
/// All rounds.
pub const ROUNDS: usize = WARM_UP + SAMPLES;

/// What the counter showed directly before and after the instruction that entered the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Stamps {
    /// Before.
    pub before: usize,
    /// After.
    pub after: usize,
}

impl Counter {
    /// What the way from a stamp to the next one costs when nothing lies between.
    pub fn cost(self) -> usize {
        let stamps = self.nothing();
        self.between(stamps.before, stamps.after)
    }

    /// From one stamp to another, without what the measurement costs.
    pub fn net(self, from: usize, to: usize) -> usize {
        self.between(from, to) - self.cost()
    }

    /// Performs a system call that needs no more than a capability; what it cost.
    pub fn call(self, call: abi::Syscall, capability: CPtr) -> usize {
        let mut registers = sending(capability, filled(0));
        let stamps = self.timed(call, &mut registers);
        self.net(stamps.before, stamps.after)
    }

    /// Performs an invocation; what it cost.
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

/// A message of `words` words that mean nothing.
pub fn filled(words: usize) -> MessageInfo {
    for index in abi::registers::MESSAGE_REGISTERS..words {
        ipc_buffer::set_message_word(index, index);
    }
    MessageInfo::new(0, 0, words)
}

/// The stamps of all rounds on one side.
pub type Log = [Stamps; ROUNDS + 1];

/// An empty log.
pub const EMPTY: Log = [Stamps {
    before: 0,
    after: 0,
}; ROUNDS + 1];

/// The log of the other side.
pub fn log_of(shared: Shared) -> Log {
    core::array::from_fn(|round| shared.stamps(round))
}

/// The samples of a benchmark: `sample` says what each round cost.
pub fn samples(sample: impl Fn(usize) -> usize) -> [usize; SAMPLES] {
    core::array::from_fn(|index| sample(WARM_UP + index))
}

/// The samples of a benchmark whose rounds are all alike; each says what it cost.
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
