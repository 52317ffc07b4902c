@ The vector of system calls, in supervisor mode; see `trap.s` for the stack pointer. All registers are saved
@ into the thread's context first, so that an exit to the slow path has nothing to undo. Then sp points into the
@ context of the current thread and r8 into that of the next one, both just past the general registers; r12
@ points to the core's part of the kernel. r2 to r5 keep the message.

    srsdb   sp!, #0x13
    stmdb   sp, {{r0-r14}}^
    sub     lr, lr, #{SYSCALL_BYTES}
    str     lr, [sp, #{RESTART_PC}]
    mrc     p15, 0, lr, c13, c0, 2
    str     lr, [sp, #{THREAD_LOCAL}]
    cmn     r7, #{CALL_NEGATED}
    .if     {DOMAINS} > 1 || {BIG_LOCK}
    beq     9f
    .endif
    beq     6f
    cmn     r7, #{REPLY_RECV_NEGATED}
    .if     {DOMAINS} > 1 || {BIG_LOCK}
    beq     9f
    .endif
    beq     4f

@ All other system calls go to the portable kernel, as do entries that are not eligible; nothing has changed.
    b       trap_other_syscall
9:  b       trap_call_not_eligible

@ Called if the next thread's priority, r6, differs from the current one's, r7. Not eligible if the timer
@ deadline does not cover r6, or if r6 is lower and the deadline has passed or a higher-priority thread is
@ ready. Returns to lr.
8:  add     r6, r6, #1
    ldrh    r7, [r12, #{DEADLINE_LOWEST}]
    cmp     r6, r7
    blo     9b
    ldrh    r7, [r12, #{DEADLINE_END}]
    cmp     r6, r7
    bhs     9b
    ldrb    r7, [sp, #{PRIORITY}]
    cmp     r6, r7
    bxhi    lr
    ldrd    r6, r7, [r12, #{DEADLINE_TIME}]
    ldr     r9, [r12, #{NOW}]
    cmp     r9, r6
    ldr     r9, [r12, #({NOW} + 4)]
    sbcs    r9, r9, r7
    sub     r9, r8, #{BASE}
    bhs     9b
    ldr     r6, [r12, #{READY_SUMMARY}]
    clz     r6, r6
    rsbs    r6, r6, #31             @ the highest word with a bit set
    bxmi    lr
    add     r7, r12, #{READY_WORDS}
    ldr     r7, [r7, r6, lsl #2]
    clz     r7, r7
    rsb     r7, r7, #31
    add     r6, r7, r6, lsl #5
    ldrb    r7, [r8, #{PRIORITY}]
    cmp     r6, r7
    bhi     9b
    bx      lr
