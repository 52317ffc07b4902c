// Call.
6:  find
    ldp     x10, x0, [x0]           // x0: the badge
    and     w8, w10, #{KIND_MASK}
    cmp     w8, #{ENDPOINT}
    b.ne    9b
    tbz     w10, #{WRITE_BIT}, 9b
    tst     w10, #{MAY_REPLY}
    b.eq    9b
    asr     x10, x10, #({OBJECT_SHIFT} - 4)

// Eligible if a single receiver waits. x19 is the server. Threads in this queue are blocked on receive. If
// this core owns the endpoint, it also owns the server and all its objects.
    ldr     x12, [x10, #{ENDPOINT_QUEUE}]
    .if     {CORES} > 1
    ldr     x8, [x28, #{CORE_RECEIVING}]
    eor     x19, x12, x8
    ands    x8, x19, #{MARKS}
    b.ne    5f
    .else
    and     w8, w12, #{ENDPOINT_STATE_MASK}
    subs    w8, w8, #{ENDPOINT_RECEIVING}
    b.ne    5f
    sub     x19, x12, #{ENDPOINT_RECEIVING}
    .endif
1:  add     x20, x19, #{THREAD_CONTEXT}

// The server has a reply object, x21, and no scheduling context.
    ldr     x21, [x20, #{RECEIVES_WITH}]
    ldr     x13, [x20, #{SCHED_CONTEXT}]
    cbz     x21, 9b
    cbnz    x13, 9b
    require_next
    require_known

// No exit to the slow path from here on. The server no longer waits; the caller, x22, waits for the reply.
    sub     x22, sp, #{THREAD_CONTEXT}
    ldr     x24, [x28, #{CURRENT_CONTEXT}]
    .if     {CORES} > 1
    ldr     x13, [x28, #{CORE_BITS}]
    orr     x8, x8, x13
    orr     x22, x22, x13
    .endif
    str     x8, [x10, #{ENDPOINT_QUEUE}]
    str     xzr, [x20, #{NEXT}]
    str     xzr, [x20, #{PREVIOUS}]
    strb    wzr, [x20, #{MEMBERSHIP}]
    .if     {RUNNING}
    .error  "the state of running threads must be zero"
    .endif
    str     xzr, [x20, #{STATE}]    // running
    str     x22, [x21, #{REPLY_THREAD}]
    mov     w13, #{BLOCKED_ON_REPLY}
    str     x13, [sp, #{STATE}]
    str     x21, [sp, #{CALLS_WITH}]

// The reply object becomes the top of the call chain of the scheduling context, x24, which is donated.
    ldr     x13, [x24, #{CONTEXT_REPLY}]
    str     x21, [x24, #{CONTEXT_REPLY}]
    str     x13, [x21, #{REPLY_BELOW}]
    mov     w14, #{ABOVE_CONTEXT}
    stp     x14, x24, [x21, #{REPLY_ABOVE}]
    cbz     x13, 7f
    mov     w14, #{ABOVE_REPLY}
    stp     x14, x21, [x13, #{REPLY_ABOVE}]
    b       7f

// A receiver behind a threshold, of which x8 is the mark: the caller must have the budget, and the budget check
// threshold shows how much is left beyond the smallest budget. A threshold with flags exceeds all budgets. The
// clock is the virtual counter (Arm ARM, section D11.2.2).
5:  cmp     x8, #{HAS_THRESHOLD}
    b.ne    9b
    isb
    mrs     x13, cntvct_el0
    ldr     x14, [x28, #{NOW}]
    ldr     x15, [x28, #{CONSUMED}]
    ldr     x16, [x10, #{ENDPOINT_THRESHOLD}]
    ldr     x17, [x28, #{CHECK_THRESHOLD}]
    sub     x13, x13, x14
    add     x13, x13, x15
    add     x13, x13, x16
    cmp     x13, x17
    b.hs    9b
    .if     {CORES} > 1
    sub     x19, x19, x8
    .else
    sub     x19, x12, #({ENDPOINT_RECEIVING} + {HAS_THRESHOLD})
    .endif
    b       1b
