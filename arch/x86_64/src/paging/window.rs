//! The window: all of memory at a constant offset, in the upper half of every address space.
//!
//! The kernel accesses its objects through it, and nothing else: it never dereferences a user mapping, so
//! SMAP costs nothing.

use core::ptr::NonNull;

use kernel::arch::PhysAddr;
use kernel::token::Ptr;

/// The address of physical address 0 in the window.
pub const BASE: usize = 0xffff_8000_0000_0000;

/// The maximum size of the window: the span of one entry of the root. RAM above it is not used.
pub const SIZE: usize = 1 << 39;

/// The kernel's address of a physical address.
pub const fn to_virtual(address: PhysAddr) -> usize {
    BASE + address.0
}

/// The physical address of an address in the window.
pub const fn to_physical(address: usize) -> PhysAddr {
    PhysAddr(address - BASE)
}

/// The handle of the kernel object at a physical address.
///
/// # Safety
/// As for [`Ptr::new`]: a valid `T` is there for as long as the handle is used.
pub unsafe fn object<T>(address: PhysAddr) -> Ptr<T> {
    let pointer = core::ptr::with_exposed_provenance_mut::<T>(to_virtual(address));
    // SAFETY: the window does not contain the null address; otherwise by contract.
    unsafe { Ptr::new(NonNull::new_unchecked(pointer)) }
}
