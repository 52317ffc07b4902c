//! Tests of the kernel on the host. Each file covers one topic of the user interface.

mod boot;
mod budgets;
mod calls;
mod chains;
mod cnode;
mod combined;
mod common;
mod contexts;
#[cfg(feature = "smp")]
mod cores;
#[cfg(feature = "smp")]
mod cores_late;
#[cfg(feature = "smp")]
mod cores_late_requests;
#[cfg(feature = "smp")]
mod cores_local;
#[cfg(feature = "smp")]
mod cores_remote;
mod criticality;
mod cspace;
mod deferrals;
mod delays;
mod deletion;
mod domains;
mod fast_paths;
mod fast_paths_capability;
mod fast_paths_limit;
mod fast_paths_recv;
#[cfg(feature = "smp")]
mod fast_paths_recv_cores;
mod fast_paths_threshold;
mod fast_paths_timer;
mod fast_paths_turn;
#[cfg(feature = "smp")]
mod fast_paths_turn_cores;
mod fast_paths_wake;
#[cfg(feature = "smp")]
mod fast_paths_wake_cores;
mod fast_paths_yield;
mod faults;
mod idling;
mod ipc;
mod irqs;
mod layout;
mod limits;
mod limits_cut;
mod limits_kept;
mod limits_promised;
mod limits_returned;
mod notifications;
mod phases;
mod preemption;
mod promises;
mod random;
#[cfg(feature = "smp")]
mod random_cores;
mod releases;
mod scenarios;
mod scheduling;
mod speculation;

mod supply;
mod tangles;
mod threads;
mod thresholds;
mod timeout_chains;
mod timeouts;
mod transfer;
mod untyped;
mod violations;
mod whole;
mod yield_to;
mod yield_to_timeout;
mod yield_until;
