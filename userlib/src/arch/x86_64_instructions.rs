//! x86-64: instructions.

use super::Registers;
use core::arch::asm;

/// Enters the kernel. Roles of the registers: abi::registers. The kernel need not preserve rsp (seL4 does
/// not), so rbx holds it, which inline assembly cannot use as an operand.
#[inline(always)]
pub fn syscall(call: abi::Syscall, registers: &mut Registers) {
    // SAFETY: the kernel changes only the listed registers and, in memory, the IPC buffer, which Rust code
    // accesses with volatile operations only.
    unsafe {
        asm!(
            "mov {saved}, rbx",
            "mov rbx, rsp",
            "syscall",
            "mov rsp, rbx",
            "mov rbx, {saved}",
            saved = out(reg) _,
            in("rdx") call.number(),
            inout("rdi") registers.cap,
            inout("rsi") registers.info,
            inout("r10") registers.words[0],
            inout("r8") registers.words[1],
            inout("r9") registers.words[2],
            inout("r15") registers.words[3],
            in("r12") registers.reply,
            in("r13") registers.destination,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
}

/// A system call that no kernel implements: its fault message contains `number` and `argument`.
pub fn unknown_syscall(number: usize, argument: usize) {
    // SAFETY: as for `syscall`.
    unsafe {
        asm!(
            "mov {saved}, rbx",
            "mov rbx, rsp",
            "syscall",
            "mov rsp, rbx",
            "mov rbx, {saved}",
            saved = out(reg) _,
            in("rdx") number,
            inout("rdi") argument => _,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
}

/// Address of this thread's IPC buffer. FS points at it; its first word holds its own address, because user
/// code cannot read FS itself.
#[inline(always)]
pub fn ipc_buffer_address() -> usize {
    let address;
    // SAFETY: the runtime sets FS before any other code runs.
    unsafe {
        asm!("mov {}, fs:[0]", out(reg) address, options(nostack, preserves_flags, readonly));
    }
    address
}

/// Sets this thread's IPC buffer.
///
/// # Safety
/// `address` is the address of the buffer registered with the kernel, which stays mapped.
pub unsafe fn set_ipc_buffer_address(address: usize) {
    // SAFETY: by contract.
    unsafe { crate::syscall::set_tls_base(address) };
    // SAFETY: by contract; the word is the `tag`, which the kernel never accesses.
    unsafe { (address as *mut usize).write_volatile(address) };
}

/// Orders all accesses to devices and memory before it with all after it.
#[inline(always)]
pub fn device_barrier() {
    // SAFETY: a barrier, also for write-combining memory.
    unsafe {
        asm!("mfence", options(nostack, preserves_flags));
    }
}

/// A hint to the processor in a busy-waiting loop.
#[inline(always)]
pub fn relax() {
    core::hint::spin_loop();
}

/// Reads the time stamp counter.
#[inline(always)]
pub fn time_stamp() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and the kernel permits it for users.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Assembly of the root task's entry point: the kernel passes the boot information's address in rdi and no
/// stack.
#[doc(hidden)]
#[macro_export]
macro_rules! _root_start {
    () => {
        "lea rsp, [rip + {stack} + {size}]
         xor ebp, ebp
         call {main}
         ud2"
    };
}

/// Assembly of a component's entry point: first argument in rdi, stack in rsp.
#[doc(hidden)]
#[macro_export]
macro_rules! _component_start {
    () => {
        "and rsp, -16
         xor ebp, ebp
         call {main}
         ud2"
    };
}
