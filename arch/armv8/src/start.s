// From the boot loader to Rust code.
//
// Entered at the physical address of `boot_entry`, at exception level 2 or 1, with the MMU disabled. x0 is
// the physical address of a device tree, or 0. Or entered at `loader_entry` with the MMU enabled, see there.
// Maps the GiB of physical memory that contains the image, with all permissions, at its physical address, in
// the kernel's window and at the address to which the image is linked; `kernel_space.rs` later removes what
// is not needed.
//
// Arm ARM (DDI 0487): sections D8.3 (descriptors), D19.2 (system registers).

    // Continues at `target` at level 1, from the current level, which x20 then has
    .macro  to_level_1 target
    mrs     x20, CurrentEL
    lsr     x20, x20, #2
    cmp     x20, #2
    b.lo    \target
    b.hi    stop

    // Level 1 uses AArch64 (HCR_EL2.RW), and none of its accesses trap: timers, floating point, performance
    // monitors, system registers of the interrupt controller
    mov     x1, #(1 << 31)
    msr     hcr_el2, x1
    mov     x1, #3
    msr     cnthctl_el2, x1
    msr     cntvoff_el2, xzr
    mov     x1, #0x33ff
    msr     cptr_el2, x1
    msr     hstr_el2, xzr
    mrs     x1, pmcr_el0
    ubfx    x1, x1, #11, #5
    msr     mdcr_el2, x1
    mrs     x1, midr_el1
    msr     vpidr_el2, x1
    mrs     x1, mpidr_el1
    msr     vmpidr_el2, x1
    mrs     x1, id_aa64pfr0_el1
    ubfx    x1, x1, #24, #4
    cbz     x1, 9f
    mrs     x1, S3_4_C12_C9_5           // ICC_SRE_EL2: SRE and Enable
    orr     x1, x1, #1
    orr     x1, x1, #8
    msr     S3_4_C12_C9_5, x1
    isb
    msr     S3_4_C12_C11_0, xzr         // ICH_HCR_EL2
9:  ldr     x1, =0x30d00800             // SCTLR_EL1: the bits that are reserved as one
    msr     sctlr_el1, x1
    mov     x1, #0x3c5                  // level 1 with its own stack pointer, exceptions masked
    msr     spsr_el2, x1
    adr     x1, \target
    msr     elr_el2, x1
    eret
    .endm

    // Enables translation by the table at x3
    .macro  translate
    ldr     x1, ={memory_attributes}
    msr     mair_el1, x1
    // Sizes and granules ({boot_translation_control}), and the implemented physical address size
    ldr     x1, ={boot_translation_control}
    mrs     x2, id_aa64mmfr0_el1
    and     x2, x2, #0xf
    mov     x6, #5
    cmp     x2, x6
    csel    x2, x2, x6, lo
    bfi     x1, x2, #32, #3
    msr     tcr_el1, x1
    msr     ttbr0_el1, x3
    msr     ttbr1_el1, x3
    isb
    tlbi    vmalle1
    ic      iallu
    dsb     sy
    isb
    ldr     x1, ={system_control}
    msr     sctlr_el1, x1
    isb
    .endm

    // Performs a cache operation on the lines of the addresses from x1 to x2, by the smallest line (Arm ARM,
    // CTR_EL0.DminLine), and waits for its end. Changes x1, x6 and x7
    .macro  maintain operation
    mrs     x6, ctr_el0
    ubfx    x6, x6, #16, #4
    mov     x7, #4
    lsl     x6, x7, x6
8:  dc      \operation, x1
    add     x1, x1, x6
    cmp     x1, x2
    b.lo    8b
    dsb     sy
    .endm

    // x1 and x2: where the variables begin and end
    .macro  variables
    adrp    x1, bss_start
    add     x1, x1, :lo12:bss_start
    adrp    x2, bss_end
    add     x2, x2, :lo12:bss_end
    .endm

    .section .boot, "ax"
    .global boot_entry
boot_entry:
    msr     daifset, #0xf
    mov     x19, x0
    mov     x21, xzr                    // no initial task but that of the image
    mov     x22, xzr
    to_level_1 at_level_1

stop:
    wfi
    b       stop

