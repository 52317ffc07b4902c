@ What the shared assembly of the 32-bit architecture leaves to the version.
@
@ ARM1136JF-S and ARM1136J-S Technical Reference Manual (ARM DDI 0211), section 3.3.17 (c7): the
@ barriers are operations of the coprocessor. Register r12 is free wherever they are used.

    .fpu    vfpv2

    .macro  data_barrier
    mov     r12, #0
    mcr     p15, 0, r12, c7, c10, 4
    .endm

    .macro  instruction_barrier
    mov     r12, #0
    mcr     p15, 0, r12, c7, c5, 4
    .endm

@ Early cores have no `clrex`. A store that claims exclusive access ends it; it stores what is there
@ already. At the stack pointer is a word of the thread's context, and general registers are free.
    .macro  clear_exclusive
    ldr     r0, [sp]
    strex   r1, r0, [sp]
    .endm

@ There is no upper half of the floating-point registers; its place in the context at r0 is left out.
    .macro  upper_registers transfer
    add     r0, r0, #128
    .endm
