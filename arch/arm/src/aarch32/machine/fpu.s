@ The registers of the floating-point unit. How many there are is the version's macro's business.
@
@ ARM DDI 0406: sections A2.6 (registers), B4.1.57 (FPEXC).

    .section .text.fpu, "ax"
    .arm
@ FPEXC.EN to the bit in r0.
    .global fpu_set_enabled
fpu_set_enabled:
    lsl     r0, r0, #30
    vmsr    fpexc, r0
    instruction_barrier
    bx      lr

@ To the context at r0.
    .global fpu_save
fpu_save:
    vstmia  r0!, {{d0-d15}}
    upper_registers vstmia
    vmrs    r1, fpscr
    str     r1, [r0]
    bx      lr

@ From the context at r0.
    .global fpu_load
fpu_load:
    vldmia  r0!, {{d0-d15}}
    upper_registers vldmia
    ldr     r1, [r0]
    vmsr    fpscr, r1
    bx      lr
