@ Call. The first word of the capability to r10, the second to r11.
6:  find
    ldrd    r10, r11, [lr, #-{CNODE}]
    and     lr, r10, #{KIND_MASK}
    teq     lr, #{ENDPOINT}
    bne     9b
    tst     r11, #{WRITE}
    tstne   r11, #{MAY_REPLY}
    beq     9b
    bic     r0, r11, #{RIGHTS}      @ the badge

@ Eligible if a single receiver waits. r9 is the server, r10 the endpoint with its kind. Threads in this queue
@ are blocked on receive. If this core owns the endpoint, it also owns the server and all its objects.
    ldr     r8, [r10, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    .if     {CORES} > 1
    ldr     r9, [r12, #{CORE_RECEIVING}]
    eor     r9, r9, r8
    lsls    lr, r9, #{HANDLE_SHIFT}
    bne     5f
    .else
    and     lr, r8, #{ENDPOINT_STATE_MASK}
    teq     lr, #{ENDPOINT_RECEIVING}
    bne     5f
    sub     r9, r8, #{ENDPOINT_RECEIVING}
    .endif
    require_server

@ No exit to the slow path from here on. The server no longer waits; the caller, r6, waits for the reply.
    sub     r6, sp, #{BASE}
    mov     lr, #0
    .if     {CORES} > 1
    ldr     r7, [r12, #{CORE_BITS}]
    str     r7, [r10, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    orr     r6, r6, r7
    .else
    str     lr, [r10, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    .endif
1:  str     lr, [r8, #{NEXT}]
    str     lr, [r8, #{PREVIOUS}]
    strb    lr, [r8, #{MEMBERSHIP}]
    .if     {RUNNING}
    .error  "the state of running threads must be zero"
    .endif
    str     lr, [r8, #{STATE}]      @ running
    str     r6, [r11, #{REPLY_THREAD}]
    mov     r7, #{BLOCKED_ON_REPLY}
    str     r7, [sp, #{STATE}]
    str     r11, [sp, #{CALLS_WITH}]

@ The reply object becomes the top of the call chain of the scheduling context, r7, which is donated.
    ldr     r7, [r12, #{CURRENT_CONTEXT}]
    mov     r6, #{ABOVE_CONTEXT}
    ldr     r10, [r7, #{CONTEXT_REPLY}]
    str     r11, [r7, #{CONTEXT_REPLY}]
    str     r10, [r11, #{REPLY_BELOW}]
    strd    r6, r7, [r11, #{REPLY_ABOVE}]
    cmp     r10, #0
    beq     7f
    mov     r6, #{ABOVE_REPLY}
    str     r6, [r10, #{REPLY_ABOVE}]
    str     r11, [r10, #{REPLY_ABOVE_WHICH}]
    b       7f

@ A receiver behind a threshold: the caller must have the budget, and the budget check threshold shows how much
@ is left beyond the smallest budget. A threshold with flags exceeds all budgets.
5:  .if     {COUNTER} == 0
    b       9b
    .else
    .if     {CORES} > 1
    teq     lr, #({HAS_THRESHOLD} << {HANDLE_SHIFT})
    .else
    teq     lr, #({ENDPOINT_RECEIVING} + {HAS_THRESHOLD})
    .endif
    bne     9b
    .if     {COUNTER} == 1
    isb
    mrrc    p15, 1, r6, r7, c14     @ the virtual counter
    .else
    ldr     lr, [r12, #{COUNTER_AT}]
2:  ldr     r7, [lr, #4]
    ldr     r6, [lr]
    ldr     r8, [lr, #4]
    teq     r7, r8
    bne     2b
    .endif
    ldrd    r8, r9, [r12, #{NOW}]
    subs    r6, r6, r8
    sbc     r7, r7, r9
    ldrd    r8, r9, [r12, #{CONSUMED}]
    adds    r6, r6, r8
    adc     r7, r7, r9
    ldrd    r8, r9, [r10, #({ENDPOINT_THRESHOLD} - {ENDPOINT})]
    adds    r6, r6, r8
    adc     r7, r7, r9
    ldrd    r8, r9, [r12, #{CHECK_THRESHOLD}]
    cmp     r6, r8
    sbcs    r7, r7, r9
    bhs     9b
    ldr     r9, [r10, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    .if     {CORES} > 1
    ldr     r7, [r12, #{CORE_RECEIVING}]
    eor     r9, r9, r7
    sub     r9, r9, #{HAS_THRESHOLD}
    .else
    sub     r9, r9, #({ENDPOINT_RECEIVING} + {HAS_THRESHOLD})
    .endif
    require_server
    sub     r6, sp, #{BASE}
    mov     lr, #0
    .if     {CORES} > 1
    ldr     r7, [r12, #{CORE_BITS}]
    orr     r6, r6, r7
    add     r7, r7, #{HAS_THRESHOLD}
    .else
    mov     r7, #{HAS_THRESHOLD}
    .endif
    str     r7, [r10, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    b       1b
    .endif
