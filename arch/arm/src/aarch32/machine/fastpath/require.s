@ Declines unless the thread at r8 may run instead of the current one, on the same time.
    .macro  require_next
    ldrb    r6, [r8, #{PRIORITY}]
    ldrb    r7, [sp, #{PRIORITY}]
    cmp     r6, r7
    blne    8b
    .endm

@ Declines unless the address space of the thread at r8 is known.
    .macro  require_known
    ldrd    r6, r7, [r8, #{SPACE}]
    ldr     lr, [r8, #{VSPACE}]
    teq     lr, r6
    ldreq   lr, [r12, #{REMOVALS}]
    teqeq   lr, r7
    bne     9b
    .endm

