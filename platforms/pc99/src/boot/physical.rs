//! Access to data that firmware and boot loader have left in memory.

use arch_x86_64::paging::window;
use kernel::arch::PhysAddr;

/// Bytes that firmware or boot loader has written and that do not change any more.
///
/// # Safety
/// The memory is mapped in the window, and stays unused while the slice is in use.
pub unsafe fn bytes(address: usize, length: usize) -> &'static [u8] {
    let start = window::to_virtual(PhysAddr(address));
    // SAFETY: by contract.
    unsafe { core::slice::from_raw_parts(core::ptr::with_exposed_provenance(start), length) }
}

/// The little-endian number at `offset`; 0 if it exceeds the slice.
pub fn number<const SIZE: usize>(bytes: &[u8], offset: usize) -> usize {
    let mut word = [0; size_of::<usize>()];
    if let Some(field) = bytes.get(offset..offset + SIZE) {
        word[..SIZE].copy_from_slice(field);
    }
    usize::from_le_bytes(word)
}
