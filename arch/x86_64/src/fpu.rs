//! The floating-point unit: x87 and SSE (Intel SDM vol. 1, chapters 10 and 13).
//!
//! The registers are switched with the thread, not on first use: a thread never runs while another's
//! values are in them, so there is nothing to leak by speculation (CVE-2018-3665). Two exceptions
//! save work: a thread that finds its own values still there keeps them, and threads that may not use
//! the unit (`FPU_DISABLED`) leave it alone. The kernel itself is compiled without it.

use core::arch::asm;

use kernel::Kernel;
use kernel::object::Thread;
use kernel::token::Ptr;
use x86_64::registers::control::{Cr0, Cr0Flags};

use crate::{Platform, X86_64};

/// The legacy region of 512 bytes and the header of `xsave`. No components beyond x87 and SSE are
/// enabled, so this is all.
const STATE_SIZE: usize = 576;

/// The saved registers.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct FpuState([u8; STATE_SIZE]);

impl FpuState {
    /// The state after reset, but with all exceptions masked: FCW at byte 0, MXCSR at 24, and both
    /// components marked as present in the header, so that MXCSR is always loaded from here.
    pub const INITIAL: Self = {
        let mut bytes = [0; STATE_SIZE];
        [bytes[0], bytes[1]] = 0x037f_u16.to_le_bytes();
        [bytes[24], bytes[25]] = 0x1f80_u16.to_le_bytes();
        bytes[512] = COMPONENTS as u8;
        Self(bytes)
    };
}

/// x87 and SSE: bits of XCR0.
pub const COMPONENTS: u64 = 3;

/// The unit of one core.
pub struct Fpu<P: Platform> {
    /// Whose values are in the registers.
    owner: Option<Ptr<Thread<X86_64<P>>>>,
    /// Whether uses are trapped now (CR0.TS).
    trapping: bool,
    /// Whether the processor has `xsave`.
    xsave: bool,
}

impl<P: Platform> Fpu<P> {
    /// A unit that nobody has used.
    pub fn new(xsave: bool) -> Self {
        Self {
            owner: None,
            trapping: false,
            xsave,
        }
    }

    fn trap_uses(&mut self, trap: bool) {
        if self.trapping != trap {
            self.trapping = trap;
            // SAFETY: the flag only concerns floating point.
            unsafe { Cr0::update(|flags| flags.set(Cr0Flags::TASK_SWITCHED, trap)) };
        }
    }

    fn save(&self, state: &mut FpuState) {
        // SAFETY: the state is large enough and aligned for both formats; uses are not trapped.
        unsafe {
            if self.xsave {
                asm!("xsave64 [{}]", in(reg) state, in("eax") COMPONENTS, in("edx") 0, options(nostack));
            } else {
                asm!("fxsave64 [{}]", in(reg) state, options(nostack));
            }
        }
    }

    fn restore(&self, state: &FpuState) {
        // SAFETY: the state was saved by `save` or is the initial one; uses are not trapped.
        unsafe {
            if self.xsave {
                asm!("xrstor64 [{}]", in(reg) state, in("eax") COMPONENTS, in("edx") 0, options(nostack, readonly));
            } else {
                asm!("fxrstor64 [{}]", in(reg) state, options(nostack, readonly));
            }
        }
    }
}

/// Prepares the unit for `next`, which runs from now on.
pub fn switch_to<P: Platform>(kernel: &mut Kernel<X86_64<P>>, next: Ptr<Thread<X86_64<P>>>) {
    let disabled = kernel[next].fpu_disabled();
    kernel.arch.fpu.trap_uses(disabled);
    if disabled || kernel.arch.fpu.owner == Some(next) {
        return;
    }
    if let Some(owner) = kernel.arch.fpu.owner.replace(next) {
        kernel.arch.fpu.save(&mut kernel.objects[owner].context.fpu);
    }
    kernel.arch.fpu.restore(&kernel.objects[next].context.fpu);
}

/// Takes the registers away from `thread`.
pub fn release<P: Platform>(kernel: &mut Kernel<X86_64<P>>, thread: Ptr<Thread<X86_64<P>>>) {
    let fpu = &mut kernel.arch.fpu;
    if fpu.owner == Some(thread) {
        let trapping = fpu.trapping;
        fpu.owner = None;
        fpu.trap_uses(false);
        fpu.save(&mut kernel.objects[thread].context.fpu);
        fpu.trap_uses(trapping);
    }
}
