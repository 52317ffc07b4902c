//! Translation tables: the address spaces of users and the kernel's own.

pub(crate) mod descriptor;
pub(crate) mod map;
pub(crate) mod table;
pub(crate) mod tlb;
