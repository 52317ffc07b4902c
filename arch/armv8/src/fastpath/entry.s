// An exception of a user. The stack pointer is at the thread's context (see `trap.s`). All registers are
// saved there first, so that an exit to the slow path has nothing to undo. Then x20 points to the context
// of the next thread, and x28 to the kernel; x2 to x5 keep the message.

    save_general
    mrs     x8, esr_el1
    lsr     x8, x8, #26
    cmp     x8, #{SYSTEM_CALL}
    b.ne    trap_exception
    mrs     x8, elr_el1
    mrs     x9, spsr_el1
    mrs     x10, sp_el0
    mrs     x11, tpidr_el0
    sub     x12, x8, #{SYSCALL_BYTES}
    stp     x30, x10, [sp, #16 * 15]
    stp     x8, x9, [sp, #{NEXT_PC}]
    stp     x12, x11, [sp, #{RESTART_PC}]
    cmn     x7, #{CALL_NEGATED}
    .if     {DOMAINS} > 1 || {BIG_LOCK}
    b.eq    9f
    .endif
    b.eq    6f
    cmn     x7, #{REPLY_RECV_NEGATED}
    .if     {DOMAINS} > 1 || {BIG_LOCK}
    b.eq    9f
    .endif
    b.eq    4f

// All other system calls go to the portable kernel, as do entries that are not eligible; nothing has changed.
    b       trap_other_syscall
9:  b       trap_call_not_eligible

// Called if the next thread's priority, w13, differs from the current one's, w14. Not eligible if the timer
// deadline does not cover w13, or if w13 is lower and the deadline has passed or a higher-priority thread is
// ready.
8:  add     w15, w13, #1
    ldrh    w16, [x28, #{DEADLINE_LOWEST}]
    ldrh    w17, [x28, #{DEADLINE_END}]
    cmp     w15, w16
    b.lo    9b
    cmp     w15, w17
    b.hs    9b
    cmp     w13, w14
    b.hi    2f
    ldr     x15, [x28, #{NOW}]
    ldr     x16, [x28, #{DEADLINE_TIME}]
    cmp     x15, x16
    b.hs    9b
    ldr     x15, [x28, #{READY_SUMMARY}]
    cbz     x15, 2f
    clz     x15, x15
    eor     x15, x15, #63           // the highest word with a bit set
    add     x16, x28, #{READY_WORDS}
    ldr     x16, [x16, x15, lsl #3]
    clz     x16, x16
    eor     x16, x16, #63
    add     w16, w16, w15, lsl #6
    cmp     w16, w13
    b.hi    9b
2:  ret