at_level_1:
    msr     spsel, #1
    // With the MMU off, stores go to memory past the caches (Arm ARM, section D8.2, "The effects of disabling an address
    // translation stage"). So the lines of the variables are invalidated twice: before, as the eviction of a modified one
    // would overwrite memory, and afterwards, as the processor may have read lines speculatively meanwhile. Invalidation is
    // not ordered after stores that are not cached unless a barrier is in between (section D7.5.9, "Ordering and completion
    // of data and instruction cache instructions").
    variables
    maintain ivac
    variables
1:  stp     xzr, xzr, [x1], #16
    cmp     x1, x2
    b.lo    1b

    // x3: the table, one of the variables; x4: index of the image's GiB; x5: a block for it, cached memory (AF, inner
    // shareable, attributes 2) that level 1 may read, write and execute
    adrp    x3, kernel_table
    add     x3, x3, :lo12:kernel_table
    adr     x4, boot_entry
    lsr     x4, x4, #30
    lsl     x5, x4, #30
    mov     x6, #0x709
    orr     x5, x5, x6
    str     x5, [x3, x4, lsl #3]
    str     x5, [x3, #{image_index} * 8]
    dsb     sy
    variables
    maintain ivac

    translate
    ldr     x1, =boot_high
    br      x1

boot_high:
    ldr     x1, =stack_end
    mov     sp, x1
    mov     x0, x19
    mov     x1, x20
    mov     x2, x21
    mov     x3, x22
    mov     x4, x23
    mov     x5, x24
    bl      boot_main
    b       trap_leave

// Entered by a loader that has put kernel and initial task into memory, on every core, in any order: at level 1, MMU and
// caches enabled, both halves of 48 bits, the kernel mapped at its link addresses, memory type 4 cached. Its physical
// addresses are not mapped. x0 and x1: where the initial task begins and ends, x2: its physical minus its virtual
// addresses, x3: its entry point, x4: the address of a device tree, or 0. TPIDR_EL1: the number of the core.
//
// The loader's tables are in memory that users get, so every core leaves them immediately, and a core that has
// to wait does so with its MMU off.
    .global loader_entry
loader_entry:
    msr     daifset, #0xf
    mov     x19, x4
    mov     x20, #1
    mov     x21, x0
    mov     x22, x1
    mov     x23, x2
    mov     x24, x3
    mrs     x25, tpidr_el1
    // What the loader has written into the image leaves the caches: a core whose MMU is off reads and fetches
    // past them (section B2.4). The image is inner shareable, so this holds for the caches of all cores
    // (section D7.5); but the first core to arrive has to do it. A core that arrives after the boot core has
    // begun to change the image finds no line that is older than memory, and changes nothing.
    ldr     x1, =image_start
    ldr     x2, =image_end
    maintain civac

    ldr     x1, =identity_physical
    msr     ttbr0_el1, x1
    isb
    tlbi    vmalle1
    dsb     nsh
    isb
    adr     x1, 3f
    ldr     x2, =IMAGE_OFFSET
    sub     x1, x1, x2
    ldr     x3, =0x30d00800             // SCTLR_EL1: the bits that are reserved as one
    br      x1
3:  msr     sctlr_el1, x3
    isb
    cbz     x25, at_level_1

    .if     {several_cores}
    // Until it is this core's turn
    adrp    x1, released_core
    add     x1, x1, :lo12:released_core
4:  ldr     x2, [x1]
    cmp     x2, x25
    b.eq    5f
    wfe
    b       4b
5:  mov     x19, x25
    b       core_at_level_1
    .else
    b       stop
    .endif

    .if     {several_cores}
// A secondary core, entered like the boot core, but with its number in x0. The table of boot code is
// unchanged.
    .global core_boot_entry
core_boot_entry:
    msr     daifset, #0xf
    mov     x19, x0
    to_level_1 core_at_level_1

core_at_level_1:
    msr     spsel, #1
    adrp    x3, kernel_table
    add     x3, x3, :lo12:kernel_table
    translate
    ldr     x1, =core_high
    br      x1

core_high:
    ldr     x1, =core_stack_end
    ldr     x1, [x1]
    mov     sp, x1
    mov     x0, x19
    bl      core_main
    b       trap_leave
    .endif
    .ltorg

    .purgem to_level_1
    .purgem translate
    .purgem maintain
    .purgem variables
