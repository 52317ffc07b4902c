//! 32-bit Arm: instructions.

use super::Registers;
use core::arch::asm;

/// Enters the kernel. Roles of the registers: abi::registers. Inline assembly cannot use r6 as an operand, so
/// the reply capability is moved there explicitly.
#[inline(always)]
pub fn syscall(call: abi::Syscall, registers: &mut Registers) {
    // SAFETY: the kernel changes only the listed registers and, in memory, the IPC buffer, which Rust code
    // accesses with volatile operations only.
    unsafe {
        asm!(
            "mov {saved}, r6",
            "mov r6, {reply}",
            "svc #0",
            "mov r6, {saved}",
            saved = out(reg) _,
            reply = in(reg) registers.reply,
            in("r7") call.number(),
            inout("r0") registers.cap,
            inout("r1") registers.info,
            inout("r2") registers.words[0],
            inout("r3") registers.words[1],
            inout("r4") registers.words[2],
            inout("r5") registers.words[3],
            in("r8") registers.destination,
        );
    }
}

/// A system call that no kernel implements: its fault message contains `number` and `argument`.
pub fn unknown_syscall(number: usize, argument: usize) {
    // SAFETY: as for `syscall`.
    unsafe {
        asm!("svc #0", in("r7") number, inout("r0") argument => _);
    }
}

/// Address of this thread's IPC buffer, from TPIDRURW, which users may write.
#[inline(always)]
pub fn ipc_buffer_address() -> usize {
    let address;
    // SAFETY: reads a register.
    unsafe {
        asm!("mrc p15, 0, {}, c13, c0, 2", out(reg) address, options(nomem, nostack, preserves_flags));
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
        asm!("mcr p15, 0, {}, c13, c0, 2", in(reg) address, options(nostack, preserves_flags));
    }
}

/// Orders all accesses to devices and memory before it with all after it.
#[inline(always)]
pub fn device_barrier() {
    // SAFETY: a barrier, for the whole system, since devices are outside of the shareable domains. ARMv6 has it as
    // an operation of the system-control coprocessor that users may perform (ARM1136 TRM, section 3.2.26).
    unsafe {
        #[cfg(target_feature = "v7")]
        asm!("dsb sy", options(nostack, preserves_flags));
        #[cfg(not(target_feature = "v7"))]
        asm!("mcr p15, 0, {}, c7, c10, 4", in(reg) 0, options(nostack, preserves_flags));
    }
}

/// A hint to the processor in a busy-waiting loop.
#[inline(always)]
pub fn relax() {
    core::hint::spin_loop();
}

/// The counter of the generic timer, which all cores share.
#[cfg(target_feature = "v7")]
#[inline(always)]
pub fn timer_count() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: reads a register that the kernel makes accessible to users; the barrier prevents a speculative
    // early read.
    unsafe {
        asm!("isb", "mrrc p15, 1, {}, {}, c14", out(reg) low, out(reg) high, options(nostack, preserves_flags));
    }
    u64::from(high) << 32 | u64::from(low)
}

/// Frequency of the counter in hertz.
#[cfg(target_feature = "v7")]
#[inline(always)]
pub fn timer_frequency() -> u64 {
    let frequency: u32;
    // SAFETY: reads a register that the kernel makes accessible to users.
    unsafe {
        asm!("mrc p15, 0, {}, c14, c0, 0", out(reg) frequency, options(nomem, nostack, preserves_flags));
    }
    frequency.into()
}

/// Programs the core's physical timer to raise its interrupt after so many counts, or never. Raises an
/// exception without the ABI's option `user-timer`.
#[cfg(target_feature = "v7")]
#[inline(always)]
pub fn set_physical_timer(counts: Option<u64>) {
    let (count, control) = match counts {
        Some(counts) => (timer_count() + counts, 1_u32),
        None => (u64::MAX, 0),
    };
    // SAFETY: the kernel does not use this timer.
    unsafe {
        asm!(
            "mcrr p15, 2, {}, {}, c14",
            "mcr p15, 0, {}, c14, c2, 1",
            "isb",
            in(reg) count as u32,
            in(reg) (count >> 32) as u32,
            in(reg) control,
            options(nostack, preserves_flags)
        );
    }
}

/// Assembly of the root task's entry point: the kernel passes the boot information's address in r0 and no
/// stack.
#[doc(hidden)]
#[macro_export]
macro_rules! _root_start {
    () => {
        "ldr sp, 1f
         mov r11, #0
         bl {main}
         udf #0
         1: .word {stack} + {size}"
    };
}

/// Assembly of a component's entry point: first argument in r0, stack in sp.
#[doc(hidden)]
#[macro_export]
macro_rules! _component_start {
    () => {
        "bic sp, sp, #7
         mov r11, #0
         bl {main}
         udf #0"
    };
}
