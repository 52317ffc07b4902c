//! System calls that only kernels of kind `bench` have.

use abi::Syscall;
use abi::registers::{CAP, MR};
use core::arch::asm;
use kernel::Kernel;
use kernel::arch::UserContext;

use crate::{Platform, X86_64, msr};

/// Handles such a call. Returns whether it is known.
pub fn handle<P: Platform>(kernel: &mut Kernel<X86_64<P>>, call: Syscall) -> bool {
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if !cfg!(feature = "bench") {
        return false;
    }
    let context = &mut kernel.objects[thread].context;
    let register = context.get(CAP) as u32;
    match call {
        // SAFETY: writing caches back affects only timing.
        Syscall::BenchmarkFlushCaches => unsafe {
            asm!("wbinvd", options(nostack, preserves_flags))
        },
        // For a register that the processor does not have, these calls count as unknown.
        Syscall::X86DangerousRdmsr => match msr::read(register) {
            Some(value) => context.set_result(MR[0], value as usize),
            None => return false,
        },
        Syscall::X86DangerousWrmsr => {
            let value = context.get(MR[0]) as u64;
            // SAFETY: the benchmark that names the register is responsible for the effect.
            return unsafe { msr::write(register, value) };
        }
        _ => return false,
    }
    true
}
