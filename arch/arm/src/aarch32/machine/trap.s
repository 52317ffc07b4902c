@ Exceptions of user mode, and the return to it.
@
@ While a user runs, the stack pointer of supervisor mode is the address just past the return state (program
@ counter and status) in the thread's context. So the instruction `srs` stores the return state of any exception
@ there, and the general registers are stored below it. The whole kernel runs in supervisor mode, regardless of
@ the mode of the exception.
@
@ The kernel itself never takes an interrupt: the idle loop waits for one with interrupts masked. Other
@ exceptions of the kernel are fatal.
@
@ The vectors may be mapped a second time, at the address that a core requires, so they use absolute branch
@ targets.
@
@ ARM DDI 0406: sections B1.8 (exceptions), B9.3.16 (SRS), B9.3.13 (RFE).

    .section .vectors, "ax"
    .arm
    .balign 32
    .global trap_vectors
trap_vectors:
    .rept   8
    ldr     pc, [pc, #24]           @ from the table below
    .endr
    .word   trap_stray
    .word   trap_undefined
    .word   trap_syscall
    .word   trap_prefetch_abort
    .word   trap_data_abort
    .word   trap_stray
    .word   trap_interrupt
    .word   trap_stray

@ Switches to the kernel's stack.
    .macro  kernel_stack
    .if     {several_cores}
    mrc     p15, 0, sp, c13, c0, 4
    ldr     sp, [sp, #{stack}]
    .else
    ldr     sp, =stack_end
    .endif
    .endm

@ Saves the user's registers. The restart address is the return address.
    .macro  save
    srsdb   sp!, #0x13
    cps     #0x13
    stmdb   sp, {{r0-r14}}^
    ldr     r0, [sp]
    mrc     p15, 0, r1, c13, c0, 2
    str     r0, [sp, #({restart_pc} - {return_state})]
    str     r1, [sp, #({thread_local} - {return_state})]
    kernel_stack
    .endm

@ Branches to the label `KIND_in_kernel` if the exception does not come from user mode. The stack pointer of the
@ exception's mode is free.
    .macro  only_from_user kind
    mrs     sp, spsr
    tst     sp, #0xf
    bne     \kind\()_in_kernel
    .endm

@ A system call other than Call and ReplyRecv, with its registers saved; see `fastpath`.
    .global trap_other_syscall
trap_other_syscall:
    kernel_stack
    bl      trap_handle_other_syscall
    b       trap_leave

@ A Call or ReplyRecv that is not eligible for a fast path in assembly.
    .global trap_call_not_eligible
trap_call_not_eligible:
    kernel_stack
    bl      trap_handle_call

@ Returns to the user with the context at r0.
    .global trap_leave
trap_leave:
    add     sp, r0, #{return_state}
    clear_exclusive
    ldmdb   sp, {{r0-r14}}^
    rfeia   sp!

@ A system call that a fast path has completed, in kernels that check their own invariants.
    .global trap_syscall_taken
trap_syscall_taken:
    kernel_stack
    bl      trap_handle_taken
    b       trap_leave

trap_interrupt:
    sub     lr, lr, #4
    save
    bl      trap_handle_interrupt
    b       trap_leave

trap_undefined:
    only_from_user undefined
    tst     sp, #0x20               @ Thumb instructions are shorter
    subeq   lr, lr, #4
    subne   lr, lr, #2
    save
    bl      trap_handle_undefined
    b       trap_leave

trap_prefetch_abort:
    only_from_user prefetch_abort
    sub     lr, lr, #4
    save
    bl      trap_handle_prefetch_abort
    b       trap_leave

trap_data_abort:
    only_from_user data_abort
    sub     lr, lr, #8
    save
    bl      trap_handle_data_abort
    b       trap_leave

undefined_in_kernel:
    mov     r0, #0
    sub     r1, lr, #4
    b       fatal
prefetch_abort_in_kernel:
    mov     r0, #1
    sub     r1, lr, #4
    b       fatal
data_abort_in_kernel:
    mov     r0, #2
    sub     r1, lr, #8
    b       fatal
trap_stray:
    mov     r0, #3
    mov     r1, lr
fatal:
    .if     {several_cores}
    mrc     p15, 0, sp, c13, c0, 4
    ldr     sp, [sp, #{fatal_stack}]
    .else
    ldr     sp, =trap_fatal_stack + {fatal_stack_size}
    .endif
    bl      trap_handle_fatal
    .ltorg
