@ An endpoint with a threshold.
5:  ldr     r7, [r10, #{ENDPOINT_QUEUE}]
    .if     {CORES} > 1
    ldr     r9, [r12, #{CORE_BITS}]
    eor     r7, r7, r9
    .endif
    teq     r7, #{HAS_THRESHOLD}
    ldreq   r6, [sp, #{NOTIFICATION}]
    teqeq   r6, #0
    andeq   lr, r11, #{KIND_MASK}
    teqeq   lr, #{REPLY_KIND}
    bne     9b
    require_caller
    own_queue
    add     r7, r7, #{HAS_THRESHOLD}
    b       1f

@ ReplyRecv. Eligible if no thread waits at the endpoint, and no notification is bound.
4:  find
    lsr     r11, r6, r10
    cmp     r11, r9, lsr #{GUARD_SHIFT}
    bne     9b
    sub     r6, r6, r11, lsl r10
    add     r6, r8, r6, lsl #{SLOT_BITS}
    ldr     r11, [r6, #-{CNODE}]    @ the reply object's capability
    ldrd    r6, r7, [lr, #-{CNODE}]
    and     lr, r6, #{KIND_MASK}
    teq     lr, #{ENDPOINT}
    bne     9b
    ands    lr, r7, #{READ}
    beq     9b
    ldr     r7, [r6, #({ENDPOINT_QUEUE} - {ENDPOINT})]
    sub     r10, r6, #{ENDPOINT}
    ldr     r6, [sp, #{NOTIFICATION}]
    .if     {CORES} > 1
    ldr     r9, [r12, #{CORE_BITS}]
    eor     r7, r7, r9
    .endif
    orrs    r7, r7, r6
    andeq   lr, r11, #{KIND_MASK}
    teqeq   lr, #{REPLY_KIND}
    bne     5b
    require_caller

@ No exit to the slow path from here on. The server waits at the endpoint, as the only thread.
    own_queue
1:  str     r7, [r10, #{ENDPOINT_QUEUE}]
@ The reply object leaves the call chain of the context, r7.
    ldr     r7, [r12, #{CURRENT_CONTEXT}]
    mov     lr, #0
    str     lr, [r8, #{STATE}]      @ running
    ldr     r6, [r11, #{REPLY_BELOW}]
    str     lr, [r11, #{REPLY_BELOW}]
    str     lr, [r11, #{REPLY_ABOVE}]
    str     r6, [r7, #{CONTEXT_REPLY}]
    cmp     r6, #0
    movne   r0, #{ABOVE_CONTEXT}
    strne   r0, [r6, #{REPLY_ABOVE}]
    strne   r7, [r6, #{REPLY_ABOVE_WHICH}]

@ The server, r6, waits for the next call.
    sub     r6, sp, #{BASE}
    .if     {CORES} > 1
    ldr     r0, [r12, #{CORE_BITS}]
    orr     r0, r0, r6
    str     r0, [r11, #{REPLY_THREAD}]
    .else
    str     r6, [r11, #{REPLY_THREAD}]
    .endif
    mov     r0, #{BLOCKED_ON_RECEIVE}
    str     r0, [sp, #{STATE}]
    str     r10, [sp, #{RECEIVES_FROM}]
    str     r11, [sp, #{RECEIVES_WITH}]
    mov     r0, #{WAITING}
    strb    r0, [sp, #{MEMBERSHIP}]
    ldrb    r0, [sp, #{PRIORITY}]
    str     r6, [sp, #{NEXT}]
    str     r6, [sp, #{PREVIOUS}]
    eor     r0, r0, #{HIGHEST_PRIORITY}
    str     r0, [sp, #{KEY}]
    str     lr, [sp, #({KEY} + 4)]
    str     lr, [sp, #{PARENT}]
    str     lr, [sp, #{CHILDREN}]
    str     lr, [sp, #({CHILDREN} + 4)]
    mov     r0, #0                  @ no badge
