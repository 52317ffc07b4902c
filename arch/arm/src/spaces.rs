//! The address spaces of a core, as methods of capabilities need them.

use core::ops::Range;

use kernel::arch::PhysAddr;

use crate::cap::Format;

/// A remote call.
#[derive(Clone, Copy, Debug)]
pub enum Remote<F: Format> {
    /// Switch away from an address space.
    LeaveSpace(F::Asid, PhysAddr),
    /// Switch away from an address space with an identifier of a pool.
    LeavePool(usize),
}

/// The address spaces of a core. On several cores, the pools are shared.
pub trait AddressSpaces<F: Format> {
    /// Identifiers in a pool.
    const POOL_SIZE: usize;

    /// The root of an address space; none if it or its pool is gone.
    fn root_address(&self, asid: F::Asid) -> Option<PhysAddr>;

    /// Performs an action in the address space `asid`, if it exists, and switches back.
    fn inside(&mut self, asid: F::Asid, action: impl FnOnce());

    /// The number of an unused pool.
    fn free_pool(&self) -> Option<usize>;

    /// Whether the pool of this number is the one at `address`; none if there is no such pool.
    fn has_pool(&self, pool: usize, address: PhysAddr) -> Option<bool>;

    /// Adds a pool, in zeroed memory at `address`.
    fn add_pool(&mut self, pool: usize, address: PhysAddr);

    /// Removes an existing pool with all its address spaces from this core.
    fn remove_pool(&mut self, pool: usize);

    /// Completes the removal of a pool from all cores.
    fn pool_removed() {}

    /// The first unused identifier at these indices of a pool.
    fn free_asid(&self, pool: usize, indices: Range<usize>) -> Option<F::Asid>;

    /// Assigns an identifier to a root.
    fn assign(&mut self, asid: F::Asid, root: PhysAddr);

    /// Switches away from an address space that is about to lose its identifier.
    fn leave_space(&mut self, asid: F::Asid, root: PhysAddr);

    /// Takes back the identifier of a root that no core has loaded.
    fn release(&mut self, asid: F::Asid);

    /// Whether a remote call has an effect on this core.
    fn concerns(&self, remote: Remote<F>) -> bool;

    /// Performs a remote call from another core.
    fn perform(&mut self, remote: Remote<F>);
}
