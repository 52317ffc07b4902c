//! The entry stubs, and the return to user mode.
//!
//! Registers are saved directly into the current thread's context ([`Registers`]): the processor pushes its
//! part there, by the stack pointer in the task state, and the stubs store the other registers beside it.
//! Interrupts stay disabled in the kernel, so every entry starts on an empty kernel stack.
//!
//! A system call that was entered by `syscall` returns by `sysret`; [`paging::USER_TOP`] ensures that its
//! return address is canonical. All other returns use `iretq`.
//!
//! [`paging::USER_TOP`]: crate::paging::USER_TOP

use core::arch::{asm, global_asm};
use core::mem::offset_of;

use abi::Syscall;
use x86_64::VirtAddr;
use x86_64::registers::model_specific::{Efer, EferFlags, LStar, Msr, SFMask, Star};
use x86_64::registers::rflags::RFlags;

use crate::context::{Registers, entry_asm};
use crate::core_local::CoreLocal;
use crate::isolation::Isolation;
use crate::paging::{IMAGE_BASE, TABLES};
use crate::segments::{KERNEL_CODE, KERNEL_DATA, SYSRET_BASE};
use crate::trap::vectors::exception;

/// Bytes from one stub of [`escapement_stubs`] to the next.
const STUB_SIZE: usize = 16;

unsafe extern "C" {
    fn escapement_stubs();
    fn escapement_debug_stub();
    fn escapement_non_maskable_stub();
    fn escapement_fatal_stub();
    fn escapement_fatal_stub_with_error();
    fn escapement_syscall_entry();
    fn escapement_return_to_user() -> !;
}

/// The address of the stub for a vector.
pub fn stub(vector: u64) -> usize {
    let special = match vector {
        exception::DEBUG => escapement_debug_stub as *const (),
        exception::NON_MASKABLE => escapement_non_maskable_stub as *const (),
        exception::MACHINE_CHECK => escapement_fatal_stub as *const (),
        exception::DOUBLE_FAULT => escapement_fatal_stub_with_error as *const (),
        _ => return escapement_stubs as *const () as usize + vector as usize * STUB_SIZE,
    };
    special as usize
}

/// Returns to the current thread, or enters the idle loop.
///
/// # Safety
/// The core-local data is set up. The kernel's stack is abandoned, so no reference to kernel state may be
/// alive.
pub unsafe fn return_to_user() -> ! {
    // SAFETY: by contract.
    unsafe { escapement_return_to_user() }
}

/// Returns to the thread that has these registers.
///
/// # Safety
/// It is the current one; otherwise as for [`return_to_user`].
#[inline(always)]
pub unsafe fn return_to(registers: *const Registers) -> ! {
    // SAFETY: by contract.
    unsafe {
        asm!("mov rsp, {}", "jmp escapement_return_to_thread", in(reg) registers, options(noreturn))
    }
}

/// Enables `syscall` (Intel SDM vol. 3, section 6.8.8), and disables `sysenter`, which firmware may have
/// configured: without a code segment it is a general protection exception (vol. 2, SYSENTER).
///
/// # Safety
/// The core's segments are set up.
pub unsafe fn enable_system_calls() {
    /// IA32_SYSENTER_CS.
    const SYSENTER_CODE: u32 = 0x174;
    LStar::write(VirtAddr::new(escapement_syscall_entry as *const () as u64));
    // Disables interrupts, and sets the flags on which the compiler relies to a known state.
    SFMask::write(
        RFlags::INTERRUPT_FLAG
            | RFlags::TRAP_FLAG
            | RFlags::DIRECTION_FLAG
            | RFlags::ALIGNMENT_CHECK
            | RFlags::NESTED_TASK
            | RFlags::IOPL_HIGH
            | RFlags::IOPL_LOW,
    );
    // SAFETY: the selectors are those of the descriptor table; the entry is a stub for this purpose. The
    // kernel does not use `sysenter`.
    unsafe {
        Msr::new(SYSENTER_CODE).write(0);
        Star::write_raw(SYSRET_BASE as u16, KERNEL_CODE.0);
        Efer::update(|flags| flags.insert(EferFlags::SYSTEM_CALL_EXTENSIONS));
    }
}

