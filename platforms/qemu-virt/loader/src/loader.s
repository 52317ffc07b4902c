// Entered by QEMU at level 2, with the MMU disabled. Makes the tables, starts the other cores one after the other, and
// then enters the kernel on each: the others as soon as they run, the first one last. `main.rs` of each board has `GROUPS`
// and `SERIAL`.
//
// Arm ARM (DDI 0487): sections D8.3 (descriptors), D19.2 (system registers).

    .set    CPU_ON, 0xc4000003          // PSCI (DEN 0022), CPU_ON of 64-bit callers
    .set    CACHED, 0x711               // a block of memory type 4, inner shareable, accessed
    .set    DEVICE, 0x401               // a block of memory type 0, accessed

    // The index of the address \address in a table whose entries are 2^\shift bytes, in \index
    .macro  index index, address, shift
    ubfx    \index, \address, #\shift, #9
    .endm

    .section .loader, "ax"
    .global _start
_start:
    adr     x10, LOADED
    ldp     x11, x12, [x10]             // entry point; virtual base
    ldr     x13, [x10, #16]             // physical base

    // The lower half: this program, and the GiB of the serial port
    adr     x1, lower
    adr     x2, lower_huge
    adr     x3, lower_large
    orr     x4, x2, #3
    str     x4, [x1]
    ldr     x4, =DEVICE + (SERIAL << 30)
    str     x4, [x2, #SERIAL * 8]
    orr     x4, x3, #3
    str     x4, [x2, #8]
    adr     x4, _start
    index   x5, x4, 21
    mov     x6, #CACHED
    orr     x4, x4, x6
    str     x4, [x3, x5, lsl #3]

    // The upper half: the kernel, by blocks to the end of its GiB
    adr     x1, upper
    adr     x2, upper_huge
    adr     x3, upper_large
    index   x5, x12, 39
    orr     x4, x2, #3
    str     x4, [x1, x5, lsl #3]
    index   x5, x12, 30
    orr     x4, x3, #3
    str     x4, [x2, x5, lsl #3]
    index   x5, x12, 21
    orr     x4, x13, x6
1:  str     x4, [x3, x5, lsl #3]
    add     x4, x4, #0x200000
    add     x5, x5, #1
    cmp     x5, #512
    b.lo    1b
    dsb     sy

    // All interrupts are in group 1
    ldr     x1, =GROUPS
    mov     w2, #-1
    mov     x5, #0
2:  str     w2, [x1, x5, lsl #2]
    add     x5, x5, #1
    cmp     x5, #8
    b.lo    2b

    mov     x19, #0
3:  add     x20, x19, #1
    ldr     x0, =CPU_ON
    mov     x1, x20
    adr     x2, core_start
    mov     x3, x20
    smc     #0
    cbnz    x0, 5f                      // there is no such core
    mov     x19, x20
    adr     x1, arrived
4:  ldr     x2, [x1]
    yield
    cmp     x2, x19
    b.ne    4b
    b       3b
5:  mov     x19, #0
    b       enter

core_start:
    mov     x19, x0
    ldr     x1, =GROUPS
    mov     w2, #-1
    str     w2, [x1]
    adr     x1, arrived
    str     x19, [x1]
    dsb     sy

enter:
    // Level 1 uses AArch64, and none of its accesses trap: timers, floating point, performance monitors. It sees the core's
    // own numbers. Reset sets these registers only where nothing is above level 2
    mov     x1, #(1 << 31)
    msr     hcr_el2, x1
    mrs     x1, midr_el1
    msr     vpidr_el2, x1
    mrs     x1, mpidr_el1
    msr     vmpidr_el2, x1
    mrs     x1, pmcr_el0
    ubfx    x1, x1, #11, #5             // HPMN is PMCR_EL0.N: all counters
    msr     mdcr_el2, x1
    mov     x1, #3
    msr     cnthctl_el2, x1
    msr     cntvoff_el2, xzr
    mov     x1, #0x33ff
    msr     cptr_el2, x1
    ldr     x1, =0x30d00800
    msr     sctlr_el1, x1
    mov     x1, #0x3c5
    msr     spsr_el2, x1
    adr     x1, level_1
    msr     elr_el2, x1
    eret

level_1:
    // Memory types: device (nGnRnE, nGnRE, GRE), not cached, cached
    ldr     x1, =0xff440c0400
    msr     mair_el1, x1
    // Both halves of 48 bits, granules of 4 KiB, cached and inner shareable walks, ASIDs of 16 bits, 40 physical bits
    ldr     x1, =0x12b5103510
    msr     tcr_el1, x1
    adr     x1, lower
    msr     ttbr0_el1, x1
    adr     x1, upper
    msr     ttbr1_el1, x1
    msr     tpidr_el1, x19
    isb
    tlbi    vmalle1
    dsb     sy
    isb
    ldr     x1, =0x30d01805
    msr     sctlr_el1, x1
    isb
    adr     x10, LOADED
    ldr     x11, [x10]
    ldp     x0, x1, [x10, #24]
    ldp     x2, x3, [x10, #40]
    mov     x4, #0
    mov     x5, #0
    br      x11
    .ltorg

    .balign 8
arrived:
    .quad   0

    .balign 4096
lower:          .fill 512, 8, 0
lower_huge:     .fill 512, 8, 0
lower_large:    .fill 512, 8, 0
upper:          .fill 512, 8, 0
upper_huge:     .fill 512, 8, 0
upper_large:    .fill 512, 8, 0
