//! Tests of the kernel on the host. Each file is about one topic of the user interface.

mod boot;
mod cnode;
mod common;
mod cspace;
mod deletion;
mod ipc;
mod random;
mod tangles;
mod untyped;
