// What the board's firmware does at level 3 before it starts a loader at level 2, and then for what runs below: it puts all
// interrupts into the group of the non-secure state, and answers calls of PSCI (DEN 0022), of which one powers a core on.
// Firmware also writes the frequency of the system counter (CNTFRQ_EL0), of which the value at reset is unknown; the
// emulator's is right.
//
// Its memory is not cached, as this level's MMU and caches stay off: what one core writes here, the others read. One core
// at a time powers others on: the loader's first one, then that which is in the kernel.
//
// Arm ARM (DDI 0487): sections D1.10 (vectors), D19.2 (system registers). GIC (IHI 0048B): sections 4.3 (distributor), 4.4
// (interface). Calls (DEN 0028): x4 and above keep their values. Zynq UltraScale+ MPSoC Register Reference (UG1087):
// modules APU and CRF_APB. Cortex-A53 (DDI 0500): "CPU Extended Control Register, EL1".

    .set    GICD, 0xf9010000
    .set    GICC, 0xf9020000
    .set    RVBARADDR0L, 0xfd5c0040     // eight bytes for each core: where it begins
    .set    RST_FPD_APU, 0xfd1a0104     // resets of the cores
    .set    RESETS_OF_CORE_0, 0x401     // of the core itself, and at power-on

    // The functions of PSCI that there are
    .set    PSCI_VERSION, 0x84000000
    .set    PSCI_FEATURES, 0x8400000a
    .set    CPU_ON, 0xc4000003

    .section .loader, "ax"
    .global _firmware
_firmware:
    mrs     x1, CurrentEL
    cmp     x1, #(3 << 2)
    b.ne    _start                      // the emulator is the firmware

    ldr     x1, =GICD + 0x80            // GICD_IGROUPR
    ldr     w2, [x1, #(0x4 - 0x80)]     // GICD_TYPER
    and     w2, w2, #0x1f
    mov     w3, #-1
1:  str     w3, [x1], #4
    subs    w2, w2, #1
    b.ge    1b
    // This core is on. The emulator starts it with its resets asserted, as their register is at reset
    ldr     x1, =RST_FPD_APU
    ldr     w2, [x1]
    mov     w3, #RESETS_OF_CORE_0
    bic     w2, w2, w3
    str     w2, [x1]
    adr     x5, _start
    b       leave

    // A core that `cpu_on` has powered on
started:
    ldr     x1, =GICD + 0x80            // each core has its own for the private lines
    mov     w3, #-1
    str     w3, [x1]
    mrs     x1, mpidr_el1
    and     x1, x1, #3
    adr     x2, wanted
    add     x2, x2, x1, lsl #4
    ldp     x5, x0, [x2]

    // To level 2 of the non-secure state, at x5, as PSCI describes a core's initial configuration: MMU and caches off, all
    // exceptions masked. All priorities of that state are enabled, and it can change that, which it could not if the mask
    // were below 0x80 (IHI 0048B, section 4.4.2). Nothing is trapped, and `smc` and `hvc` are allowed. The core's caches
    // take part in coherency, which has to be so before one is enabled
leave:
    ldr     x1, =GICC
    mov     w3, #0xff
    str     w3, [x1, #4]                // GICC_PMR
    mrs     x1, S3_1_C15_C2_1           // CPUECTLR_EL1: SMPEN
    orr     x1, x1, #(1 << 6)
    msr     S3_1_C15_C2_1, x1
    adr     x1, vectors
    msr     vbar_el3, x1
    msr     cptr_el3, xzr
    msr     mdcr_el3, xzr
    mov     x1, #0x531                  // RW, HCE, NS; the others are reserved
    msr     scr_el3, x1
    ldr     x1, =0x30c50830             // SCTLR_EL2: the bits that are reserved as one. Below level 3 reset does not set it
    msr     sctlr_el2, x1
    mov     x1, #0x3c9                  // EL2h, all exceptions masked
    msr     spsr_el3, x1
    msr     elr_el3, x5
    eret

    // A call of the function w0. No other registers but x0 to x3 change
call:
    msr     tpidr_el3, x4
    ldr     w4, =PSCI_VERSION
    cmp     w0, w4
    b.eq    version
    ldr     w4, =PSCI_FEATURES
    cmp     w0, w4
    b.eq    features
    ldr     w4, =CPU_ON
    cmp     w0, w4
    b.eq    cpu_on
    mov     x0, #-1                     // NOT_SUPPORTED
    b       return
features:
    cmp     w1, w4                      // PSCI_FEATURES itself
    ldr     w4, =PSCI_VERSION
    ccmp    w1, w4, #4, ne              // equal if it is this one, or was the one before
    ldr     w4, =CPU_ON
    ccmp    w1, w4, #4, ne
    csetm   x0, ne                      // NOT_SUPPORTED
    b       return
version:
    mov     x0, #0x10000
return:
    mrs     x4, tpidr_el3
    eret

    // Core x1 is to begin at x2, with x3 in x0
cpu_on:
    mov     x0, #-2                     // INVALID_PARAMETERS
    ldr     x4, =GICD
    ldr     w4, [x4, #4]                // GICD_TYPER.CPUNumber: the number of cores minus one
    ubfx    w4, w4, #5, #3
    cmp     x1, x4
    b.hi    return
    mov     w0, #RESETS_OF_CORE_0
    lsl     w0, w0, w1
    ldr     x4, =RST_FPD_APU
    ldr     w4, [x4]
    tst     w4, w0
    mov     x0, #-4                     // ALREADY_ON; it may not have read yet where it is to begin
    b.eq    return
    adr     x4, wanted
    add     x4, x4, x1, lsl #4
    stp     x2, x3, [x4]
    ldr     x4, =RVBARADDR0L
    add     x4, x4, x1, lsl #3
    adr     x2, started
    str     w2, [x4]
    str     wzr, [x4, #4]
    dsb     sy
    ldr     x4, =RST_FPD_APU
    ldr     w2, [x4]
    mov     w3, #RESETS_OF_CORE_0
    lsl     w3, w3, w1
    bic     w2, w2, w3
    str     w2, [x4]
    mov     x0, #0
    b       return
    .ltorg

    .balign 16
wanted:
    .fill   4 * 2, 8, 0

    // The only exception that reaches this level is that of `smc`
    .balign 2048
vectors:
    .fill   0x400 / 4, 4, 0
    b       call
    .fill   0x400 / 4 - 1, 4, 0
