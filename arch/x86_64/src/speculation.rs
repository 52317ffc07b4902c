//! What processors do ahead of time and can be made to tell by, and what the kernel does about it.
//!
//! Three options of the build, each for one kind of attack, put the defences into the kernel; which of
//! them are used is decided at boot, by what the processor says of itself.
//!
//! | feature | against | by |
//! |---|---|---|
//! | `harden-meltdown` | loads of what only the kernel may read | page tables of user mode without the kernel's window, see [`crate::isolation`] |
//! | `harden-spectre` | branches that others have trained | retpolines, IBRS, IBPB, refilled return stack buffers, `lfence` at `swapgs` |
//! | `harden-mds` | loads of what is left in the processor's buffers | `verw` before user mode |

mod needs;

use raw_cpuid::{CpuId, CpuIdReaderNative, cpuid};
use x86_64::registers::model_specific::Msr;

use needs::bit;
pub use needs::{Processor, Speculation};

/// IA32_ARCH_CAPABILITIES (Intel SDM vol. 4, table 2-2).
const CAPABILITIES: u32 = 0x10a;

impl Processor {
    fn ask() -> Self {
        let cpuid = CpuId::with_cpuid_reader(CpuIdReaderNative);
        let vendor = cpuid.get_vendor_info();
        let is_amd =
            vendor.is_some_and(|it| matches!(it.as_str(), "AuthenticAMD" | "HygonGenuine"));
        let basic = cpuid!(0).eax;
        let leaf_7 = (basic >= 7).then(|| cpuid!(7, 0));
        let extended = cpuid!(0x8000_0000).eax;
        let leaf_8 = (extended >= 0x8000_0008).then(|| cpuid!(0x8000_0008));
        let leaf_21 = (extended >= 0x8000_0021).then(|| cpuid!(0x8000_0021));
        let leaf_7_edx = leaf_7.map_or(0, |it| it.edx);
        Self {
            is_amd,
            leaf_7_ebx: leaf_7.map_or(0, |it| it.ebx),
            leaf_7_edx,
            leaf_8_ebx: leaf_8.map_or(0, |it| it.ebx),
            leaf_21_eax: leaf_21.map_or(0, |it| it.eax),
            leaf_21_ecx: leaf_21.map_or(0, |it| it.ecx),
            capabilities: if bit(leaf_7_edx.into(), 29) {
                // SAFETY: the processor has the register, and reading it changes nothing.
                unsafe { Msr::new(CAPABILITIES).read() }
            } else {
                0
            },
        }
    }
}

impl Speculation {
    /// Asks the processor.
    pub fn detect() -> Self {
        Self::of(&Processor::ask())
    }
}

#[cfg(feature = "harden-spectre")]
pub use branches::{forget_branches, restrict};

/// Against branches that others have trained.
#[cfg(feature = "harden-spectre")]
mod branches {
    use core::arch::{asm, global_asm};

    use x86_64::registers::model_specific::Msr;

    use super::Speculation;
    use crate::core_local::CoreLocal;

    /// IA32_SPEC_CTRL, and its bits.
    const CONTROL: u32 = 0x48;
    const IBRS: u64 = 1 << 0;
    const STIBP: u64 = 1 << 1;
    /// IA32_PRED_CMD, and its bit.
    const COMMAND: u32 = 0x49;
    const IBPB: u32 = 1 << 0;
    /// EFER, and its bit for automatic IBRS.
    const EFER: u32 = 0xc000_0080;
    const AUTOMATIC_IBRS: u64 = 1 << 21;
    /// At least as many calls as any return stack buffer holds; two in each turn.
    const CALLS: usize = 32;

    /// Switches on what restricts this core's branches once for all.
    ///
    /// # Safety
    /// Called at boot, on a processor for which this was found out.
    pub unsafe fn restrict(speculation: &Speculation) {
        let mut control = 0;
        if speculation.enhanced_ibrs {
            control |= IBRS;
        }
        if speculation.single_thread {
            control |= STIBP;
        }
        // SAFETY: the processor has what it says it has; none of it changes what instructions mean.
        unsafe {
            if control != 0 {
                Msr::new(CONTROL).write(control);
            }
            if speculation.automatic_ibrs {
                let mut efer = Msr::new(EFER);
                efer.write(efer.read() | AUTOMATIC_IBRS);
            }
        }
    }

    /// Between two address spaces: nothing that was taught in the one steers branches and returns in the
    /// other.
    #[inline(always)]
    pub fn forget_branches() {
        // SAFETY: the function changes the registers that are named and nothing else.
        unsafe {
            asm!("call escapement_forget_branches", out("rax") _, out("rcx") _, out("rdx") _);
        }
    }

    // Changes RAX, RCX and RDX. What a wrong return would execute is a breakpoint. The `lfence` has the
    // last call retired before the first return comes (Intel, "Retpoline: A Branch Target Injection
    // Mitigation", section 5.3).
    global_asm!(
        ".global escapement_forget_branches",
        "escapement_forget_branches:",
        "cmp byte ptr gs:[{BARRIER}], 0",
        "je 2f",
        "mov ecx, {COMMAND}",
        "mov eax, {IBPB}",
        "xor edx, edx",
        "wrmsr",
        "2:",
        "mov ecx, {TURNS}",
        "3:",
        "call 4f",
        "int3",
        "4:",
        "call 5f",
        "int3",
        "5:",
        "dec ecx",
        "jnz 3b",
        "lfence",
        "add rsp, {PUSHED}",
        "ret",
        BARRIER = const CoreLocal::BARRIER,
        COMMAND = const COMMAND,
        IBPB = const IBPB,
        TURNS = const CALLS / 2,
        PUSHED = const CALLS * 8,
    );
}
