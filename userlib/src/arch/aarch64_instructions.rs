//! 64-bit Arm: instructions.

use super::Registers;
use core::arch::asm;

/// Enters the kernel. Roles of the registers: abi::registers.
#[inline(always)]
pub fn syscall(call: abi::Syscall, registers: &mut Registers) {
    // SAFETY: the kernel changes only the listed registers and, in memory, the IPC buffer, which Rust code
    // accesses with volatile operations only.
    unsafe {
        asm!(
            "svc #0",
            in("x7") call.number(),
            inout("x0") registers.cap,
            inout("x1") registers.info,
            inout("x2") registers.words[0],
            inout("x3") registers.words[1],
            inout("x4") registers.words[2],
            inout("x5") registers.words[3],
            in("x6") registers.reply,
            in("x8") registers.destination,
        );
    }
}

/// A system call that no kernel implements: its fault message contains `number` and `argument`.
pub fn unknown_syscall(number: usize, argument: usize) {
    // SAFETY: as for `syscall`.
    unsafe {
        asm!("svc #0", in("x7") number, inout("x0") argument => _);
    }
}

/// Address of this thread's IPC buffer, from TPIDR_EL0, which users may write.
#[inline(always)]
pub fn ipc_buffer_address() -> usize {
    let address;
    // SAFETY: reads a register.
    unsafe {
        asm!("mrs {}, tpidr_el0", out(reg) address, options(nomem, nostack, preserves_flags));
    }
    address
}

/// Sets this thread's IPC buffer.
///
/// # Safety
/// `address` is the address of the buffer registered with the kernel, which stays mapped.
pub unsafe fn set_ipc_buffer_address(address: usize) {
    // SAFETY: by contract; the register belongs to the thread.
    unsafe {
        asm!("msr tpidr_el0, {}", in(reg) address, options(nostack, preserves_flags));
    }
}

/// Orders all accesses to devices and memory before it with all after it.
#[inline(always)]
pub fn device_barrier() {
    // SAFETY: a barrier. It is one for the whole system, since devices are outside of the shareable domains.
    unsafe {
        asm!("dsb sy", options(nostack, preserves_flags));
    }
}

/// A hint to the processor in a busy-waiting loop.
#[inline(always)]
pub fn relax() {
    // The library uses a barrier (`isb`), at which emulators do not switch to another core.
    // SAFETY: a hint.
    unsafe {
        asm!("yield", options(nomem, nostack, preserves_flags));
    }
}

/// The counter of the generic timer, which all cores share.
#[inline(always)]
pub fn timer_count() -> u64 {
    let count;
    // SAFETY: reads a register that the kernel makes accessible to users; the barrier prevents a speculative
    // early read.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", out(reg) count, options(nostack, preserves_flags));
    }
    count
}

/// Frequency of the counter in hertz.
#[inline(always)]
pub fn timer_frequency() -> u64 {
    let frequency;
    // SAFETY: reads a register that the kernel makes accessible to users.
    unsafe {
        asm!("mrs {}, cntfrq_el0", out(reg) frequency, options(nomem, nostack, preserves_flags));
    }
    frequency
}

/// Programs the core's physical timer to raise its interrupt after so many counts, or never. Raises an
/// exception without the ABI's option `user-timer`.
#[inline(always)]
pub fn set_physical_timer(counts: Option<u64>) {
    let (count, control) = match counts {
        Some(counts) => (timer_count() + counts, 1_u64),
        None => (u64::MAX, 0),
    };
    // SAFETY: the kernel does not use this timer.
    unsafe {
        asm!(
            "msr cntp_cval_el0, {}",
            "msr cntp_ctl_el0, {}",
            "isb",
            in(reg) count,
            in(reg) control,
            options(nostack, preserves_flags)
        );
    }
}

/// Assembly of the root task's entry point: the kernel passes the boot information's address in x0 and no
/// stack.
#[doc(hidden)]
#[macro_export]
macro_rules! _root_start {
    () => {
        "adrp x9, {stack} + {size}
         add x9, x9, :lo12:{stack} + {size}
         mov sp, x9
         mov x29, #0
         bl {main}
         udf #0"
    };
}

/// Assembly of a component's entry point: first argument in x0, stack in sp.
#[doc(hidden)]
#[macro_export]
macro_rules! _component_start {
    () => {
        "mov x9, sp
         and sp, x9, #~15
         mov x29, #0
         bl {main}
         udf #0"
    };
}
