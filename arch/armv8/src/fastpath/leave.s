// The thread x19, with its context at x20, runs on the scheduling context x24, which the current thread
// donates or returns. x1 describes the message, and x0 is the badge.
7:  .if     {CORES} > 1
    mrs     x12, tpidr_el1
    str     x20, [x12, #{LOCAL_CURRENT}]
    .endif
    str     xzr, [sp, #{SCHED_CONTEXT}]
    str     x24, [x20, #{SCHED_CONTEXT}]
    str     x19, [x24, #{CONTEXT_THREAD}]
    str     x19, [x28, #{KERNEL_CURRENT}]

// The message: only as many registers as it has words.
    and     x1, x1, #~{CAPS_AND_UNWRAPPED}
    stp     x0, x1, [x20]
    ands    w12, w1, #{LENGTH}
    b.eq    2f
    str     x2, [x20, #16]
    cmp     w12, #2
    b.lo    2f
    str     x3, [x20, #24]
    cmp     w12, #3
    b.lo    2f
    str     x4, [x20, #32]
    b.eq    2f
    str     x5, [x20, #40]

// Switch the address space: ASID and root change in one write (Arm ARM, section D8.14.1).
2:  ldr     x12, [x28, #{WALK}]
    cmp     x12, x23
    b.eq    3f
    str     x23, [x28, #{WALK}]
    msr     ttbr0_el1, x23
    isb

// Enable the floating-point unit only for the owner of its registers.
3:  ldr     x12, [x28, #{FPU_OWNER}]
    ldrb    w13, [x28, #{FPU_ENABLED}]
    cmp     x12, x19
    cset    w12, eq
    cmp     w12, w13
    b.eq    2f
    strb    w12, [x28, #{FPU_ENABLED}]
    lsl     w12, w12, #{FPEN_SHIFT}
    orr     w12, w12, w12, lsl #1
    msr     cpacr_el1, x12
    isb

// Load the thread-local registers and return.
2:  ldp     x12, x13, [x20, #{THREAD_LOCAL}]
    msr     tpidr_el0, x12
    msr     tpidrro_el0, x13
    .if     {USER_TIMER}
// Only its owner may access the user timer: bit 9 in addition to the rights of all threads, which are 3.
    ldr     x12, [x28, #{TIMER_OWNER}]
    ldrb    w13, [x28, #{TIMER_OPEN}]
    cmp     x12, x19
    cset    w12, eq
    cmp     w12, w13
    b.eq    4f
    strb    w12, [x28, #{TIMER_OPEN}]
    lsl     w12, w12, #9
    orr     w12, w12, #3
    msr     cntkctl_el1, x12
4:
    .endif
    .if     {CHECKED}
    b       trap_syscall_taken
    .else
    .if     {CORES} > 1
// Release the entry lock: what follows uses only core-local data.
    ldr     x12, [x28, #{LOCK_STATE}]
    mov     w13, #{UNLOCKED}
    stlr    x13, [x12]
    .endif
    mov     sp, x20
    return_to_user {NEXT_PC}
    .endif
    .purgem find
    .purgem require_next
    .purgem require_known
    .purgem save_general
    .purgem return_to_user
