//! System calls that only kernels of kind `bench` have.

use abi::Syscall;
use abi::registers::{CAP, MR};
use core::arch::asm;
use kernel::Kernel;
use kernel::arch::UserContext;
use x86_64::registers::model_specific::Msr;

use crate::{Platform, X86_64};

/// Handles one. Returns whether it did; otherwise it is unknown.
pub fn handle<P: Platform>(kernel: &mut Kernel<X86_64<P>>, call: Syscall) -> bool {
    let Some(thread) = kernel.core.current else {
        return false;
    };
    if !cfg!(feature = "bench") {
        return false;
    }
    let context = &mut kernel.objects[thread].context;
    let mut msr = Msr::new(context.get(CAP) as u32);
    match call {
        // SAFETY: writing caches back changes nothing but time.
        Syscall::BenchmarkFlushCaches => unsafe {
            asm!("wbinvd", options(nostack, preserves_flags))
        },
        Syscall::X86DangerousRdmsr => {
            // SAFETY: whoever benchmarks answers for the register.
            let value = unsafe { msr.read() };
            context.set_result(MR[0], value as usize);
        }
        // SAFETY: as above.
        Syscall::X86DangerousWrmsr => unsafe { msr.write(context.get(MR[0]) as u64) },
        _ => return false,
    }
    true
}
