//! Registers.

use abi::registers::{COUNT, PC, SYSCALL_BYTES};
use kernel::arch::UserContext;

/// The registers of a thread: a plain array, in the numbering of the ABI, and the address at which the
/// thread goes on.
#[derive(Clone, Debug)]
pub struct Registers {
    registers: [usize; COUNT],
    next: usize,
    /// Whether somebody wrote that address.
    sent: bool,
}

/// The low address bits of every system-call instruction. No program has other text than this rule: at
/// an address that ends in these bits there is a system call, anywhere else something that does not
/// concern the kernel. So a thread that is sent back to its system call can be told from one that goes
/// on behind it.
const SYSCALL_PLACE: usize = 8;
const SYSCALL_DISTANCE: usize = 16;

impl Registers {
    /// Whether the thread executes a system call next.
    pub const fn is_at_syscall(&self) -> bool {
        self.next % SYSCALL_DISTANCE == SYSCALL_PLACE
    }

    /// Whether a program, and not the kernel, sent the thread to where it goes on.
    pub const fn was_sent(&self) -> bool {
        self.sent
    }

    /// Goes on to the next system call in the program's text.
    pub const fn advance_to_syscall(&mut self) {
        self.next = self.next.next_multiple_of(SYSCALL_DISTANCE) + SYSCALL_PLACE;
        self.sent = false;
    }

    /// What a trap does at a system call.
    pub const fn enter_syscall(&mut self) {
        self.registers[PC] = self.next;
        self.next += SYSCALL_BYTES;
        self.sent = false;
    }

    /// What comes next is no system call any more: it was overwritten.
    pub const fn divert(&mut self) {
        self.next += SYSCALL_BYTES;
    }

    /// What a trap does at a fault or an interrupt.
    pub const fn enter_otherwise(&mut self) {
        self.registers[PC] = self.next;
    }
}

impl UserContext for Registers {
    fn new() -> Self {
        Self {
            registers: [0; COUNT],
            next: 0,
            sent: false,
        }
    }

    fn get(&self, index: usize) -> usize {
        self.registers[index]
    }

    fn set(&mut self, index: usize, value: usize) {
        self.registers[index] = value;
        if index == PC {
            self.next = value;
            self.sent = true;
        }
    }

    fn set_result(&mut self, index: usize, value: usize) {
        self.registers[index] = value;
    }

    fn next_pc(&self) -> usize {
        self.next
    }

    fn restart(&mut self) {
        self.next = self.registers[PC];
    }

    #[cfg(feature = "smp")]
    fn set_next_pc(&mut self, address: usize) {
        self.next = address;
    }

    fn forget_restart(&mut self) {
        self.registers[PC] = self.next;
    }
}
