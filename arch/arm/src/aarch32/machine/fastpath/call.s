@ Call. The slot is at lr: first word to r10, second to r11.
6:  ldrd    r10, r11, [lr]
    and     lr, r10, #{KIND_MASK}
    teq     lr, #{ENDPOINT}
    bne     9b
    tst     r11, #{WRITE}
    tstne   r11, #{MAY_REPLY}
    beq     9b
    bic     r0, r11, #{RIGHTS}      @ the badge

@ A receiver waits, alone. r9 is the server, r10 the endpoint and its kind. Who waits there is blocked on
@ receive.
    ldr     r8, [r10, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    and     lr, r8, #{ENDPOINT_STATE_MASK}
    teq     lr, #{ENDPOINT_RECEIVING}
    bne     9b
    sub     r9, r8, #{ENDPOINT_RECEIVING}
    add     r8, r8, #({BASE} - {ENDPOINT_RECEIVING})
    ldr     r6, [r8, #{CHILDREN}]
    ldr     r7, [r8, #({CHILDREN} + 4)]
    orrs    r6, r6, r7
    ldreq   r7, [r8, #{NEXT}]
    teqeq   r7, r9
    bne     9b

@ It has a reply object, r11, and no time of its own.
    ldr     r11, [r8, #{RECEIVES_WITH}]
    ldr     r7, [r8, #{SCHED_CONTEXT}]
    cmp     r11, #0
    beq     9b
    cmp     r7, #0
    bne     9b
    require_next
    require_known

@ From here on nothing declines. The server waits no more, and the caller, r6, for the reply.
    sub     r6, sp, #{BASE}
    mov     lr, #0
    str     lr, [r10, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    str     lr, [r8, #{NEXT}]
    str     lr, [r8, #{PREVIOUS}]
    mov     r7, #{NO_MEMBER}
    strb    r7, [r8, #{MEMBERSHIP}]
    mov     r7, #{RUNNING}
    str     r7, [r8, #{STATE}]
    str     r6, [r11, #{REPLY_THREAD}]
    mov     r7, #{BLOCKED_ON_REPLY}
    str     r7, [sp, #{STATE}]
    str     r11, [sp, #{CALLS_WITH}]

@ The reply object becomes the top of the stack of the context, r7, that goes along.
    ldr     r7, [r12, #{CONTEXT}]
    ldr     r6, [r7, #{CONTEXT_REPLY}]
    str     r11, [r7, #{CONTEXT_REPLY}]
    mov     r10, #{ABOVE_CONTEXT}
    str     r6, [r11, #{REPLY_BELOW}]
    str     r10, [r11, #{REPLY_ABOVE}]
    str     r7, [r11, #{REPLY_ABOVE_WHICH}]
    cmp     r6, #0
    movne   r10, #{ABOVE_REPLY}
    strne   r10, [r6, #{REPLY_ABOVE}]
    strne   r11, [r6, #{REPLY_ABOVE_WHICH}]
    b       7f
