//! Registers.

use abi::registers::{COUNT, PC, SYSCALL_BYTES};
use kernel::arch::UserContext;

/// The registers of a thread: an array in the numbering of the ABI, and the address at which the
/// thread continues.
#[derive(Clone, Debug)]
pub struct Registers {
    registers: [usize; COUNT],
    next: usize,
    /// Whether the `PC` register was written.
    sent: bool,
}

/// The low address bits of every system-call instruction. All program text follows one rule: an
/// address that ends in these bits holds a system-call instruction, any other address an instruction
/// that does not enter the kernel. So a thread that restarts its system call can be told from one
/// that continues after it.
const SYSCALL_PLACE: usize = 8;
const SYSCALL_DISTANCE: usize = 16;

impl Registers {
    /// Whether the thread executes a system call next.
    pub const fn is_at_syscall(&self) -> bool {
        self.next % SYSCALL_DISTANCE == SYSCALL_PLACE
    }

    /// Whether the address at which the thread continues was written to its `PC` register.
    pub const fn was_sent(&self) -> bool {
        self.sent
    }

    /// Continues at the next system-call instruction in the program's text.
    pub const fn advance_to_syscall(&mut self) {
        self.next = self.next.next_multiple_of(SYSCALL_DISTANCE) + SYSCALL_PLACE;
        self.sent = false;
    }

    /// The effect of a trap at a system call.
    pub const fn enter_syscall(&mut self) {
        self.registers[PC] = self.next;
        self.next += SYSCALL_BYTES;
        self.sent = false;
    }

    /// The next instruction is no longer a system call, because it was overwritten.
    pub const fn divert(&mut self) {
        self.next += SYSCALL_BYTES;
    }

    /// The effect of a trap at a fault or an interrupt.
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

    fn set_next_pc(&mut self, address: usize) {
        self.next = address;
    }

    fn complete_system_call(&mut self) {
        self.registers[PC] = self.next;
    }
}
