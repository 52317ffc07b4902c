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
    bne     9b
    add     r8, r9, #{BASE}
    .else
    and     lr, r8, #{ENDPOINT_STATE_MASK}
    teq     lr, #{ENDPOINT_RECEIVING}
    bne     9b
    sub     r9, r8, #{ENDPOINT_RECEIVING}
    add     r8, r8, #({BASE} - {ENDPOINT_RECEIVING})
    .endif

@ The server has a reply object, r11, and no scheduling context.
    ldr     r11, [r8, #{RECEIVES_WITH}]
    ldr     r7, [r8, #{SCHED_CONTEXT}]
    rsbs    r7, r7, #0              @ sets C if it is zero
    movscs  r11, r11
    bls     9b
    require_next
    require_known

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
    str     lr, [r8, #{NEXT}]
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
