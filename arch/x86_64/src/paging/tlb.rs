//! TLB invalidation (Intel SDM vol. 3, section 5.10).
//!
//! Address spaces have no process-context identifiers (PCIDs) yet: a switch invalidates everything but the
//! kernel's global pages, and only the current address space needs invalidation. With PCIDs, both functions
//! would take the identifier of the space.

use core::arch::asm;

use kernel::arch::PhysAddr;
use x86_64::VirtAddr;
use x86_64::instructions::tlb;

/// Switches to the address space with this root.
///
/// # Safety
/// The table at `root` has the kernel's upper half, and exists until another one is loaded.
pub unsafe fn load_root(root: PhysAddr) {
    // SAFETY: the kernel's own mappings do not change.
    unsafe { asm!("mov cr3, {}", in(reg) root.0, options(nostack, preserves_flags)) }
}

/// Invalidates the page at `address` of the current address space, and all paging-structure caches.
pub fn invalidate_page(address: usize) {
    tlb::flush(VirtAddr::new_truncate(address as u64));
}

/// Invalidates all TLB entries of the current address space except global ones.
pub fn invalidate_all() {
    tlb::flush_all();
}
