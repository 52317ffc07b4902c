//! The 32-bit architecture: thread contexts, capabilities, and address spaces of short descriptors, as
//! ARMv6 and ARMv7 have them in common.
//!
//! All but the folder `machine` also compiles on the host.

mod asid;
mod boot;
mod cap;
mod cap_layout;
#[cfg(target_arch = "arm")]
mod context;
#[cfg(target_arch = "arm")]
pub(crate) mod cp15;
pub mod descriptor;
pub mod invoke;
#[cfg(target_arch = "arm")]
pub mod machine;
mod map;
pub mod ram;
mod spaces;
mod table;

use core::ops::Range;

use kernel::arch::{Arch, PhysAddr};

pub use crate::cache::CacheOperation;
pub use asid::{Asid, HardwareAsid};
pub use boot::{boot_map, boot_space};
pub use cap::{Capability, FrameCap, FrameSize, Mapping, Words32};
#[cfg(target_arch = "arm")]
pub use context::{Context, FpuContext};
pub use spaces::{KnownSpace, Spaces};
pub use table::{Directory, Table, directory_index, table_index};

/// User addresses are below this; the kernel has the addresses above in every address space.
pub const USER_TOP: usize = 0xe000_0000;

/// The cache lines of `size` bytes that overlap a range, each by its first address.
pub fn lines(range: Range<usize>, size: usize) -> impl Iterator<Item = usize> {
    let bits = size.trailing_zeros();
    let (first, last) = (range.start >> bits, (range.end - 1) >> bits);
    (first..last + 1).map(move |line| line << bits)
}

/// The operations that address spaces need of the machine.
pub trait Aarch32: Arch<Cap = Capability> {
    /// The state of this core's address spaces.
    fn spaces(&mut self) -> &mut Spaces<Self>;

    /// The value of TTBR0 for a directory.
    fn table_base(directory: PhysAddr) -> usize;

    /// Switches to an address space: its TTBR0 value is `base`, that of the kernel's own is `kernel_base`.
    fn install(base: usize, asid: HardwareAsid, kernel_base: usize);

    /// Makes page table changes in a range of kernel addresses visible to table walks.
    fn clean_table(range: Range<usize>);

    /// Performs a cache operation on addresses that are mapped in the current address space.
    fn maintain_cache(operation: CacheOperation, range: Range<usize>);

    /// Invalidates this core's TLB entries of the address space `asid`.
    #[cfg(feature = "smp")]
    fn invalidate_space_locally(asid: HardwareAsid);

    /// Invalidates the TLB entries of the page at `address` in the address space `asid`, on all cores.
    fn invalidate_page(asid: HardwareAsid, address: usize);

    /// Invalidates all TLB entries of the address space `asid`, on all cores.
    fn invalidate_space(asid: HardwareAsid);
}
