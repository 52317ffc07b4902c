//! The kernel on the host.
//!
//! The portable kernel accesses hardware only through the trait [`kernel::arch::Arch`]. This crate
//! has an implementation without hardware ([`arch`]) and a machine with that architecture
//! ([`machine`]), which boots the kernel as on a board. Tests play the user programs: a thread makes
//! a system call when the test says so, and time passes when the test says so. Everything else is the
//! kernel as it is shipped.
//!
//! After every kernel entry, the machine checks the kernel's invariants ([`kernel::invariants`]) for
//! all reachable objects ([`census`]).

pub mod arch;
pub mod census;
pub mod machine;

pub use machine::{
    Answer, Budget, CPtr, Machine, Message, Operands, Received, Spec, State, Task, answer,
};
