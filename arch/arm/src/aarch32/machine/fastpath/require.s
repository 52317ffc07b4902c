@ Finds the capability at the address r0: makes lr the address of its slot, r8 that of the CNode, both but
@ for the kind of CNodes, r9 the word with the CNode's guard, and r10 its radix. Declines messages that do
@ not travel in registers, or have capabilities: length and capabilities are the lowest nine bits of r1; and
@ where every entry has to be looked at: there is no allowance. The space must have one level whose guard
@ and radix make up an address. Shifts take their distance from the lowest byte of a register, where r10
@ has the radix and nothing else.
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
@ Into the kernel, if nobody is alone there or was here; see `sync::World`.
    ldr     r8, [r12, #{GATE_PLACE}]
    ldr     r9, [r12, #{GATE_STOPPED}]
    mov     lr, #{INSIDE}
    str     lr, [r8]
    dmb     ish
    ldrb    r9, [r9]
    ldrb    r8, [r12, #{GATE_VISITED}]
    dmb     ish
    orrs    r9, r9, r8
    bne     9b
    .endif
    ldrd    r8, r9, [r12, #{ALLOWANCE}]
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

