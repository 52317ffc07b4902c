//! The defences against speculation attacks that a processor needs, by its own report.

/// The report of a processor.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor {
    /// Whether it is AMD's or Hygon's.
    pub is_amd: bool,
    /// CPUID leaf 7: EBX.
    pub leaf_7_ebx: u32,
    /// CPUID leaf 7: EDX.
    pub leaf_7_edx: u32,
    /// CPUID leaf 0x8000_0008: EBX.
    pub leaf_8_ebx: u32,
    /// CPUID leaf 0x8000_0021: EAX.
    pub leaf_21_eax: u32,
    /// CPUID leaf 0x8000_0021: ECX.
    pub leaf_21_ecx: u32,
    /// IA32_ARCH_CAPABILITIES; 0 if it is absent.
    pub capabilities: u64,
}

/// Whether a bit is set.
pub const fn bit(word: u64, number: u32) -> bool {
    word >> number & 1 != 0
}

/// The vulnerabilities of a processor, and the defences that it offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Speculation {
    /// Loads in user mode may speculatively use kernel memory (CVE-2017-5754).
    pub meltdown: bool,
    /// Its buffers keep data of other privilege levels, and `verw` clears them (MDS, TAA, MMIO stale data,
    /// RFDS; AMD's TSA).
    pub buffers: bool,
    /// It can flush indirect branch predictions (IBPB).
    pub barrier: bool,
    /// IBRS can be enabled permanently (enhanced IBRS).
    pub enhanced_ibrs: bool,
    /// The same, by a bit of EFER (AMD64 APM vol. 2, section 3.1.7).
    pub automatic_ibrs: bool,
    /// It isolates the branch predictions of hardware threads that share a core (STIBP).
    pub single_thread: bool,
}

impl Speculation {
    /// Evaluates the report of a processor. One that reports nothing is assumed to be vulnerable.
    pub const fn of(processor: &Processor) -> Self {
        let amd = processor.is_amd;
        let [ebx, edx, leaf_8, eax, ecx] = [
            processor.leaf_7_ebx as u64,
            processor.leaf_7_edx as u64,
            processor.leaf_8_ebx as u64,
            processor.leaf_21_eax as u64,
            processor.leaf_21_ecx as u64,
        ];
        let capabilities = processor.capabilities;
        // RTM and TAA_NO, MDS_NO; SBDR_SSDP_NO, FBSDP_NO and PSDP_NO; RFDS_NO.
        let sampling = !bit(capabilities, 5) || bit(ebx, 11) && !bit(capabilities, 8);
        let stale = capabilities >> 13 & 7 != 7;
        let file = !bit(capabilities, 27);
        // TSA_SQ_NO and TSA_L1_NO.
        let scheduler = ecx >> 1 & 3 != 3;
        Self {
            meltdown: !amd && !bit(capabilities, 0),
            // MD_CLEAR, FB_CLEAR, RFDS_CLEAR, VERW_CLEAR: the buffers that the instruction clears.
            buffers: bit(edx, 10) && sampling
                || bit(capabilities, 17) && stale
                || bit(capabilities, 28) && file
                || amd && bit(eax, 5) && scheduler,
            barrier: bit(edx, 26) || amd && bit(leaf_8, 12),
            enhanced_ibrs: bit(edx, 26) && bit(capabilities, 1),
            automatic_ibrs: amd && bit(eax, 8),
            single_thread: bit(edx, 27) || amd && bit(leaf_8, 15),
        }
    }
}
