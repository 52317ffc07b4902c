//! The differences between versions of the 32-bit architecture: a module for each has the same names, which
//! this one lists, and `version.s` the assembler macros that differ. The compiler's target decides.
//!
//! ARMv7 also serves ARMv8 cores in the 32-bit state, which keeps all features used here.

#[cfg(not(target_feature = "v7"))]
mod armv6;
#[cfg(target_feature = "v7")]
mod armv7;
mod cache;

#[cfg(not(target_feature = "v7"))]
use armv6 as own;
#[cfg(target_feature = "v7")]
use armv7 as own;

pub(super) use cache::{clean, enable as enable_caches, flush, maintain};
/// The address at which the exception vectors must be mapped, on cores where it is fixed.
pub(super) use own::FIXED_VECTORS;
/// Whether branches of one address space may be predicted in another one.
pub(super) use own::SHARED_PREDICTIONS;
/// The low bits of TTBR0: the attributes of table walks.
pub(super) use own::WALK;
/// The debug registers.
pub(super) use own::breakpoints;
/// Makes writes to a range of addresses visible to table walks.
pub(super) use own::cache::clean_table;
/// Waits until earlier memory accesses and cache and TLB maintenance are complete (DSB).
pub(super) use own::data_barrier;
/// Makes later instructions see earlier changes of the core's state (ISB).
pub(super) use own::instruction_barrier;
/// Removes user access to the core's counters, except in benchmark kernels, and to its debug communication
/// channel.
pub(super) use own::limit_users;
/// Sets the exception vectors of this core to an address, or to the fixed address if there is one.
pub(super) use own::set_vectors;
/// Waits until an interrupt is pending, masked or not.
pub(super) use own::wait_for_interrupt;
