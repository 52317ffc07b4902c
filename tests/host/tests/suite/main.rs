//! Tests of the kernel on the host. Each file is about one topic of the user interface.

mod boot;
mod budgets;
mod calls;
mod chains;
mod cnode;
mod combined;
mod common;
mod contexts;
mod criticality;
mod cspace;
mod deletion;
mod domains;
mod fast_paths;
mod faults;
mod idling;
mod ipc;
mod irqs;
mod limits;
mod notifications;
mod preemption;
mod promises;
mod random;
mod releases;
mod scheduling;

mod supply;
mod tangles;
mod threads;
mod thresholds;
mod timeouts;
mod transfer;
mod untyped;
mod violations;
mod yield_to;
mod yield_to_timeout;
mod yield_until;
