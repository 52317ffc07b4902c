//! What the processor remembers of page tables (Intel SDM vol. 3, section 5.10).
//!
//! Address spaces have no processor context identifiers (PCIDs) yet: a switch forgets everything but
//! the kernel's global pages, and only the address space in use needs invalidation. With PCIDs, both
//! functions would take the identifier of the space.

use core::arch::asm;

use kernel::arch::PhysAddr;
use x86_64::VirtAddr;
use x86_64::instructions::tlb;

/// Makes the address space under `root` the current one.
///
/// # Safety
/// The table at `root` has the kernel's upper half, and stays until another one is loaded.
pub unsafe fn load_root(root: PhysAddr) {
    // SAFETY: the kernel's own mappings stay what they are.
    unsafe { asm!("mov cr3, {}", in(reg) root.0, options(nostack, preserves_flags)) }
}

/// Forgets the page at `address` of the current address space, and all inner tables.
pub fn forget_page(address: usize) {
    tlb::flush(VirtAddr::new_truncate(address as u64));
}

/// Forgets everything of the current address space but the kernel's.
pub fn forget_all() {
    tlb::flush_all();
}
