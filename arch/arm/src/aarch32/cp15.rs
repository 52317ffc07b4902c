//! Registers and maintenance operations of the system control coprocessor that ARMv6 and ARMv7 have in
//! common.
//!
//! The compiler moves no memory access across a write: many of these change what an access does. Section
//! numbers are those of the *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406). Its
//! appendix D12 describes the differences of ARMv6; there are none for what is here.

/// Defines functions that read registers of the coprocessor: name, CRn, opc1, CRm, opc2.
macro_rules! cp15_readable {
    ($($(#[$doc:meta])* $name:ident: $crn:literal, $op1:literal, $crm:literal, $op2:literal;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> usize {
            let value;
            // SAFETY: reading the register has no side effects.
            unsafe {
                ::core::arch::asm!(
                    concat!("mrc p15, ", $op1, ", {}, c", $crn, ", c", $crm, ", ", $op2),
                    out(reg) value,
                    options(nomem, nostack, preserves_flags),
                );
            }
            value
        }
    )*};
}

/// Defines functions that write registers of the coprocessor: name, CRn, opc1, CRm, opc2.
macro_rules! cp15_writable {
    ($($(#[$doc:meta])* $name:ident: $crn:literal, $op1:literal, $crm:literal, $op2:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// The write must not invalidate anything that compiled code relies on.
        #[inline(always)]
        pub unsafe fn $name(value: usize) {
            // SAFETY: by contract.
            unsafe {
                ::core::arch::asm!(
                    concat!("mcr p15, ", $op1, ", {}, c", $crn, ", c", $crm, ", ", $op2),
                    in(reg) value,
                    options(nostack, preserves_flags),
                );
            }
        }
    )*};
}

/// Operations on this core.
#[cfg(not(feature = "smp"))]
mod scope {
    cp15_writable! {
        /// TLBIALL: invalidate all TLB entries (section B4.2.2).
        invalidate_all: 8, 0, 7, 0;
        /// TLBIMVA: invalidate the TLB entries of one page of one address space (section B4.2.2).
        invalidate_page: 8, 0, 7, 1;
        /// TLBIASID: invalidate the TLB entries of one address space (section B4.2.2).
        invalidate_space: 8, 0, 7, 2;
        /// BPIALL: invalidate all branch predictions (section B4.2.1).
        invalidate_branch_predictor: 7, 0, 5, 6;
        /// ICIALLU: invalidate instruction caches (section B4.2.1).
        invalidate_instructions: 7, 0, 5, 0;
    }
}

/// Operations on all cores.
#[cfg(feature = "smp")]
mod scope {
    cp15_writable! {
        /// TLBIALLIS: invalidate all TLB entries (section B4.2.2).
        invalidate_all: 8, 0, 3, 0;
        /// TLBIMVAIS: invalidate the TLB entries of one page of one address space (section B4.2.2).
        invalidate_page: 8, 0, 3, 1;
        /// TLBIASIDIS: invalidate the TLB entries of one address space (section B4.2.2).
        invalidate_space: 8, 0, 3, 2;
        /// BPIALLIS: invalidate all branch predictions (section B4.2.1).
        invalidate_branch_predictor: 7, 0, 1, 6;
        /// ICIALLUIS: invalidate instruction caches (section B4.2.1).
        invalidate_instructions: 7, 0, 1, 0;
        /// TLBIASID: invalidate the TLB entries of one address space, on this core (section B4.2.2).
        invalidate_space_locally: 8, 0, 7, 2;
        /// TPIDRPRW: the address of the core-local state (section B4.1.150).
        set_core_local: 13, 0, 0, 4;
        /// ACTLR: what the implementation defines (section B4.1.1).
        set_auxiliary_control: 1, 0, 0, 1;
    }

    cp15_readable! {
        /// ACTLR.
        auxiliary_control: 1, 0, 0, 1;
        /// TPIDRPRW.
        core_local: 13, 0, 0, 4;
    }
}

#[cfg(target_feature = "v7")]
pub(crate) use cp15_readable;
pub(crate) use cp15_writable;
pub use scope::*;

cp15_readable! {
    /// SCTLR: control of caches, vectors and others; see [`control`](mod@control) (section B4.1.130).
    control: 1, 0, 0, 0;
    /// CPACR: access to coprocessors, two bits for each (section B4.1.40).
    coprocessor_access: 1, 0, 0, 2;
    /// DFSR: the kind of the last data abort (section B4.1.52).
    data_fault_status: 5, 0, 0, 0;
    /// IFSR: the kind of the last prefetch abort (section B4.1.96).
    instruction_fault_status: 5, 0, 0, 1;
    /// DFAR: the address of the last data abort (section B4.1.51).
    data_fault_address: 6, 0, 0, 0;
}

/// Bits of SCTLR.
pub mod control {
    /// Data and unified caches are enabled.
    pub const DATA_CACHE: usize = 1 << 2;
    /// Branch prediction is enabled.
    pub const BRANCH_PREDICTION: usize = 1 << 11;
    /// Instruction caches are enabled.
    pub const INSTRUCTION_CACHE: usize = 1 << 12;
}

cp15_writable! {
    /// SCTLR.
    set_control: 1, 0, 0, 0;
    /// CPACR.
    set_coprocessor_access: 1, 0, 0, 2;
    /// TPIDRURW: thread-local, writable by users (section B4.1.152).
    set_thread_writable: 13, 0, 0, 2;
    /// TPIDRURO: thread-local, readable by users (section B4.1.151).
    set_thread_readable: 13, 0, 0, 3;
    /// TTBR0: the directory from which table walks start (section B4.1.154).
    set_directory: 2, 0, 0, 0;
    /// CONTEXTIDR: the ASID of the current address space (section B4.1.36).
    set_asid: 13, 0, 0, 1;
    /// ICIMVAU: invalidate a line of instruction caches (section B4.2.1).
    invalidate_instruction_line: 7, 0, 5, 1;
    /// DCCMVAC: clean a line to memory (section B4.2.1).
    clean_line: 7, 0, 10, 1;
    /// DCIMVAC: invalidate a line (section B4.2.1).
    invalidate_line: 7, 0, 6, 1;
    /// DCCIMVAC: clean a line to memory and invalidate it (section B4.2.1).
    clean_invalidate_line: 7, 0, 14, 1;
}
