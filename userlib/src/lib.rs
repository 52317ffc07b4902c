//! Library for user components of Escapement.
//!
//! From the lowest layer up: [`arch`] has the system-call instructions, [`syscall`] and [`cap`] typed system
//! calls and capabilities, [`message`] and [`fault`] the contents of messages, [`runtime`] the entry into
//! `main`. Above them are the modules for parents: [`allocator`], [`mapping`], [`loader`], [`process`] and
//! [`thread`], and those for servers: [`server`], [`protocol`](mod@protocol) and [`time`].
//!
//! # Safety
//! Capability invocations are safe functions here, although a component with a capability to its own address
//! space can unmap its own memory. As with `/proc/self/mem`, Rust's guarantees do not cover a program that
//! circumvents the language; the kernel guarantees that such a program harms no other component.
#![cfg_attr(target_os = "none", no_std)]

pub mod allocator;
pub mod arch;
pub mod archive;
#[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
pub mod board;
pub mod boot;
pub mod cap;
pub mod drivers;
pub mod environment;
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
pub mod epit;
mod error;
pub mod fault;
pub mod given;
pub mod invoke;
pub mod ipc_buffer;
pub mod loader;
pub mod mapping;
pub mod message;
pub mod post_mortem;
mod print;
pub mod process;
pub mod protocol;
pub mod runtime;
pub mod server;
pub mod services;
pub mod startup;
pub mod supervision;
pub mod syscall;
mod tar;
pub mod thread;
pub mod time;
pub mod trace;

pub use abi;
pub use abi::{BootInfo, GuardData, LookupFailure, MessageInfo, Rights};
pub use cap::{CPtr, Capability, Slot};
pub use environment::Environment;
pub use error::{Error, Result};
pub use fault::{Fault, Outcome};
pub use message::{Message, Received};
pub use post_mortem::PostMortem;
pub use print::{_print, print_bytes};
pub use process::Process;
pub use startup::Startup;
pub use thread::Thread;
pub use time::Microseconds;
