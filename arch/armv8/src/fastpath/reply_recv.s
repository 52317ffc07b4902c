// An endpoint with a threshold.
5:  cmp     x25, #{HAS_THRESHOLD}
    b.ne    9b
    b       1f

// ReplyRecv. Eligible if no thread waits at the endpoint.
4:  find
    ldr     x8, [x0]
    and     w12, w8, #{KIND_MASK}
    cmp     w12, #{ENDPOINT}
    b.ne    9b
    tbz     w8, #{READ_BIT}, 9b
    asr     x8, x8, #({OBJECT_SHIFT} - 4)
    ldr     x25, [x8, #{ENDPOINT_QUEUE}]
    .if     {CORES} > 1
    ldr     x13, [x28, #{CORE_BITS}]
    eor     x25, x25, x13
    .endif
    cbnz    x25, 5b
// No notification is bound to the server.
1:  ldr     x12, [sp, #{NOTIFICATION}]
    cbnz    x12, 9b

// The reply object, x21.
    lsr     x12, x6, x11
    cmp     x12, x10
    b.ne    9b
    lsl     x12, x12, x11
    sub     x6, x6, x12
    add     x6, x9, x6, lsl #{SLOT_BITS}
    ldr     x21, [x6]
    and     w12, w21, #{KIND_MASK}
    cmp     w12, #{REPLY_KIND}
    b.ne    9b
    asr     x21, x21, #({OBJECT_SHIFT} - 4)

// x19 is the caller: it waits for the reply to a call with which it donated its scheduling context, x24.
    ldr     x19, [x21, #{REPLY_THREAD}]
    .if     {CORES} > 1
// This core owns the caller, the reply object, and that of the next outer call.
    ldr     x12, [x28, #{CORE_BITS}]
    ldr     x13, [x21, #{REPLY_BELOW}]
    eor     x19, x19, x12
    tst     x19, #{MARKS}
    b.ne    9b
    cbz     x13, 2f
    ldr     x13, [x13, #{REPLY_THREAD}]
    eor     x13, x13, x12
    tst     x13, #{MARKS}
    b.ne    9b
2:
    .endif
    cbz     x19, 9b
    add     x20, x19, #{THREAD_CONTEXT}
    .if     {CORES} > 1
    ldrb    w13, [x20, #{THREAD_CORE}]
    cmp     x12, x13, lsl #{CORE_SHIFT}
    b.ne    9b
    .endif
    ldr     x12, [x20, #{STATE}]
    ldr     x13, [x20, #{FAULT}]
    ldr     x14, [x20, #{SCHED_CONTEXT}]
    ldr     x24, [x28, #{CURRENT_CONTEXT}]
    ldp     x15, x16, [x21, #{REPLY_ABOVE}]
    cmp     x12, #{BLOCKED_ON_REPLY}
    ccmp    x13, #{NO_FAULT}, #0, eq
    ccmp    x14, #0, #0, eq
    ccmp    x15, #{ABOVE_CONTEXT}, #0, eq
    ccmp    x16, x24, #0, eq
    b.ne    9b
    require_next
    require_known

// No exit to the slow path from here on. The reply object leaves the call chain of the context.
    str     xzr, [x20, #{STATE}]    // running
    ldr     x13, [x21, #{REPLY_BELOW}]
    str     x13, [x24, #{CONTEXT_REPLY}]
    stp     xzr, xzr, [x21, #{REPLY_BELOW}]
    cbz     x13, 3f
    mov     w14, #{ABOVE_CONTEXT}
    stp     x14, x24, [x13, #{REPLY_ABOVE}]

// The server, x22, waits for the next call, as the only thread.
3:  sub     x22, sp, #{THREAD_CONTEXT}
    .if     {CORES} > 1
    ldr     x12, [x28, #{CORE_BITS}]
    orr     x12, x12, x22
    str     x12, [x21, #{REPLY_THREAD}]
    .else
    str     x22, [x21, #{REPLY_THREAD}]
    .endif
    mov     w12, #{BLOCKED_ON_RECEIVE}
    str     x12, [sp, #{STATE}]
    str     x8, [sp, #{RECEIVES_FROM}]
    str     x21, [sp, #{RECEIVES_WITH}]
    mov     w12, #{WAITING}
    strb    w12, [sp, #{MEMBERSHIP}]
    ldrb    w12, [sp, #{PRIORITY}]
    eor     w12, w12, #{HIGHEST_PRIORITY}
    str     x12, [sp, #{KEY}]
    str     xzr, [sp, #{PARENT}]
    str     xzr, [sp, #{CHILDREN}]
    str     xzr, [sp, #({CHILDREN} + 8)]
    str     x22, [sp, #{NEXT}]
    str     x22, [sp, #{PREVIOUS}]
    .if     {CORES} > 1
    ldr     x12, [x28, #{CORE_RECEIVING}]
    orr     x12, x12, x22
    .else
    add     x12, x22, #{ENDPOINT_RECEIVING}
    .endif
    orr     x12, x12, x25
    str     x12, [x8, #{ENDPOINT_QUEUE}]
    mov     x0, #0                  // no badge
