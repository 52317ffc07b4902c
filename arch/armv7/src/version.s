@ The macros that the shared assembly of the 32-bit architecture takes from the architecture version.

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