entry_asm!(
    global_asm,
    ".pushsection .text.entry, \"ax\"",

    // Saves the general registers, but RCX and R11 only if `all` is 1: `syscall` has overwritten these.
    ".macro save_registers all",
    "mov [rsp + {RAX}], rax",
    "mov [rsp + {RBX}], rbx",
    ".if \\all",
    "mov [rsp + {RCX}], rcx",
    ".endif",
    "mov [rsp + {RDX}], rdx",
    "mov [rsp + {RSI}], rsi",
    "mov [rsp + {RDI}], rdi",
    "mov [rsp + {RBP}], rbp",
    "mov [rsp + {R8}], r8",
    "mov [rsp + {R9}], r9",
    "mov [rsp + {R10}], r10",
    ".if \\all",
    "mov [rsp + {R11}], r11",
    ".endif",
    "mov [rsp + {R12}], r12",
    "mov [rsp + {R13}], r13",
    "mov [rsp + {R14}], r14",
    "mov [rsp + {R15}], r15",
    ".endm",

    // The last steps before a return to user mode.
    ".macro leave_kernel",
    ".if {MDS}",
    "cmp byte ptr gs:[{CLEAR_BUFFERS}], 0",
    "je 5f",
    "verw [rip + escapement_any_data]",
    "5:",
    ".endif",
    "swapgs",
    ".endm",

    // One stub per vector. It makes all frames equal, by a zero in place of the error code that most
    // vectors do not have (Intel SDM vol. 3, table 7-1).
    ".balign {STUB_SIZE}",
    ".global escapement_stubs",
    "escapement_stubs:",
    ".set vector, 0",
    ".rept 256",
    ".balign {STUB_SIZE}",
    ".if vector != 8 && vector != 10 && vector != 11 && vector != 12 && vector != 13 && vector != 14 && vector != 17 && vector != 21 && vector != 29 && vector != 30",
    "push 0",
    ".endif",
    "push offset vector",
    "jmp escapement_trap_entry",
    ".set vector, vector + 1",
    ".endr",

    // From user mode the stack pointer is now at `Registers::vector` of the current thread.
    ".balign 64",
    "escapement_trap_entry:",
    "test byte ptr [rsp + {CS} - {VECTOR}], 3",
    "jz escapement_trap_from_kernel",
    "swapgs",
    // No later load uses the user's base, not even speculatively (CVE-2019-1125).
    ".if {SPECTRE}",
    "lfence",
    ".endif",
    // Copy the pushed frame from core-local data to the context, once the context is mapped.
    ".if {MELTDOWN}",
    "escapement_take_frame:",
    "mov rsp, gs:[{KERNEL_ROOT}]",
    "test rsp, rsp",
    "jz 2f",
    "mov cr3, rsp",
    "2:",
    "mov rsp, gs:[{TRAP_STACK}]",
    "push qword ptr gs:[{FRAME} + 48]",
    "push qword ptr gs:[{FRAME} + 40]",
    "push qword ptr gs:[{FRAME} + 32]",
    "push qword ptr gs:[{FRAME} + 24]",
    "push qword ptr gs:[{FRAME} + 16]",
    "push qword ptr gs:[{FRAME} + 8]",
    "push qword ptr gs:[{FRAME}]",
    ".endif",
    "sub rsp, {VECTOR}",
    "escapement_save_registers:",
    "save_registers 1",
    "mov rax, [rsp + {RIP}]",
    "mov [rsp + {RESTART}], rax",
    "mov rdi, [rsp + {VECTOR}]",
    "mov rsi, [rsp + {ERROR}]",
    "mov rsp, gs:[{STACK}]",
    // An interrupt gate does not clear the user's DF and AC.
    "push 2",
    "popfq",
    "xor ebp, ebp",
    "call escapement_trap",
    "jmp escapement_return_to_user",

    // In the kernel only the idle loop has interrupts enabled, and it has no state to save. A benchmark may
    // name model-specific registers that the processor does not have; then the access has failed, see
    // `crate::msr`. Any other exception is an error of the kernel.
    "escapement_trap_from_kernel:",
    ".if {SPECTRE}",
    "lfence",
    ".endif",
    "cmp qword ptr gs:[{LOCAL_CURRENT}], 0",
    "jne 2f",
    "mov rdi, [rsp]",
    "cmp rdi, 32",
    "jb 2f",
    "mov rsi, [rsp + 8]",
    "mov rsp, gs:[{STACK}]",
    "xor ebp, ebp",
    "call escapement_trap",
    "jmp escapement_return_to_user",
    "2:",
    "lea rdi, [rip + escapement_msr_read]",
    "cmp [rsp + 16], rdi",
    "je 3f",
    "lea rdi, [rip + escapement_msr_written]",
    "cmp [rsp + 16], rdi",
    "je 3f",
    "mov rdi, rsp",
    "and rsp, -16",
    "cld",
    "call escapement_fatal",
    "3:",
    "lea rdi, [rip + escapement_msr_missing]",
    "mov [rsp + 16], rdi",
    "add rsp, 16",
    "iretq",

    // A debug exception may occur at the first instruction of a system call, on the user's stack and
    // before `swapgs`: some processors report a single step that began in user mode only then. So it
    // has a stack of its own. In the kernel it is ignored; from user mode it is handled like any other,
    // after its frame has been moved to the place of the others.
    ".global escapement_debug_stub",
    "escapement_debug_stub:",
    "test byte ptr [rsp + 8], 3",
    "jnz 2f",
    "iretq",
    "2:",
    "swapgs",
    ".if {SPECTRE}",
    "lfence",
    ".endif",
    ".if {MELTDOWN}",
    "mov qword ptr gs:[{FRAME}], {DEBUG}",
    "mov qword ptr gs:[{FRAME} + 8], 0",
    "pop qword ptr gs:[{FRAME} + 16]",
    "pop qword ptr gs:[{FRAME} + 24]",
    "pop qword ptr gs:[{FRAME} + 32]",
    "pop qword ptr gs:[{FRAME} + 40]",
    "pop qword ptr gs:[{FRAME} + 48]",
    "jmp escapement_take_frame",
    ".else",
    "push rax",
    "push rcx",
    "mov rax, gs:[{LOCAL_CURRENT}]",
    "mov rcx, [rsp + 16]",
    "mov [rax + {RIP}], rcx",
    "mov rcx, [rsp + 32]",
    "mov [rax + {RFLAGS}], rcx",
    "mov rcx, [rsp + 40]",
    "mov [rax + {RSP}], rcx",
    "mov qword ptr [rax + {VECTOR}], {DEBUG}",
    "mov qword ptr [rax + {ERROR}], 0",
    "pop rcx",
    "pop rax",
    "mov rsp, gs:[{LOCAL_CURRENT}]",
    "jmp escapement_save_registers",
    ".endif",

    // A non-maskable interrupt may occur anywhere, so this uses neither GS nor the kernel. It is fatal
    // if the chipset reports an error of memory or a bus (bits 7 and 6 of port 0x61, NMI status and control;
    // Intel ICH10 datasheet, section 13.7.1). Others, such as those of a watchdog or of a button, are
    // ignored. Its stack is that of fatal exceptions, none of which returns.
    ".global escapement_non_maskable_stub",
    "escapement_non_maskable_stub:",
    "push rax",
    "in al, {NMI_STATUS}",
    "test al, {NMI_ERRORS}",
    "pop rax",
    // Every address space maps this stack: clear the thread's register on it.
    ".if {MELTDOWN}",
    "mov qword ptr [rsp - 8], 0",
    ".endif",
    "jnz escapement_fatal_stub",
    "iretq",

    // Machine check, and the non-maskable interrupt of an error; double fault.
    ".global escapement_fatal_stub",
    "escapement_fatal_stub:",
    "push 0",
    ".global escapement_fatal_stub_with_error",
    "escapement_fatal_stub_with_error:",
    "push -1",
    // Load the kernel's root, regardless of the current one.
    ".if {MELTDOWN}",
    "lea rax, [rip + {TABLES}]",
    "sub rax, {IMAGE_BASE}",
    "mov cr3, rax",
    ".endif",
    "mov rdi, rsp",
    "and rsp, -16",
    "cld",
    "call escapement_fatal",

    // The processor has put the return address into RCX and the flags into R11.
    ".balign 64",
    ".global escapement_syscall_entry",
    "escapement_syscall_entry:",
    "swapgs",
    "mov gs:[{USER_STACK}], rsp",
    ".if {MELTDOWN}",
    "mov rsp, gs:[{KERNEL_ROOT}]",
    "test rsp, rsp",
    "jz 2f",
    "mov cr3, rsp",
    "2:",
    ".endif",
    "mov rsp, gs:[{LOCAL_CURRENT}]",
    "mov [rsp + {RIP}], rcx",
    "sub rcx, {SYSCALL_BYTES}",
    "mov [rsp + {RESTART}], rcx",
    "mov rcx, gs:[{USER_STACK}]",
    "mov [rsp + {RSP}], rcx",
    "mov [rsp + {RFLAGS}], r11",
    "mov qword ptr [rsp + {VECTOR}], {SYSTEM_CALL}",
    "save_registers 0",
    "mov rcx, rsp",
    "mov rsp, gs:[{STACK}]",
    "cmp rdx, {CALL}",
    "je 2f",
    "cmp rdx, {REPLY_RECV}",
    "je 2f",
    "call escapement_other_system_call",
    "2:",
    "call escapement_call",

    // Return to user mode, with the context of the thread that is current now.
    ".global escapement_return_to_user",
    "escapement_return_to_user:",
    "mov rsp, gs:[{LOCAL_CURRENT}]",
    "test rsp, rsp",
    "jz 3f",
    // The stack pointer is at its registers.
    ".global escapement_return_to_thread",
    "escapement_return_to_thread:",
    "mov rax, [rsp + {RAX}]",
    "mov rbx, [rsp + {RBX}]",
    "mov rdx, [rsp + {RDX}]",
    "mov rsi, [rsp + {RSI}]",
    "mov rdi, [rsp + {RDI}]",
    "mov rbp, [rsp + {RBP}]",
    "mov r8, [rsp + {R8}]",
    "mov r9, [rsp + {R9}]",
    "mov r10, [rsp + {R10}]",
    "mov r12, [rsp + {R12}]",
    "mov r13, [rsp + {R13}]",
    "mov r14, [rsp + {R14}]",
    "mov r15, [rsp + {R15}]",
    "cmp dword ptr [rsp + {VECTOR}], {SYSTEM_CALL}",
    "jne 2f",
    "mov rcx, [rsp + {RIP}]",
    "mov r11, [rsp + {RFLAGS}]",
    "mov rsp, [rsp + {RSP}]",
    ".if {MELTDOWN}",
    "cmp qword ptr gs:[{KERNEL_ROOT}], 0",
    "je 5f",
    "mov gs:[{USER_STACK}], rsp",
    "mov rsp, gs:[{USER_ROOT}]",
    "mov cr3, rsp",
    "mov rsp, gs:[{USER_STACK}]",
    "5:",
    ".endif",
    "leave_kernel",
    "sysretq",
    "2:",
    "mov rcx, [rsp + {RCX}]",
    "mov r11, [rsp + {R11}]",
    "add rsp, {RIP}",
    ".if {MELTDOWN}",
    "cmp qword ptr gs:[{KERNEL_ROOT}], 0",
    "je 5f",
    "pop qword ptr gs:[{FRAME} + 16]",
    "pop qword ptr gs:[{FRAME} + 24]",
    "pop qword ptr gs:[{FRAME} + 32]",
    "pop qword ptr gs:[{FRAME} + 40]",
    "pop qword ptr gs:[{FRAME} + 48]",
    "mov rsp, gs:[{USER_ROOT}]",
    "mov cr3, rsp",
    "mov rsp, gs:[{RETURN_FRAME}]",
    "5:",
    ".endif",
    "leave_kernel",
    "iretq",

    // `verw` clears buffers if its operand is in memory (Intel, "Deep Dive: Microarchitectural Data
    // Sampling"); any selector of a writable data segment serves.
    ".if {MDS}",
    ".balign 2",
    "escapement_any_data: .word {KERNEL_DATA}",
    ".endif",

    // Idle: `hlt` directly after `sti` cannot miss an interrupt (Intel SDM vol. 2, STI).
    "3:",
    "mov rsp, gs:[{STACK}]",
    "4:",
    "sti",
    "hlt",
    "cli",
    "jmp 4b",
    ".popsection",
    FRAME = const CoreLocal::ISOLATION + Isolation::VECTOR,
    RETURN_FRAME = const CoreLocal::ISOLATION + Isolation::RETURN_FRAME,
    CLEAR_BUFFERS = const CoreLocal::CLEAR_BUFFERS,
    KERNEL_DATA = const KERNEL_DATA.0,
    TABLES = sym TABLES,
    IMAGE_BASE = const IMAGE_BASE as isize,
    STUB_SIZE = const STUB_SIZE,
    DEBUG = const exception::DEBUG,
    NMI_STATUS = const 0x61,
    NMI_ERRORS = const 1 << 7 | 1 << 6,
    SYSCALL_BYTES = const abi::registers::SYSCALL_BYTES,
    ERROR = const offset_of!(Registers, error),
    CALL = const Syscall::Call.number() as isize,
    REPLY_RECV = const Syscall::ReplyRecv.number() as isize,
    CS = const Registers::CS,
);
