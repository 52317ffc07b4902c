//! One system call.

use abi::{
    MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH, MessageInfo, Method, Syscall, registers::MESSAGE_REGISTERS,
};
use suite::support::arch::raw_system_call;
use userlib::arch::Registers;
use userlib::{CPtr, ipc_buffer};

/// A system call with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The number of the system call.
    pub number: usize,
    /// The registers.
    pub registers: Registers,
    /// The words of the message, the first of which are in registers.
    pub words: [usize; WORDS],
    /// The extra capabilities.
    pub caps: [usize; MAX_EXTRA_CAPS],
}

/// The maximum number of words that a method takes.
pub const WORDS: usize = 48;
const _: () = assert!(WORDS <= MAX_MESSAGE_LENGTH);

/// System calls of debug kernels that need no capability: they print, stop the machine or change it.
const OBEYED: [Syscall; 7] = [
    Syscall::DebugPutChar,
    Syscall::DebugDumpScheduler,
    Syscall::DebugHalt,
    Syscall::DebugSnapshot,
    Syscall::DebugExit,
    Syscall::X86DangerousWrmsr,
    Syscall::X86DangerousRdmsr,
];

/// Whether a system call may be made: it is not one of `OBEYED`.
pub fn is_contained(number: usize) -> bool {
    OBEYED.iter().all(|call| call.number() != number)
}

impl Call {
    /// A call with a capability, without words or extra capabilities.
    pub fn new(syscall: Syscall, cap: usize) -> Self {
        let registers = Registers {
            cap,
            ..Registers::default()
        };
        Self {
            number: syscall.number(),
            registers,
            words: [0; WORDS],
            caps: [0; MAX_EXTRA_CAPS],
        }
    }

    /// The call of a method.
    pub fn method(method: Method, cap: usize, words: &[usize], caps: &[usize]) -> Self {
        let mut call = Self::new(Syscall::Call, cap);
        call.words[..words.len()].copy_from_slice(words);
        call.caps[..caps.len()].copy_from_slice(caps);
        call.registers.info = MessageInfo::new(method.number(), caps.len(), words.len()).0;
        call
    }

    /// Makes the call; returns the label of the answer, which is meaningful only after a Call.
    pub fn perform(&self) -> usize {
        for (index, word) in self.words.iter().enumerate().skip(MESSAGE_REGISTERS) {
            ipc_buffer::set_message_word(index, *word);
        }
        for (index, cap) in self.caps.iter().enumerate() {
            ipc_buffer::set_capability(index, CPtr(*cap));
        }
        self.perform_in_registers()
    }

    /// Makes a call of a message that fits into registers, from any thread.
    pub fn perform_in_registers(&self) -> usize {
        let mut registers = self.registers;
        registers
            .words
            .copy_from_slice(&self.words[..MESSAGE_REGISTERS]);
        // SAFETY: whatever happens to this component, its parent starts it again.
        unsafe { raw_system_call(self.number, &mut registers) };
        MessageInfo(registers.info).label()
    }
}
