//! Undefined instructions. The processor does not report why it has refused an instruction, so the kernel
//! reads it: the users' timer is taken from its owner only for an instruction that names the timer.

use core::arch::asm;

use abi::registers::FLAGS;
use kernel::Kernel;
use kernel::arch::{Arch, PhysAddr, UserContext};

use super::{Machine, version};
use crate::platform::Platform;

/// Whether the instruction at which the current thread stopped accesses a register of the physical timer.
pub(super) fn names_timer<P: Platform>(kernel: &Kernel<Machine<P>>) -> bool {
    /// CPSR.T: Thumb instructions.
    const THUMB: usize = 1 << 5;
    let Some(thread) = kernel.core.current else {
        return false;
    };
    let context = &kernel[thread].context;
    let address = context.next_pc();
    let half = |address| read::<P>(address).map(u32::from);
    let (Some(first), Some(second)) = (half(address), half(address.wrapping_add(2))) else {
        return false;
    };
    // The halfwords of a Thumb instruction come in the order of their significance.
    is_of_timer(if context.get(FLAGS) & THUMB != 0 {
        first << 16 | second
    } else {
        second << 16 | first
    })
}

/// Whether an instruction accesses CNTP_TVAL, CNTP_CTL or CNTP_CVAL (ARM DDI 0406, section B8.2).
const fn is_of_timer(instruction: u32) -> bool {
    // MRC and MCR with coprocessor 15, opc1 0, CRn 14, CRm 2 (sections A8.8.98 and A8.8.107).
    let one_register = instruction & 0x0fef_0f1f == 0x0e0e_0f12;
    // MRRC and MCRR with coprocessor 15, opc1 2, CRm 14 (sections A8.8.99 and A8.8.108).
    let two_registers = instruction & 0x0fe0_0fff == 0x0c40_0f2e;
    // Others have the condition 15: MRC2, MCRR2 and so on.
    instruction >> 28 != 0xf && (one_register || two_registers)
}

/// Reads two bytes at an address of the current thread, through the kernel's own mapping: another core may
/// unmap the thread's at any time.
fn read<P: Platform>(address: usize) -> Option<u16> {
    let physical = translate(address, Access::User)?;
    let own = Machine::<P>::to_virtual(physical);
    // Not all memory is in the kernel's window.
    if translate(own, Access::Kernel)? != physical {
        return None;
    }
    // SAFETY: the kernel's mappings stay. Users may write there at the same time.
    Some(unsafe { (own as *const u16).read_volatile() })
}

/// In which mode memory is read.
enum Access {
    User,
    Kernel,
}

/// The physical address that a read of an address would access.
fn translate(address: usize, access: Access) -> Option<PhysAddr> {
    /// PAR.F: the translation failed.
    const FAILED: usize = 1 << 0;
    /// PAR.SS: the mapping is a supersection.
    const SUPERSECTION: usize = 1 << 1;
    // SAFETY: ATS1CUR or ATS1CPR, which only write PAR (ARM DDI 0406, section B4.2.4).
    unsafe {
        match access {
            Access::User => asm!("mcr p15, 0, {}, c7, c8, 2", in(reg) address, options(nostack)),
            Access::Kernel => asm!("mcr p15, 0, {}, c7, c8, 0", in(reg) address, options(nostack)),
        }
    }
    version::instruction_barrier();
    let result: usize;
    // SAFETY: reads PAR (section B4.1.112).
    unsafe { asm!("mrc p15, 0, {}, c7, c4, 0", out(reg) result, options(nostack)) };
    let offset = if result & SUPERSECTION != 0 {
        (1 << 24) - 1
    } else {
        (1 << 12) - 1
    };
    (result & FAILED == 0).then_some(PhysAddr(result & !offset | address & offset))
}

const _: () = {
    // mrc p15, 0, r0, c14, c2, 1; mcr p15, 0, r3, c14, c2, 0; mrrc p15, 2, r0, r1, c14.
    assert!(is_of_timer(0xee1e_0f32) && is_of_timer(0xee0e_3f12) && is_of_timer(0xec51_0f2e));
    // udf #0; the virtual timer's CNTV_CTL and CNTV_CVAL; mrc2.
    assert!(!is_of_timer(0xe7f0_00f0) && !is_of_timer(0xee1e_0f33));
    assert!(!is_of_timer(0xec51_0f3e) && !is_of_timer(0xfe1e_0f32));
};
