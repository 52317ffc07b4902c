//! Counts of attempted and successful calls.

use abi::registers::INFO;
use abi::{ErrorCode, Method, Syscall};
use host_machine::arch::Host;
use kernel::Kernel;
use kernel::arch::UserContext;
use kernel::object::{Above, Thread, ThreadState};
use kernel::token::Ptr;
use kernel_fuzz_methods::{Count, Counts, index};

/// Counts of calls, by method and by system call.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The calls of each method.
    pub methods: Counts,
    made: [usize; CALLS.len()],
    /// Kernel entries.
    pub entries: usize,
    /// How many histories have reached states in which limits can go wrong.
    pub limits: Limits,
}

/// States of calls with limits; each is counted once in a history.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// A call failed, because its limit was reached or it ended without a reply.
    pub failed: usize,
    /// A server dropped out of a call chain, and the caller waits for the return of its context.
    pub joined: usize,
    /// A call chain with a limit has lost its context.
    pub without_context: usize,
}

impl Limits {
    /// Looks at the state of a thread.
    pub fn look(&mut self, kernel: &Kernel<Host>, thread: Ptr<Thread<Host>>) {
        let thread = &kernel[thread];
        let label = thread.context.get(INFO) >> 12;
        match thread.state {
            ThreadState::Running if label == ErrorCode::LimitReached as usize => self.failed = 1,
            ThreadState::BlockedOnReturn { .. } => self.joined = 1,
            ThreadState::BlockedOnReply { reply }
                if thread.outer_limit.is_some() && matches!(kernel[reply].above, Above::None) =>
            {
                self.without_context = 1;
            }
            _ => {}
        }
    }
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
        self.limits.failed += other.limits.failed;
        self.limits.joined += other.limits.joined;
        self.limits.without_context += other.limits.without_context;
    }
}
