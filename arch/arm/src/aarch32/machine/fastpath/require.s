@ Looks up the capability at the address r0. Sets lr to the address of its slot and r8 to that of the CNode,
@ both with the kind of CNodes added, r9 to the word with the CNode's guard, and r10 to its radix. Not
@ eligible are messages that do not fit in registers or have capabilities (length and capabilities are the
@ lowest nine bits of r1), and entries that need a budget check, which is when the threshold is zero. The
@ CSpace must have one level with a guard and radix that make up an address. Shifts take their distance from
@ the lowest byte of a register, in which r10 has only the radix.
    .macro  find
    .if     {CORES} > 1
    mrc     p15, 0, r12, c13, c0, 4
    movw    r8, #{CORE}
    ldr     r12, [r12, #{KERNEL}]
    add     r12, r12, r8
    .else
    ldr     r12, =kernel_state + {CORE}
    .endif
    lsl     lr, r1, #23
    cmp     lr, #({MESSAGE_REGISTERS} << 23)
    bhi     9b
    .if     {CORES} > 1
@ Take the entry lock in shared mode, unless it is held exclusively or this core was remotely modified; see
@ `sync::BigReaderLock`.
    ldr     r8, [r12, #{LOCK_STATE}]
    ldr     r9, [r12, #{LOCK_EXCLUSIVE}]
    mov     lr, #{SHARED}
    str     lr, [r8]
    dmb     ish
    ldrb    r9, [r9]
    dmb     ish
    ldrb    r8, [r12, #{REMOTELY_MODIFIED}]
    orrs    r9, r9, r8
    bne     9b
    .endif
    ldrd    r8, r9, [r12, #{CHECK_THRESHOLD}]
    orrs    lr, r8, r9
    beq     9b
    ldrd    r8, r9, [sp, #{CSPACE}]
    and     lr, r8, #{KIND_MASK}
    teq     lr, #{CNODE}
    tsteq   r9, #{SPLIT}
    bne     9b
    lsr     r10, r9, #{RADIX_SHIFT}
    lsr     r11, r0, r10
    cmp     r11, r9, lsr #{GUARD_SHIFT}
    bne     9b
    sub     r0, r0, r11, lsl r10
    add     lr, r8, r0, lsl #{SLOT_BITS}
    .endm

@ Exits to the slow path unless the thread at r8 may run next, on the same scheduling context.
    .macro  require_next
    ldrb    r6, [r8, #{PRIORITY}]
    ldrb    r7, [sp, #{PRIORITY}]
    cmp     r6, r7
    blne    8b
    .endm

@ Exits to the slow path unless the result of the address space lookup of the thread at r8 is still valid, or if
@ debug registers are, or have to be, in use.
    .macro  require_known
    .if     {HARDWARE_DEBUG}
    ldrb    r6, [r8, #{DEBUG_ACTIVE}]
    ldrb    r7, [r12, #{DEBUG_IN_USE}]
    orrs    r6, r6, r7
    bne     9b
    .endif
    ldrd    r6, r7, [r8, #{SPACE}]
    ldr     lr, [r8, #{VSPACE}]
    teq     lr, r6
    ldreq   lr, [r12, #{GENERATION}]
    teqeq   lr, r7
    bne     9b
    .endm

@ Exits to the slow path unless the server, r9, has a reply object, to which r11 is set, and no scheduling
@ context, and may run next. Sets r8 to the server's registers.
    .macro  require_server
    add     r8, r9, #{BASE}
    ldr     r11, [r8, #{RECEIVES_WITH}]
    ldr     r7, [r8, #{SCHED_CONTEXT}]
    rsbs    r7, r7, #0              @ sets C if it is zero
    movscs  r11, r11
    bls     9b
    require_next
    require_known
    .endm

@ Exits to the slow path unless the caller, to which r9 is set, waits for the reply by r11 to a call with which
@ it donated its scheduling context, and may run next. Sets r8 to the caller's registers.
    .macro  require_caller
    bic     r11, r11, #{KIND_MASK}
    ldr     r9, [r11, #{REPLY_THREAD}]
    .if     {CORES} > 1
@ This core owns the caller, the reply object, and that of the next outer call.
    ldr     r6, [r12, #{CORE_BITS}]
    eor     r9, r9, r6
    lsls    r7, r9, #{HANDLE_SHIFT}
    ldreq   r7, [r11, #{REPLY_BELOW}]
    bne     9b
    cmp     r7, #0
    ldrne   r7, [r7, #{REPLY_THREAD}]
    eorne   r7, r7, r6
    lslsne  r7, r7, #{HANDLE_SHIFT}
    bne     9b
    .endif
    cmp     r9, #0
    beq     9b
    add     r8, r9, #{BASE}
    .if     {CORES} > 1
    ldrb    r7, [r8, #{THREAD_CORE}]
    cmp     r6, r7, lsl #{CORE_SHIFT}
    bne     9b
    .endif
    ldr     r6, [r8, #{STATE}]
    ldr     r7, [r8, #{FAULT}]
    teq     r6, #{BLOCKED_ON_REPLY}
    teqeq   r7, #{NO_FAULT}
    ldreq   r6, [r8, #{SCHED_CONTEXT}]
    teqeq   r6, #0
    ldreq   r6, [r11, #{REPLY_ABOVE}]
    teqeq   r6, #{ABOVE_CONTEXT}
    ldreq   r6, [r11, #{REPLY_ABOVE_WHICH}]
    ldreq   r7, [r12, #{CURRENT_CONTEXT}]
    teqeq   r6, r7
    bne     9b
    require_next
    require_known
    .endm

@ Sets r7 to the word of an endpoint without a threshold at which only the server waits.
    .macro  own_queue
    .if     {CORES} > 1
    ldr     r7, [r12, #{CORE_RECEIVING}]
    sub     r6, sp, #{BASE}
    orr     r7, r7, r6
    .else
    sub     r7, sp, #({BASE} - {ENDPOINT_RECEIVING})
    .endif
    .endm
