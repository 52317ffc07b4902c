// Declines unless the thread at x20 may run instead of the current one, on the same time.
    .macro  require_next
    ldrb    w13, [x20, #{PRIORITY}]
    ldrb    w14, [sp, #{PRIORITY}]
    cmp     w13, w14
    b.eq    2f
    bl      8b
2:
    .endm

// Declines unless the address space of the thread at x20 is known. x23 is how it is walked: what stands
// in the two words of the capability.
    .macro  require_known
    ldp     x13, x14, [x20, #{VSPACE}]
    ldp     x15, x16, [x20, #{SPACE_WALK}]
    ldr     x17, [x28, #{REMOVALS}]
    sub     x13, x13, #{ROOT_KIND}
    orr     x23, x13, x14
    cmp     x23, x15
    ccmp    x16, x17, #0, eq
    b.ne    9b
    .endm

