//! x86-64: the instructions.

use super::Registers;
use core::arch::asm;

/// Enters the kernel. Roles of the registers: abi::registers. The kernel need not keep rsp (seL4's
/// does not), so it waits in rbx, which inline assembly may not name.
#[inline(always)]
pub fn syscall(call: abi::Syscall, registers: &mut Registers) {
    // SAFETY: the kernel changes the registers listed and, in memory, nothing but the IPC buffer,
    // which Rust code reaches through volatile accesses only.
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

/// A system call that no kernel knows: the fault that it raises carries `number` and `argument`.
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

/// Address of this thread's IPC buffer: FS points at it, and its first word holds its own address,
/// because FS itself cannot be read.
#[inline(always)]
pub fn ipc_buffer_address() -> usize {
    let address;
    // SAFETY: the runtime sets FS before any other code runs.
    unsafe {
        asm!("mov {}, fs:[0]", out(reg) address, options(nostack, preserves_flags, readonly));
    }
    address
}

/// Makes `address` this thread's IPC buffer.
///
/// # Safety
/// It is the address of the buffer that the kernel knows, mapped for good.
pub unsafe fn set_ipc_buffer_address(address: usize) {
    // SAFETY: by contract.
    unsafe { crate::syscall::set_tls_base(address) };
    // SAFETY: by contract; the word is the `tag`, which the kernel never touches.
    unsafe { (address as *mut usize).write_volatile(address) };
}

/// Tells the processor that this is a waiting loop.
#[inline(always)]
pub fn relax() {
    core::hint::spin_loop();
}

/// Reads the time stamp counter.
#[inline(always)]
pub fn time_stamp() -> u64 {
    // SAFETY: every x86-64 processor has the instruction, and the kernel leaves it to users.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Assembly of the root task's entry point: the kernel gives the boot information's address in rdi
/// and no stack.
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
