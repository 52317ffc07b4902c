@ The macros of the other assembly files that differ between architecture versions.

    .if     {ARMV6}

    .fpu    vfpv2

@ ARM1136JF-S and ARM1136J-S Technical Reference Manual (ARM DDI 0211), section 3.3.17 (c7): the
@ barriers are operations of the coprocessor. They may overwrite register r12.
    .macro  data_barrier
    mov     r12, #0
    mcr     p15, 0, r12, c7, c10, 4
    .endm

    .macro  instruction_barrier
    mov     r12, #0
    mcr     p15, 0, r12, c7, c5, 4
    .endm

@ Early cores have no `clrex`. A store-exclusive clears the monitor instead. It stores a word of the
@ thread's context, at the stack pointer, back to its place; general registers are free.
    .macro  clear_exclusive
    ldr     r0, [sp]
    strex   r1, r0, [sp]
    .endm

@ The upper half of the floating-point registers does not exist; its place in the context at r0 is skipped.
    .macro  upper_registers transfer
    add     r0, r0, #128
    .endm

    .else

    .fpu    neon

    .macro  data_barrier
    dsb
    .endm

    .macro  instruction_barrier
    isb
    .endm

    .macro  clear_exclusive
    clrex
    .endm

@ Transfers the upper half of the floating-point registers, with `vstmia` or `vldmia` at r0.
    .macro  upper_registers transfer
    \transfer r0!, {{d16-d31}}
    .endm

    .endif
