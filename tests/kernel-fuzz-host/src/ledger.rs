//! Counts of attempted and successful calls.

use abi::{Method, Syscall};

const METHODS: usize = Method::COUNT + Method::ADDITIONS.len();

/// Counts of calls, by method and by system call.
#[derive(Clone, Debug)]
pub struct Ledger {
    tried: [usize; METHODS],
    succeeded: [usize; METHODS],
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

/// All methods that this build has.
pub fn methods() -> impl Iterator<Item = Method> {
    let numbered = (1..Method::COUNT).filter_map(Method::from_number);
    numbered.chain(Method::ADDITIONS.iter().copied())
}

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

fn index(label: usize) -> Option<usize> {
    let method = Method::from_number(label)?;
    let addition = Method::ADDITIONS.iter().position(|one| *one == method);
    Some(addition.map_or(label, |addition| Method::COUNT + addition))
}

impl Ledger {
    /// A ledger with all counts zero.
    pub const fn new() -> Self {
        Self {
            tried: [0; METHODS],
            succeeded: [0; METHODS],
            made: [0; CALLS.len()],
            entries: 0,
        }
    }

    /// Counts a call of a method.
    pub fn note_method(&mut self, label: usize, succeeded: bool) {
        if let Some(index) = index(label) {
            self.tried[index] += 1;
            self.succeeded[index] += usize::from(succeeded);
        }
    }

    /// Counts a system call.
    pub fn note_call(&mut self, number: usize) {
        if let Some(index) = CALLS.iter().position(|call| call.number() == number) {
            self.made[index] += 1;
        }
    }

    /// How often a method was called, and how often it succeeded.
    pub fn method(&self, method: Method) -> (usize, usize) {
        index(method.number()).map_or((0, 0), |index| (self.tried[index], self.succeeded[index]))
    }

    /// How often a system call was made.
    pub fn call(&self, call: Syscall) -> usize {
        let index = CALLS.iter().position(|one| *one == call);
        index.map_or(0, |index| self.made[index])
    }

    /// Adds another ledger.
    pub fn add(&mut self, other: &Self) {
        let sum = |sums: &mut [usize], others: &[usize]| {
            sums.iter_mut()
                .zip(others)
                .for_each(|(sum, other)| *sum += other);
        };
        sum(&mut self.tried, &other.tried);
        sum(&mut self.succeeded, &other.succeeded);
        sum(&mut self.made, &other.made);
        self.entries += other.entries;
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}
