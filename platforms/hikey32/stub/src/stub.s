// From EL2 in the 64-bit state to EL1 in the 32-bit state.
//
// The boot core has zero in x0 and continues at KERNEL_ENTRY. A secondary core, started by the
// firmware's CPU_ON with this stub's address, has the context identifier of the call in x0: the 32-bit
// address at which it continues.
//
// EL2 has no function afterwards: no traps, no stage-2 translation, no virtual offset. Sections D19.2 and
// D24.2 of the Arm Architecture Reference Manual (DDI 0487) describe the registers.

    .section .stub, "ax"
    .global _start
_start:
    cbnz    x0, entry
    adrp    x0, KERNEL_ENTRY
    ldr     x0, [x0, :lo12:KERNEL_ENTRY]
entry:
        // EL1 reads the actual identification registers.
    mrs     x1, midr_el1
    msr     vpidr_el2, x1
    mrs     x1, mpidr_el1
    msr     vmpidr_el2, x1
        // EL1 is in the 32-bit state (RW = 0), and nothing is routed to EL2.
    msr     hcr_el2, xzr
        // EL1 can access the counters and timers, which show physical time.
    mov     x1, #3
    msr     cnthctl_el2, x1
    msr     cntvoff_el2, xzr
        // Floating point does not trap; the set bits are reserved. Nothing else traps either.
    mov     x1, #0x33ff
    msr     cptr_el2, x1
    msr     hstr_el2, xzr
        // All event counters belong to EL1; PMCR.N is their number.
    mrs     x1, pmcr_el0
    ubfx    x1, x1, #11, #5
    msr     mdcr_el2, x1
        // The 32-bit SCTLR: the reserved bits that must be one, and barriers by coprocessor instructions
        // enabled; MMU and caches disabled. Exceptions in Thumb state: boot loaders may leave that, and the
        // kernel must cope.
    movz    x1, #0x0838
    movk    x1, #0x40c5, lsl #16
    msr     sctlr_el1, x1
        // Supervisor mode, with asynchronous aborts, IRQ and FIQ masked.
    mov     x1, #0x1d3
    msr     spsr_el2, x1
    msr     elr_el2, x0
    isb
    eret
