//! From the boot loader to 64-bit code at the kernel's addresses.
//!
//! A multiboot loader (Multiboot Specification 0.6.96, section 3) leaves the processor in 32-bit protected mode
//! without paging. The switch to 64-bit mode follows Intel SDM vol. 3, section 11.8.5. The page tables created
//! here map the first GiB of memory three times: identically, in the window, and at the image's addresses. They
//! are used until [`super::start`] replaces them.

use core::arch::global_asm;

use arch_x86_64::paging::{IMAGE_BASE, IMAGE_END, Level, window};

/// Value of EAX if a multiboot loader has started the kernel.
pub const LOADER_MAGIC: u32 = 0x2bad_b002;

const HEADER_MAGIC: u32 = 0x1bad_b002;
/// Requests to the loader: page-aligned modules, and the memory map.
const HEADER_FLAGS: u32 = 1 << 0 | 1 << 1;

global_asm!(
    // For the linker script.
    ".global image_limit",
    ".set image_limit, {IMAGE_END}",

    ".pushsection .boot.header, \"a\"",
    ".balign 4",
    ".long {HEADER_MAGIC}, {HEADER_FLAGS}, {HEADER_CHECKSUM}",
    ".popsection",

    ".pushsection .boot.bss, \"aw\", @nobits",
    ".balign 4096",
    ".global boot_root",
    "boot_root: .skip 4096",
    "boot_pointers: .skip 4096",
    "boot_directory: .skip 4096",
    ".popsection",

    ".pushsection .boot.text, \"ax\"",
    ".balign 8",
    // Only a 64-bit code segment is needed.
    "boot_descriptors: .quad 0, 0x00209a0000000000",
    ".global boot_descriptors_pointer",
    "boot_descriptors_pointer: .word 15",
    ".long boot_descriptors",

    ".code32",
    ".global _start",
    "_start:",
    "cli",
    "cld",
    "mov edi, eax",
    "mov esi, ebx",
    // Without 64-bit mode, halt; no console is initialised that could report this.
    "mov eax, 0x80000001",
    "cpuid",
    "bt edx, 29",
    "jnc 3f",

    "mov eax, offset boot_pointers",
    "or eax, 3",
    "mov dword ptr [boot_root], eax",
    "mov dword ptr [boot_root + 8 * {WINDOW_IN_ROOT}], eax",
    "mov dword ptr [boot_root + 8 * {IMAGE_IN_ROOT}], eax",
    "mov eax, offset boot_directory",
    "or eax, 3",
    "mov dword ptr [boot_pointers], eax",
    "mov dword ptr [boot_pointers + 8 * {IMAGE_IN_POINTERS}], eax",
    "xor ecx, ecx",
    "2:",
    "mov eax, ecx",
    "shl eax, 21",
    "or eax, 0x83",
    "mov dword ptr [boot_directory + 8 * ecx], eax",
    "inc ecx",
    "cmp ecx, 512",
    "jne 2b",

    // CR4.PAE, the root, EFER.LME, then CR0.PG.
    "mov eax, cr4",
    "or eax, 1 << 5",
    "mov cr4, eax",
    "mov eax, offset boot_root",
    "mov cr3, eax",
    "mov ecx, 0xc0000080",
    "rdmsr",
    "or eax, 1 << 8",
    "wrmsr",
    "mov eax, cr0",
    "or eax, 1 << 31",
    "mov cr0, eax",
    "lgdt [boot_descriptors_pointer]",
    // A far jump, which loads the code segment; the assembler has no syntax for it.
    ".byte 0xea",
    ".long boot_long_mode",
    ".word 8",
    "3:",
    "hlt",
    "jmp 3b",

    ".code64",
    "boot_long_mode:",
    "xor eax, eax",
    "mov ds, eax",
    "mov es, eax",
    "mov ss, eax",
    "mov fs, eax",
    "mov gs, eax",
    "mov edi, edi",
    "mov esi, esi",
    "movabs rsp, offset image_end",
    "xor ebp, ebp",
    "movabs rax, offset {start}",
    "call rax",
    "ud2",
    ".popsection",
    HEADER_MAGIC = const HEADER_MAGIC,
    HEADER_FLAGS = const HEADER_FLAGS,
    HEADER_CHECKSUM = const 0_u32.wrapping_sub(HEADER_MAGIC).wrapping_sub(HEADER_FLAGS),
    WINDOW_IN_ROOT = const Level::Root.index(window::BASE),
    IMAGE_END = const IMAGE_END,
    IMAGE_IN_ROOT = const Level::Root.index(IMAGE_BASE),
    IMAGE_IN_POINTERS = const Level::Pointers.index(IMAGE_BASE),
    start = sym super::start,
);
