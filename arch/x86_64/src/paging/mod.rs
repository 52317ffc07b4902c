//! Page tables: 4-level paging (Intel SDM vol. 3, section 5.5).
//!
//! The lower half of every address space is for users. The upper half is the kernel's and the same in all
//! of them: a window onto all memory, and the kernel's image with its devices in the last 2 GiB
//! ([`KernelSpace`]).

mod entry;
mod kernel_space;
pub mod tlb;
mod walk;
pub mod window;

pub use entry::{Entry, Flags, PageTable};
pub(crate) use kernel_space::TABLES;
pub use kernel_space::{Access, IMAGE_BASE, IMAGE_END, KernelSpace};
pub use walk::{Level, Place, find};

/// The end of the addresses that users can map. The last page below the non-canonical addresses stays
/// unmapped, so that no instruction ends there: `syscall` would leave a return address on which `sysret`
/// faults with the kernel's privilege (Intel SDM vol. 2, SYSRET).
pub const USER_TOP: usize = 0x7fff_ffff_f000;

/// Whether bits 63 to 47 are equal, so that the processor accepts the address.
pub const fn is_canonical(address: usize) -> bool {
    let top = address as isize >> 47;
    top == 0 || top == -1
}
