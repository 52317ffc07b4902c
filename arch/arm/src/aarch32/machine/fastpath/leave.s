    .fpu    vfpv2
@ The thread r9, with its registers below r8, runs on the scheduling context r7, which the current thread
@ donates or returns. r1 describes the message, r0 is the badge, and lr is zero.
7:  .if     {CORES} > 1
    mrc     p15, 0, r6, c13, c0, 4
    sub     r10, r8, #{RETURN_STATE}
    str     r10, [r6, #{LOCAL_CURRENT}]
    .endif
    str     lr, [sp, #{SCHED_CONTEXT}]
    str     r7, [r8, #{SCHED_CONTEXT}]
    str     r9, [r7, #{CONTEXT_THREAD}]
    str     r9, [r12, #{KERNEL_CURRENT}]

@ The message: only as many registers as it has words.
    bic     r1, r1, #{CAPS_AND_UNWRAPPED}
    strd    r0, r1, [r8, #{R0}]
    lsls    r6, r1, #25
    beq     2f
    str     r2, [r8, #({R0} + 8)]
    cmp     r6, #(2 << 25)
    strhs   r3, [r8, #({R0} + 12)]
    cmp     r6, #(3 << 25)
    strhs   r4, [r8, #({R0} + 16)]
    cmp     r6, #(4 << 25)
    strhs   r5, [r8, #({R0} + 20)]

@ Switch the address space by way of the kernel's own directory, so that no TLB entry of one address space is
@ tagged with the ASID of the other (ARM DDI 0406, section B3.10.4). The first barrier is for the Cortex-A9's
@ erratum 754322.
2:  ldrd    r2, r3, [r8, #({SPACE} + 8)]
    ldr     r0, [r12, #{WALKED}]
    teq     r0, r2
    beq     3f
    ldr     r0, [r12, #{KERNEL_SPACE}]
    str     r2, [r12, #{WALKED}]
    str     r3, [r12, #({WALKED} + 4)]
    mcr     p15, 0, r0, c2, c0, 0
    .if     {ARMV6}
    mcr     p15, 0, lr, c7, c10, 4
    mcr     p15, 0, lr, c7, c5, 4
    mcr     p15, 0, r3, c13, c0, 1
    mcr     p15, 0, lr, c7, c5, 4
    mcr     p15, 0, r2, c2, c0, 0
    mcr     p15, 0, lr, c7, c5, 6   @ branch predictions are shared
    mcr     p15, 0, lr, c7, c5, 4
    .else
    dsb
    isb
    mcr     p15, 0, r3, c13, c0, 1
    isb
    mcr     p15, 0, r2, c2, c0, 0
    isb
    .endif

@ Enable the floating-point unit only for the owner of its registers. Mostly it is and stays disabled.
3:  ldr     r0, [r12, #{FPU_OWNER}]
    ldrb    r1, [r12, #{FPU_ENABLED}]
    teq     r0, r9
    teqne   r1, #1
    beq     5f
@ Load the thread-local registers and return.
2:  ldr     r0, [r8, #{THREAD_LOCAL}]
    ldr     r1, [r8, #{THREAD_LOCAL_READ_ONLY}]
    mcr     p15, 0, r0, c13, c0, 2
    mcr     p15, 0, r1, c13, c0, 3
    .if     {USER_TIMER}
@ Only its owner may access the user timer: bit 9 in addition to the rights of all threads, which are 3.
    ldr     r0, [r12, #{TIMER_OWNER}]
    ldrb    r1, [r12, #{TIMER_OPEN}]
    teq     r0, r9
    moveq   r0, #1
    movne   r0, #0
    teq     r0, r1
    strbne  r0, [r12, #{TIMER_OPEN}]
    lslne   r0, r0, #9
    orrne   r0, r0, #3
    mcrne   p15, 0, r0, c14, c1, 0
    .endif
    .if     {CHECKED}
    b       trap_syscall_taken
    .else
    .if     {CORES} > 1
@ Release the entry lock: what follows uses only core-local data.
    ldr     r0, [r12, #{LOCK_STATE}]
    mov     r1, #{UNLOCKED}
    dmb     ish
    str     r1, [r0]
    .endif
    mov     sp, r8
    .if     {ARMV6}
    ldr     r0, [sp]
    strex   r1, r0, [sp]
    .else
    clrex
    .endif
    ldmdb   sp, {{r0-r14}}^
    rfeia   sp!
    .endif
5:  teq     r0, r9
    moveq   r0, #1
    movne   r0, #0
    strb    r0, [r12, #{FPU_ENABLED}]
    lsl     r0, r0, #30
    vmsr    fpexc, r0
    .if     {ARMV6}
    mcr     p15, 0, lr, c7, c5, 4
    .else
    isb
    .endif
    b       2b
    .ltorg
    .purgem find
    .purgem require_next
    .purgem require_known
    .purgem require_server
    .purgem require_caller
    .purgem own_queue
