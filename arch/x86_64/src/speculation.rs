//! Defences against attacks on speculative execution.
//!
//! Three options of the build, each for one kind of attack, compile the defences into the kernel. At boot,
//! the kernel enables those that the processor needs, by its own report.
//!
//! | feature | against | by |
//! |---|---|---|
//! | `harden-meltdown` | user loads from kernel memory | page tables of user mode without the kernel's window, see [`crate::isolation`] |
//! | `harden-spectre` | branches trained by other threads | retpolines, IBRS, IBPB, refilled return stack buffers, `lfence` at `swapgs` |
//! | `harden-mds` | loads of stale data in the processor's buffers | `verw` at kernel exit |

mod needs;

use raw_cpuid::{CpuId, CpuIdReaderNative, cpuid};
use x86_64::registers::model_specific::Msr;

use needs::bit;
pub use needs::{Processor, Speculation};

/// IA32_ARCH_CAPABILITIES (Intel SDM vol. 4, table 2-2).
const CAPABILITIES: u32 = 0x10a;

impl Processor {
    fn query() -> Self {
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
                // SAFETY: the processor has the register, and reading it has no side effects.
                unsafe { Msr::new(CAPABILITIES).read() }
            } else {
                0
            },
        }
    }
}

impl Speculation {
    /// Queries the processor.
    pub fn detect() -> Self {
        Self::of(&Processor::query())
    }
}

#[cfg(feature = "harden-spectre")]
pub use branches::{invalidate_branch_predictor, restrict};

/// Defences against trained branches.
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
    /// At least the number of entries of any return stack buffer; two calls per iteration.
    const CALLS: usize = 32;

    /// Enables the permanent restrictions of this core's branches.
    ///
    /// # Safety
    /// Called at boot, with the result of [`Speculation::detect`] for this processor.
    pub unsafe fn restrict(speculation: &Speculation) {
        let mut control = 0;
        if speculation.enhanced_ibrs {
            control |= IBRS;
        }
        if speculation.single_thread {
            control |= STIBP;
        }
        // SAFETY: the processor reports these features; none of them changes the meaning of instructions.
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

    /// Flushes branch predictions between two address spaces, so that training in one does not affect
    /// branches and returns in the other.
    #[inline(always)]
    pub fn invalidate_branch_predictor() {
        // SAFETY: the function changes only the registers that are named.
        unsafe {
            asm!("call escapement_forget_branches", out("rax") _, out("rcx") _, out("rdx") _);
        }
    }

    // Changes RAX, RCX and RDX. A mispredicted return would execute a breakpoint. With the `lfence`, the last
    // call retires before the first return (Intel, "Retpoline: A Branch Target Injection Mitigation", section
    // 5.3).
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
