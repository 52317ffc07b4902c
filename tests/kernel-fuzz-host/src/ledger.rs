//! Counts of attempted and successful calls.

use abi::{Method, Syscall};
use kernel_fuzz_methods::{Count, Counts, index};

/// Counts of calls, by method and by system call.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The calls of each method.
    pub methods: Counts,
    made: [usize; CALLS.len()],
    /// Kernel entries.
    pub entries: usize,
}

/// The system calls that every kernel has.
pub const CALLS: [Syscall; 13] = {
    use Syscall::*;
    [
        Call,
        ReplyRecv,
        NBSendRecv,
        NBSendWait,
        Send,
        NBSend,
        Recv,
        NBRecv,
        Wait,
        NBWait,
        Yield,
        SetTlsBase,
        YieldUntilBudget,
    ]
};

/// Whether the host architecture, which has neither mappings nor I/O ports, lacks a method.
pub fn is_absent(method: Method) -> bool {
    let number = method.number();
    let of_architecture = (Method::X86PdptMap.number()..Method::COUNT).contains(&number);
    of_architecture
        && !matches!(
            method,
            Method::X86PageGetAddress | Method::X86AsidPoolAssign
        )
}

impl Ledger {
    /// Counts a call of a method.
    pub fn note_method(&mut self, label: usize, succeeded: bool) {
        if let Some(index) = index(label) {
            let count = Count {
                tried: 1,
                succeeded: usize::from(succeeded),
            };
            self.methods.add(index, count);
        }
    }

    /// Counts a system call.
    pub fn note_call(&mut self, number: usize) {
        if let Some(index) = CALLS.iter().position(|call| call.number() == number) {
            self.made[index] += 1;
        }
    }

    /// How often a system call was made.
    pub fn call(&self, call: Syscall) -> usize {
        let index = CALLS.iter().position(|one| *one == call);
        index.map_or(0, |index| self.made[index])
    }

    /// Adds another ledger.
    pub fn add(&mut self, other: &Self) {
        self.methods.add_all(&other.methods);
        for (sum, other) in self.made.iter_mut().zip(other.made) {
            *sum += other;
        }
        self.entries += other.entries;
    }
}
