@ A system call, from supervisor mode's vector on; see `trap.s` for where the stack pointer is. All
@ registers go into the thread's context, so that whoever declines has nothing to undo. From then on sp
@ points into the context of the current thread and r8 into that of the next one, both behind the general
@ registers; r12 points at the core's part of the kernel. r2 to r5 keep the message.

    srsdb   sp!, #0x13
    stmdb   sp, {{r0-r14}}^
    sub     lr, lr, #{SYSCALL_BYTES}
    str     lr, [sp, #{RESTART_PC}]
    mrc     p15, 0, lr, c13, c0, 2
    str     lr, [sp, #{THREAD_LOCAL}]
    .if     {DOMAINS} > 1 || {BIG_LOCK}
    b       9f
    .endif

    cmn     r7, #{CALL_NEGATED}
    beq     6f
    cmn     r7, #{REPLY_RECV_NEGATED}
    beq     4f

@ Everything else is the portable kernel's; so is what declines, with nothing changed.
9:  b       trap_syscall_declined

@ Where the next thread, of priority r6, does not have the current one's, r7: the timer must be right for
@ it. If it is less urgent, nobody may be ready who is more urgent, or due. Returns to lr.
8:  add     r6, r6, #1
    ldrh    r7, [r12, #{ALARM_LOWEST}]
    cmp     r6, r7
    blo     9b
    ldrh    r7, [r12, #{ALARM_END}]
    cmp     r6, r7
    bhs     9b
    ldrb    r7, [sp, #{PRIORITY}]
    cmp     r6, r7
    bxhi    lr
    ldrd    r6, r7, [r12, #{ALARM_TIME}]
    ldr     r9, [r12, #{NOW}]
    cmp     r9, r6
    ldr     r9, [r12, #({NOW} + 4)]
    sbcs    r9, r9, r7
    sub     r9, r8, #{BASE}
    bhs     9b
    ldr     r6, [r12, #{READY_SUMMARY}]
    clz     r6, r6
    rsbs    r6, r6, #31             @ the highest word that has bits
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
