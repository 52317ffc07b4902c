//! Object types: what untyped memory can become.

use crate::config::{AARCH32, AARCH64, ARM, IOMMU, VTX, X86_64};
use crate::ordered::ordered;

ordered! {
    /// The types that `Untyped_Retype` accepts.
    pub enum ObjectType {
        /// Memory that is not yet an object.
        Untyped if true,
        /// A thread control block.
        Tcb if true,
        /// A rendezvous point of messages.
        Endpoint if true,
        /// A word of binary semaphores.
        Notification if true,
        /// A table of capability slots (libsel4's `CapTableObject`).
        CNode if true,
        /// A scheduling context: the right to processor time.
        SchedContext if true,
        /// A reply object: tracks one caller.
        Reply if true,
        /// Page-directory-pointer table.
        X86Pdpt if X86_64,
        /// Root of an address space.
        X86Pml4 if X86_64,
        /// Frame of 1 GiB.
        X86HugePage if X86_64,
        /// Frame of 4 KiB.
        X86Page4K if X86_64,
        /// Frame of 2 MiB.
        X86LargePage if X86_64,
        /// Page table.
        X86PageTable if X86_64,
        /// Page directory.
        X86PageDirectory if X86_64,
        /// Page table of a device address space.
        X86IoPageTable if IOMMU,
        /// Virtual processor.
        X86Vcpu if VTX,
        /// Root of a guest address space.
        X86EptPml4 if VTX,
        /// Third-level table of a guest address space.
        X86EptPdpt if VTX,
        /// Second-level table of a guest address space.
        X86EptPd if VTX,
        /// First-level table of a guest address space.
        X86EptPt if VTX,
        /// Root of an address space.
        ArmPageDirectory if AARCH32,
        /// Frame of 1 GiB.
        ArmHugePage if AARCH64,
        /// Root of an address space.
        ArmVspace if AARCH64,
        /// Frame of 4 KiB.
        ArmSmallPage if ARM,
        /// Frame of 64 KiB (32-bit) or 2 MiB (64-bit).
        ArmLargePage if ARM,
        /// Frame of 1 MiB.
        ArmSection if AARCH32,
        /// Frame of 16 MiB.
        ArmSuperSection if AARCH32,
        /// Page table (on 64-bit cores: of any level below the root).
        ArmPageTable if ARM,
    }
}
