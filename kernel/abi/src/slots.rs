//! Slots of the initial thread's CNode.
#![allow(missing_docs, reason = "each is the capability that its name says")]

pub const NULL: usize = 0;
pub const INIT_THREAD_TCB: usize = 1;
pub const INIT_THREAD_CNODE: usize = 2;
pub const INIT_THREAD_VSPACE: usize = 3;
pub const IRQ_CONTROL: usize = 4;
pub const ASID_CONTROL: usize = 5;
pub const INIT_THREAD_ASID_POOL: usize = 6;
pub const IO_PORT_CONTROL: usize = 7;
pub const IO_SPACE: usize = 8;
pub const BOOT_INFO_FRAME: usize = 9;
pub const INIT_THREAD_IPC_BUFFER: usize = 10;
pub const DOMAIN: usize = 11;
pub const SMMU_SID_CONTROL: usize = 12;
pub const SMMU_CB_CONTROL: usize = 13;
pub const INIT_THREAD_SC: usize = 14;
pub const SMC: usize = 15;
/// The first slot that is given out dynamically.
pub const FIRST_DYNAMIC: usize = 16;
