//! Tests of the kernel on the host. Each file is about one topic of the user interface.

mod boot;
mod budgets;
mod calls;
mod chains;
mod cnode;
mod combined;
mod common;
mod contexts;
mod cspace;
mod deletion;
mod domains;
mod faults;
mod ipc;
mod irqs;
mod notifications;
mod random;
mod scheduling;
mod supply;
mod tangles;
mod threads;
mod timeouts;
mod transfer;
mod untyped;
mod yield_to;
