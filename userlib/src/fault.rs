//! Faults, and how components exit.

use crate::Microseconds;
use crate::message::Message;
use abi::LookupFailure;
use abi::fault::{FaultLabel, LONG_TIMEOUT_LENGTH, TIMEOUT_LENGTH, timeout_flags};
use abi::registers::{CAP, UNKNOWN_SYSCALL};

/// The system call by which a component exits; its argument is the exit code. No kernel has this system call,
/// so it raises a fault, which only the component's fault handler receives.
pub const EXIT: usize = (-2000isize) as usize;

/// The exit code of a panic.
pub const PANIC: usize = 101;

/// The contents of a fault message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A capability lookup failed.
    Capability {
        /// The program counter.
        pc: usize,
        /// The address.
        address: usize,
        /// Whether the thread was receiving.
        receiving: bool,
        /// The lookup error.
        failure: Option<LookupFailure>,
    },
    /// A system call that does not exist.
    UnknownSyscall {
        /// The program counter.
        pc: usize,
        /// The number of the system call.
        number: usize,
        /// The contents of the capability register.
        argument: usize,
    },
    /// A processor exception.
    UserException {
        /// The program counter.
        pc: usize,
        /// The stack pointer.
        sp: usize,
        /// The flags.
        flags: usize,
        /// The exception.
        number: usize,
        /// The processor's error code.
        code: usize,
    },
    /// A breakpoint, watchpoint or single step.
    Debug {
        /// The program counter.
        pc: usize,
        /// The reason.
        reason: usize,
        /// The address that triggered it.
        trigger: usize,
        /// The number of the breakpoint.
        breakpoint: usize,
    },
    /// The budget ran out.
    Timeout {
        /// The badge of the scheduling context.
        badge: usize,
        /// Time used since it was last queried.
        consumed: Microseconds,
        /// The additional words of Escapement's longer message, for features that seL4 does not have.
        more: Option<MoreOnTimeout>,
    },
    /// A memory access without mapping.
    Memory {
        /// The program counter.
        pc: usize,
        /// The address accessed.
        address: usize,
        /// Whether it was an instruction fetch.
        instruction: bool,
        /// The processor's status word.
        status: usize,
    },
    /// Another label.
    Other(usize),
}

/// Contents of the longer timeout message, for an idling scheduling context, or one that was yielded to with
/// a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoreOnTimeout {
    /// The thread was blocked when the timeout occurred.
    pub blocked: bool,
    /// The time of the timeout has come; otherwise the budget is used up.
    pub instant: bool,
    /// The time of the kernel's clock.
    pub now: Microseconds,
}

impl MoreOnTimeout {
    fn from_message(message: &Message) -> Option<Self> {
        let flags = message.word(TIMEOUT_LENGTH);
        (message.length() == LONG_TIMEOUT_LENGTH).then(|| Self {
            blocked: flags & timeout_flags::BLOCKED != 0,
            instant: flags & timeout_flags::INSTANT != 0,
            now: Microseconds::from_message(message, TIMEOUT_LENGTH + 1),
        })
    }
}

impl Fault {
    /// Decodes a fault message.
    #[inline]
    pub fn from_message(message: &Message) -> Self {
        // The only one that is no error comes first, for schedulers.
        if message.label() == FaultLabel::Timeout as usize {
            return Self::Timeout {
                badge: message.word(0),
                consumed: Microseconds::from_message(message, 1),
                more: MoreOnTimeout::from_message(message),
            };
        }
        Self::from_other_message(message)
    }

    #[inline(never)]
    fn from_other_message(message: &Message) -> Self {
        let word = |index| message.word(index);
        let is = |label: FaultLabel| message.label() == label as usize;
        if is(FaultLabel::CapFault) {
            Self::Capability {
                pc: word(0),
                address: word(1),
                receiving: word(2) != 0,
                failure: LookupFailure::from_words([word(3), word(4), word(5), word(6)]),
            }
        } else if is(FaultLabel::UnknownSyscall) {
            let register = |wanted| {
                let place = UNKNOWN_SYSCALL
                    .iter()
                    .position(|&register| register == wanted);
                place.map_or(0, word)
            };
            Self::UnknownSyscall {
                pc: register(abi::registers::PC),
                number: word(UNKNOWN_SYSCALL.len()),
                argument: register(CAP),
            }
        } else if is(FaultLabel::UserException) {
            Self::UserException {
                pc: word(0),
                sp: word(1),
                flags: word(2),
                number: word(3),
                code: word(4),
            }
        } else if is(FaultLabel::DebugException) {
            Self::Debug {
                pc: word(0),
                reason: word(1),
                trigger: word(2),
                breakpoint: word(3),
            }
        } else if is(FaultLabel::VmFault) {
            Self::Memory {
                pc: word(0),
                address: word(1),
                instruction: word(2) != 0,
                status: word(3),
            }
        } else {
            Self::Other(message.label())
        }
    }
}

/// How a component ended, or which fault its handler received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended by itself; 0 is success.
    Exited(usize),
    /// It panicked.
    Panicked,
    /// It raised a fault.
    Faulted(Fault),
}

impl From<Fault> for Outcome {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::UnknownSyscall {
                number: EXIT,
                argument: PANIC,
                ..
            } => Self::Panicked,
            Fault::UnknownSyscall {
                number: EXIT,
                argument,
                ..
            } => Self::Exited(argument),
            fault => Self::Faulted(fault),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_is_a_fault_with_a_name() {
        let mut words = [0; UNKNOWN_SYSCALL.len() + 1];
        let cap = UNKNOWN_SYSCALL.iter().position(|&register| register == CAP);
        words[cap.unwrap()] = 7;
        words[UNKNOWN_SYSCALL.len()] = EXIT;
        let message = Message::new(FaultLabel::UnknownSyscall as usize, &words);
        assert_eq!(
            Outcome::from(Fault::from_message(&message)),
            Outcome::Exited(7)
        );
    }
}
