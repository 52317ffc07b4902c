@ From the boot loader to Rust code.
@
@ Entered at the physical address of `boot_entry`, in secure supervisor mode, with MMU and data cache
@ disabled. Maps the window onto RAM with all permissions, and makes an identity mapping of the section that
@ executes; `kernel_space.rs` later removes what is not needed.
@
@ ARM DDI 0406: sections B3.5 (short descriptors), B4.1.130 (SCTLR), B4.1.153 to 154 (TTBCR, TTBR0).
@ Descriptors have the format of ARMv6 without subpages, and unaligned accesses are allowed; ARMv7 has
@ no other mode (section D12.7.1: SCTLR.XP and U).

    @ Enables translation by the directory at r5
    .macro  translate
    @ Invalidate TLB, instruction cache and branch predictor
    mov     r7, #0
    mcr     p15, 0, r7, c8, c7, 0
    mcr     p15, 0, r7, c7, c5, 0
    mcr     p15, 0, r7, c7, c5, 6
    @ One directory for all addresses, walks by the caches; domain 0 checks permissions
    mcr     p15, 0, r7, c2, c0, 2
    mcr     p15, 0, r7, c13, c0, 1
    orr     r7, r5, #{walk}
    mcr     p15, 0, r7, c2, c0, 0
    mov     r7, #1
    mcr     p15, 0, r7, c3, c0, 0
    data_barrier
    instruction_barrier
    @ Off: exceptions in Thumb state or big-endian, as a boot loader may have left it; TEX remap and access flag,
    @ high vectors, caches, branch prediction, alignment checks. On: XP, U, M
    mrc     p15, 0, r7, c1, c0, 0
    bic     r7, r7, #0x72000000
    bic     r7, r7, #0x3800
    bic     r7, r7, #0x0006
    orr     r7, r7, #0xc00000
    orr     r7, r7, #0x0001
    mcr     p15, 0, r7, c1, c0, 0
    instruction_barrier
    .endm

    .section .boot, "ax"
    .arm
    .global boot_entry
boot_entry:
    cpsid   aif, #0x13

    @ r4: the difference of physical and linked addresses
    adr     r4, boot_entry
    ldr     r5, =boot_entry
    sub     r4, r4, r5

    ldr     r5, =bss_start
    ldr     r6, =bss_end
    add     r5, r5, r4
    add     r6, r6, r4
    mov     r7, #0
clear:
    cmp     r5, r6
    strlo   r7, [r5], #4
    blo     clear

    @ r5: the directory; r8: a section of cached memory, for the kernel to read, write and execute
    @ (TEX = 1, AP = 1, C, B)
    ldr     r5, =kernel_directory
    add     r5, r5, r4
    ldr     r8, =0x140e

    ldr     r6, =KERNEL_BASE
    add     r6, r5, r6, lsr #18
    ldr     r7, =RAM_START
    orr     r7, r7, r8
    ldr     r9, =WINDOW_SECTIONS
window:
    str     r7, [r6], #4
    add     r7, r7, #0x100000
    subs    r9, r9, #1
    bne     window

    lsr     r6, pc, #20
    orr     r7, r8, r6, lsl #20
    str     r7, [r5, r6, lsl #2]

    translate
    ldr     pc, =boot_high

boot_high:
    ldr     sp, =stack_end
    bl      boot_main
    b       trap_leave

    .if     {several_cores}
@ A secondary core, entered like the boot core, which has made the identity mapping.
    .global core_boot_entry
core_boot_entry:
    cpsid   aif, #0x13
    adr     r4, core_boot_entry
    ldr     r5, =core_boot_entry
    sub     r4, r4, r5
    ldr     r5, =kernel_directory
    add     r5, r5, r4
    translate
    ldr     pc, =core_high

core_high:
    ldr     r0, =core_stack_end
    ldr     sp, [r0]
    bl      core_main
    b       trap_leave
    .endif
    .ltorg
    .purgem translate
