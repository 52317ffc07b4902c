@ The registers of the floating-point unit. The version's macro `upper_registers` knows their number.
@
@ They are called from code in T32 state, too: the linker changes the state for symbols of functions only.
@
@ ARM DDI 0406: sections A2.6 (registers), B4.1.57 (FPEXC).

    .section .text.fpu, "ax"
    .arm
@ Sets FPEXC.EN to the lowest bit of r0.
    .global fpu_set_enabled
    .type   fpu_set_enabled, %function
fpu_set_enabled:
    lsl     r0, r0, #30
    vmsr    fpexc, r0
    instruction_barrier
    bx      lr

@ Saves to the context at r0.
    .global fpu_save
    .type   fpu_save, %function
fpu_save:
    vstmia  r0!, {{d0-d15}}
    upper_registers vstmia
    vmrs    r1, fpscr
    str     r1, [r0]
    bx      lr

@ Loads from the context at r0.
    .global fpu_load
    .type   fpu_load, %function
fpu_load:
    vldmia  r0!, {{d0-d15}}
    upper_registers vldmia
    ldr     r1, [r0]
    vmsr    fpscr, r1
    bx      lr
