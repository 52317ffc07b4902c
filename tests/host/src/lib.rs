//! The kernel on the host.
//!
//! The portable kernel knows hardware only through the trait [`kernel::arch::Arch`]. Here is one that
//! has no hardware ([`arch`]), and a machine with that architecture ([`machine`]) that boots the kernel
//! as a board does and on which tests play the programs: a thread makes a system call when the test
//! says so, and time passes when the test says so. Everything else is the kernel as it is shipped.
//!
//! After every kernel entry the machine checks what must always hold ([`kernel::invariants`]) for
//! everything that exists ([`census`]).

pub mod arch;
pub mod census;
pub mod machine;

pub use machine::{
    Answer, Budget, CPtr, Machine, Message, Operands, Received, Spec, State, Task, answer,
};
