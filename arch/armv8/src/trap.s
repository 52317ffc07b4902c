// Exceptions of user mode, and the return to it.
//
// While a user runs, the stack pointer of level 1 is the address of the thread's context. The stubs
// store all registers there, and then switch to the kernel's stack; its address is in the core-local data
// (TPIDR_EL1).
//
// The kernel itself never takes an interrupt: the idle loop waits for one with interrupts masked. Other
// exceptions of the kernel are fatal.
//
// Arm ARM (DDI 0487): section D1.3 (exceptions), D1.3.1.5 (vectors).

    // Saves the remaining registers
    .macro  save_others
    mov     x20, sp
    mrs     x21, elr_el1
    mrs     x22, spsr_el1
    mrs     x23, sp_el0
    mrs     x24, tpidr_el0
    mrs     x25, tpidr_el1
    stp     x30, x23, [x20, #16 * 15]
    stp     x21, x22, [x20, #{next_pc}]
    stp     x21, x24, [x20, #{restart_pc}]
    ldr     x25, [x25, #{stack}]
    mov     sp, x25
    .endm

    .macro  save
    save_general
    save_others
    .endm

    // One of the sixteen vectors
    .macro  vector target
    .balign 0x80
    b       \target
    .endm

    .section .vectors, "ax"
    .balign 0x800
    .global trap_vectors
trap_vectors:
    // From level 1 with the stack pointer of level 0: never used
    vector  stray
    vector  stray
    vector  stray
    vector  stray
    // From the kernel
    vector  kernel_synchronous
    vector  stray
    vector  stray
    vector  stray
    // From users
    vector  trap_synchronous
    vector  user_interrupt
    vector  stray
    vector  user_error
    // From users in AArch32: never used
    vector  stray
    vector  stray
    vector  stray
    vector  stray

    .text
// A system call other than Call and ReplyRecv, with its registers saved; see `fastpath`.
    .global trap_other_syscall
trap_other_syscall:
    mrs     x25, tpidr_el1
    ldr     x25, [x25, #{stack}]
    mov     sp, x25
    bl      trap_handle_other_syscall
    b       trap_leave

// A Call or ReplyRecv that is not eligible for a fast path in assembly.
    .global trap_call_not_eligible
trap_call_not_eligible:
    mrs     x25, tpidr_el1
    ldr     x25, [x25, #{stack}]
    mov     sp, x25
    bl      trap_handle_call

// Returns to the user with the context at x0.
    .global trap_leave
trap_leave:
    mov     sp, x0
    return_to_user {next_pc}

// A system call that a fast path has completed, in kernels that check their own invariants.
    .global trap_syscall_taken
trap_syscall_taken:
    mrs     x25, tpidr_el1
    ldr     x25, [x25, #{stack}]
    mov     sp, x25
    bl      trap_handle_taken
    b       trap_leave

// Any other exception of a user, with the general registers saved.
    .global trap_exception
trap_exception:
    save_others
    bl      trap_handle_exception
    b       trap_leave

user_interrupt:
    save
    bl      trap_handle_interrupt
    b       trap_leave

user_error:
    save
    bl      trap_handle_error
    b       trap_leave

// An exception of the kernel itself; its stack may have caused it.
kernel_synchronous:
    mov     x0, #0
    b       fatal
stray:
    mov     x0, #1
fatal:
    mrs     x1, tpidr_el1
    ldr     x1, [x1, #{fatal_stack}]
    mov     sp, x1
    bl      trap_handle_fatal

    .purgem save_general
    .purgem return_to_user
