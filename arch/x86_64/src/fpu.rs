//! The floating-point unit: x87, SSE and, if the processor has it, AVX (Intel SDM vol. 1, chapters 10, 13
//! and 14). Users can only use components that are saved and restored here.
//!
//! The registers are switched with the thread, not lazily on first use: a thread that may use the unit never runs while
//! they contain another thread's values. In two cases the switch is skipped: if the thread's own values are still
//! loaded, and for threads that may not use the unit (`FPU_DISABLED`). While such a thread runs, the registers contain
//! another thread's values, which speculation can disclose to it on processors with CVE-2018-3665. The kernel itself is
//! compiled without floating point.
//!
//! The current thread is the owner of the registers exactly if it may use the unit; uses trap exactly if it may
//! not. The owner is never a thread that may not use the unit.

use core::arch::asm;

use kernel::object::Thread;
use kernel::sched::Scheduler;
use kernel::token::Ptr;
use x86_64::registers::control::{Cr0, Cr0Flags};

use crate::{Platform, X86_64};

/// The legacy region of 512 bytes, the header of `xsave`, and the upper halves of the AVX registers at
/// their place in the standard format (Intel SDM vol. 1, section 13.4.3). The ABI's size of a thread is the
/// same with and without AVX, so that programs run on both kinds of kernels.
const STATE_SIZE: usize = 512 + 64 + 256;

/// The saved registers.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct FpuState([u8; STATE_SIZE]);

impl FpuState {
    /// The state after reset, but with all exceptions masked: FCW at byte 0, MXCSR at 24. The header marks
    /// x87 and SSE as present; other components get their reset values.
    pub const INITIAL: Self = {
        let mut bytes = [0; STATE_SIZE];
        [bytes[0], bytes[1]] = 0x037f_u16.to_le_bytes();
        [bytes[24], bytes[25]] = 0x1f80_u16.to_le_bytes();
        bytes[512] = LEGACY as u8;
        Self(bytes)
    };
}

/// x87 and SSE: bits of XCR0.
const LEGACY: u64 = 3;
/// The upper halves of the AVX registers: bit of XCR0.
const AVX: u64 = 1 << 2;

/// The components that the kernel enables for users, as bits of XCR0; none without `xsave`.
///
/// `avx` is the offset and size of the AVX component in the state; `None` if the processor does not
/// have it.
pub fn components(xsave: bool, avx: Option<(usize, usize)>) -> u64 {
    match avx {
        _ if !xsave => 0,
        Some((offset, size)) if offset + size <= STATE_SIZE => LEGACY | AVX,
        _ => LEGACY,
    }
}

/// The unit of one core.
pub struct Fpu<P: Platform> {
    /// The thread to which the register contents belong.
    owner: Option<Ptr<Thread<X86_64<P>>>>,
    /// Whether uses trap now (CR0.TS).
    trapping: bool,
    /// The result of [`components`] for this processor.
    components: u64,
}

impl<P: Platform> Fpu<P> {
    /// Offset of the owner, for fast paths in assembly.
    pub const OWNER: usize = core::mem::offset_of!(Self, owner);
    /// Offset of the byte that is 1 if uses trap, and 0 otherwise.
    pub const TRAPPING: usize = core::mem::offset_of!(Self, trapping);
    /// Offset of the components.
    pub const COMPONENTS: usize = core::mem::offset_of!(Self, components);

    /// A unit without an owner.
    pub fn new(components: u64) -> Self {
        Self {
            owner: None,
            trapping: false,
            components,
        }
    }

    /// The result of [`components`] for this processor.
    pub fn components(&self) -> u64 {
        self.components
    }

    /// The thread to which the register contents belong.
    pub fn owner(&self) -> Option<Ptr<Thread<X86_64<P>>>> {
        self.owner
    }

    fn trap_uses(&mut self, trap: bool) {
        if self.trapping != trap {
            self.trapping = trap;
            // SAFETY: the flag only affects floating-point instructions.
            unsafe { Cr0::update(|flags| flags.set(Cr0Flags::TASK_SWITCHED, trap)) };
        }
    }

    fn save(&self, state: &mut FpuState) {
        // SAFETY: the state is large enough and aligned for both formats; uses do not trap.
        unsafe {
            if self.components != 0 {
                asm!("xsave64 [{}]", in(reg) state, in("eax") self.components as u32, in("edx") 0, options(nostack));
            } else {
                asm!("fxsave64 [{}]", in(reg) state, options(nostack));
            }
        }
    }

    fn restore(&self, state: &FpuState) {
        // SAFETY: the state was saved by `save` or is the initial one; uses do not trap.
        unsafe {
            if self.components != 0 {
                asm!("xrstor64 [{}]", in(reg) state, in("eax") self.components as u32, in("edx") 0, options(nostack, readonly));
            } else {
                asm!("fxrstor64 [{}]", in(reg) state, options(nostack, readonly));
            }
        }
    }
}

/// Prepares the unit for `next`, which runs next.
pub fn switch_to<P: Platform>(kernel: &mut Scheduler<X86_64<P>>, next: Ptr<Thread<X86_64<P>>>) {
    if kernel[next].fpu_disabled() {
        debug_assert!(!Ptr::is_same(kernel.arch.fpu.owner, Some(next)));
        return kernel.arch.fpu.trap_uses(true);
    }
    kernel.arch.fpu.trap_uses(false);
    if Ptr::is_same(kernel.arch.fpu.owner, Some(next)) {
        return;
    }
    if let Some(owner) = kernel.arch.fpu.owner.replace(next) {
        kernel
            .arch
            .fpu
            .save(&mut kernel.capabilities.objects[owner].context.fpu);
    }
    kernel
        .arch
        .fpu
        .restore(&kernel.capabilities.objects[next].context.fpu);
}

/// Saves the registers of `thread`, if they are loaded.
pub fn release<P: Platform>(kernel: &mut Scheduler<X86_64<P>>, thread: Ptr<Thread<X86_64<P>>>) {
    let fpu = &mut kernel.arch.fpu;
    if fpu.owner == Some(thread) {
        let trapping = fpu.trapping;
        fpu.owner = None;
        fpu.trap_uses(false);
        fpu.save(&mut kernel.capabilities.objects[thread].context.fpu);
        fpu.trap_uses(trapping);
    }
}
