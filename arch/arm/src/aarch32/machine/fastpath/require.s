@ Declines unless the thread at r8 may run instead of the current one, on the same time.
    .macro  require_next
    ldrb    r6, [r8, #{PRIORITY}]
    ldrb    r7, [sp, #{PRIORITY}]
    cmp     r6, r7
    blne    8b
    .endm

@ Declines unless the address space of the thread at r8 is known.
    .macro  require_known
    ldrd    r6, r7, [r8, #{VSPACE}]
    ldr     lr, [r8, #{SPACE_CAP}]
    teq     lr, r6
    ldreq   lr, [r8, #({SPACE_CAP} + 4)]
    teqeq   lr, r7
    ldreq   r6, [r12, #{REMOVALS}]
    ldreq   lr, [r8, #{SPACE_REMOVALS}]
    teqeq   lr, r6
    ldreq   r6, [r12, #({REMOVALS} + 4)]
    ldreq   lr, [r8, #({SPACE_REMOVALS} + 4)]
    teqeq   lr, r6
    bne     9b
    .endm

