//! Detecting and enabling the processor's features.
//!
//! Only features that CPUID reports are enabled: some emulated processors accept the bit of a feature that
//! they lack and misbehave later.

use raw_cpuid::{CpuId, CpuIdReaderNative, cpuid};
use x86_64::registers::control::{Cr0, Cr0Flags, Cr4, Cr4Flags, Efer, EferFlags};
use x86_64::registers::model_specific::Msr;
use x86_64::registers::xcontrol::XCr0;

use crate::fpu;
#[cfg(feature = "harden")]
use crate::speculation::Speculation;

/// IA32_PAT.
const PAGE_ATTRIBUTES: u32 = 0x277;

/// Memory types, indexed by the bits PAT, PCD and PWT of an entry (Intel SDM vol. 3, section 13.12):
/// write-back, write-through, uncached unless a range register overrides it, uncached, write combining;
/// then the first three again. The indices are those of the ABI's attributes.
const MEMORY_TYPES: [u8; 8] = [6, 4, 7, 0, 1, 4, 7, 0];

/// The features of this processor that the kernel can use.
#[derive(Clone, Copy, Debug)]
pub struct Features {
    /// Pages of 1 GiB.
    pub huge_pages: bool,
    /// The floating-point components that `xsave` switches with threads; none without it.
    pub float_components: u64,
    /// The APIC's registers as MSRs.
    pub x2apic: bool,
    /// The APIC's timer accepts deadlines.
    pub tsc_deadline: bool,
    /// The defences against speculation that it needs.
    #[cfg(feature = "harden")]
    pub speculation: Speculation,
    fsgsbase: bool,
    smep: bool,
    smap: bool,
    umip: bool,
}

impl Features {
    /// Queries CPUID.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn detect() -> Self {
        let cpuid = CpuId::with_cpuid_reader(CpuIdReaderNative);
        let features = cpuid.get_feature_info();
        let extended = cpuid.get_extended_feature_info();
        let identifiers = cpuid.get_extended_processor_and_feature_identifiers();
        Self {
            huge_pages: identifiers.is_some_and(|it| it.has_1gib_pages()),
            float_components: fpu::components(
                features.as_ref().is_some_and(|it| it.has_xsave()),
                features
                    .as_ref()
                    .filter(|it| it.has_avx())
                    .map(|_| avx_place()),
            ),
            x2apic: features.as_ref().is_some_and(|it| it.has_x2apic()),
            tsc_deadline: features.as_ref().is_some_and(|it| it.has_tsc_deadline()),
            #[cfg(feature = "harden")]
            speculation: Speculation::detect(),
            fsgsbase: extended.as_ref().is_some_and(|it| it.has_fsgsbase()),
            smep: extended.as_ref().is_some_and(|it| it.has_smep()),
            smap: extended.as_ref().is_some_and(|it| it.has_smap()),
            umip: extended.as_ref().is_some_and(|it| it.has_umip()),
        }
    }

    /// Enables the features on this core.
    ///
    /// # Safety
    /// Called at boot, on page tables that do not let user mode access memory that the kernel executes or
    /// reads.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub unsafe fn enable(&self) {
        // SAFETY: none of it changes the meaning of the kernel's own instructions; write protection and
        // supervisor-mode restrictions affect pages that the kernel does not write, execute or read.
        unsafe {
            Efer::update(|flags| flags.insert(EferFlags::NO_EXECUTE_ENABLE));
            Cr0::update(|flags| {
                flags.remove(Cr0Flags::EMULATE_COPROCESSOR | Cr0Flags::TASK_SWITCHED);
                flags.insert(
                    Cr0Flags::WRITE_PROTECT
                        | Cr0Flags::NUMERIC_ERROR
                        | Cr0Flags::MONITOR_COPROCESSOR,
                );
            });
            Cr4::update(|flags| {
                flags
                    .insert(Cr4Flags::PAGE_GLOBAL | Cr4Flags::OSFXSR | Cr4Flags::OSXMMEXCPT_ENABLE);
                // Global TLB entries survive a change of CR3, so the kernel would not be hidden.
                #[cfg(feature = "harden-meltdown")]
                flags.set(Cr4Flags::PAGE_GLOBAL, !self.speculation.meltdown);
                flags.set(Cr4Flags::OSXSAVE, self.float_components != 0);
                flags.set(Cr4Flags::FSGSBASE, self.fsgsbase);
                flags.set(Cr4Flags::SUPERVISOR_MODE_EXECUTION_PROTECTION, self.smep);
                flags.set(Cr4Flags::SUPERVISOR_MODE_ACCESS_PREVENTION, self.smap);
                // `sgdt` and similar instructions would disclose the addresses of the kernel's tables.
                flags.set(Cr4Flags::USER_MODE_INSTRUCTION_PREVENTION, self.umip);
                // Users may read performance counters only in benchmark kernels.
                flags.set(
                    Cr4Flags::PERFORMANCE_MONITOR_COUNTER,
                    cfg!(feature = "bench"),
                );
            });
            if self.float_components != 0 {
                XCr0::write_raw(self.float_components);
            }
            Msr::new(PAGE_ATTRIBUTES).write(u64::from_le_bytes(MEMORY_TYPES));
            #[cfg(feature = "harden-spectre")]
            crate::speculation::restrict(&self.speculation);
        }
    }
}

/// Offset and size of AVX's component in the `xsave` area (Intel SDM vol. 2, CPUID, leaf 0DH, sub-leaf
/// 2).
fn avx_place() -> (usize, usize) {
    let place = cpuid!(0xd, 2);
    (place.ebx as usize, place.eax as usize)
}
