// Looks up the capability at the address x0. Sets x0 to the address of its slot, x9 to that of the CNode, x10
// to the CNode's guard and w11 to its radix. Not eligible are messages that do not fit in registers or have
// capabilities, and entries that need a budget check, which is when the threshold is zero. The CSpace must
// have one level with a guard and radix that make up an address.
    .macro  find
    and     w8, w1, #{LENGTH_AND_CAPS}
    cmp     w8, #{MESSAGE_REGISTERS}
    b.hi    9b
    .if     {CORES} > 1
// Take the entry lock in shared mode, unless it is held exclusively or this core was remotely modified; see
// `sync::BigReaderLock`.
    mrs     x28, tpidr_el1
    ldr     x28, [x28, #{KERNEL}]
    ldr     x8, [x28, #{LOCK_STATE}]
    ldr     x9, [x28, #{LOCK_EXCLUSIVE}]
    mov     w10, #{SHARED}
    str     x10, [x8]
    dmb     ish
    ldarb   w9, [x9]
    ldrb    w8, [x28, #{REMOTELY_MODIFIED}]
    orr     w9, w9, w8
    cbnz    w9, 9b
    .else
    adrp    x28, kernel_state
    add     x28, x28, :lo12:kernel_state
    .endif
    ldr     x8, [x28, #{CHECK_THRESHOLD}]
    cbz     x8, 9b
    ldp     x9, x10, [sp, #{CSPACE}]
    and     w8, w9, #{KIND_MASK}
    cmp     w8, #{CNODE}
    b.ne    9b
    tbnz    w9, #{SPLIT_BIT}, 9b
    ubfx    w11, w9, #{RADIX_SHIFT}, #{RADIX_WIDTH}
    asr     x9, x9, #({OBJECT_SHIFT} - 4)
    and     x9, x9, #~15
    lsr     x12, x0, x11
    cmp     x12, x10
    b.ne    9b
    lsl     x12, x12, x11
    sub     x0, x0, x12
    add     x0, x9, x0, lsl #{SLOT_BITS}
    .endm

// Exits to the slow path unless the thread at x20 may run next, on the same scheduling context.
    .macro  require_next
    ldrb    w13, [x20, #{PRIORITY}]
    ldrb    w14, [sp, #{PRIORITY}]
    cmp     w13, w14
    b.eq    2f
    bl      8b
2:
    .endm

// Exits to the slow path unless the result of the address space lookup of the thread at x20 is still valid, or if
// debug registers are, or have to be, in use. Sets x23 to its TTBR0 value, which consists of the two words of the
// capability.
    .macro  require_known
    .if     {HARDWARE_DEBUG}
    ldrb    w13, [x20, #{DEBUG_ACTIVE}]
    ldrb    w14, [x28, #{DEBUG_IN_USE}]
    orr     w13, w13, w14
    cbnz    w13, 9b
    .endif
    ldp     x13, x14, [x20, #{VSPACE}]
    ldp     x15, x16, [x20, #{SPACE_WALK}]
    ldr     x17, [x28, #{GENERATION}]
    sub     x13, x13, #{ROOT_KIND}
    orr     x23, x13, x14
    cmp     x23, x15
    ccmp    x16, x17, #0, eq
    b.ne    9b
    .endm

