//! Startup of the other cores (Intel SDM vol. 3, section 10.4).
//!
//! A core that receives INIT and start-up IPIs begins in real mode at a page below 1 MiB, to which the code between
//! `core_real_mode` and `core_real_mode_end` is copied. In protected mode it continues in the image, loads the page
//! tables with which the boot core booted, and calls [`start_core`] on the stack assigned to it. The boot core
//! starts the others one by one ([`Startup`]), and runs the root task when all can run threads.

use core::arch::global_asm;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use arch_x86_64::apic::{LocalApic, Message};
use arch_x86_64::cpu::Features;
use arch_x86_64::paging::{tlb, window};
use arch_x86_64::smp::Common;
use arch_x86_64::timer::time_stamp;
use arch_x86_64::{X86_64, trap};
use kernel::Kernel;
use kernel::arch::{Arch, PhysAddr};
use kernel::boot::Startup;
use kernel::cores::Irqs;
use kernel::sched::CORES;

use super::acpi::Acpi;
use crate::{Pc99, state};

/// Stacks of all cores except the first.
pub const STACKS: usize = CORES - 1;
const STACK_SIZE: usize = 32 * 1024;
const PAGE: usize = 4096;

/// The page in which cores start. Its former contents are restored.
const START_PAGE: PhysAddr = PhysAddr(0x8000);

/// A stack, with an unmapped guard page below it.
#[repr(C, align(4096))]
struct Stack {
    guard: [u8; PAGE],
    memory: [u8; STACK_SIZE],
}

#[repr(transparent)]
struct Stacks(UnsafeCell<MaybeUninit<[Stack; STACKS]>>);
// SAFETY: each stack is used by one core only.
unsafe impl Sync for Stacks {}

static OF_CORES: Stacks = Stacks(UnsafeCell::new(MaybeUninit::zeroed()));

/// The guard page of a stack.
pub fn guard(index: usize) -> Range<usize> {
    let start = OF_CORES.0.get() as usize + index * size_of::<Stack>();
    start..start + PAGE
}

/// Data for the core that is being started.
struct Start {
    number: usize,
    registers: usize,
    common: Common,
    irqs: Irqs<X86_64<Pc99>>,
}

struct Place(UnsafeCell<MaybeUninit<Start>>);
// SAFETY: the boot core writes it while no other core runs; then only the core being started reads it.
unsafe impl Sync for Place {}

static START: Place = Place(UnsafeCell::new(MaybeUninit::uninit()));
/// The end of that core's stack.
static STACK_END: AtomicUsize = AtomicUsize::new(0);
static STARTUP: Startup = Startup::new();

/// Starts the machine's other cores, up to the supported number. Returns the number of cores.
///
/// # Panics
/// If a core does not start.
///
/// # Safety
/// Called once, by the boot core, with interrupts disabled; memory below 1 MiB is not in use.
pub unsafe fn start_others(
    kernel: &mut Kernel<X86_64<Pc99>>,
    features: Features,
    acpi: Option<&Acpi>,
) -> usize {
    let page = core::ptr::with_exposed_provenance_mut::<[u8; PAGE]>(window::to_virtual(START_PAGE));
    // SAFETY: it is memory, which is unused, and its contents are restored below.
    let before = unsafe { page.read() };
    // SAFETY: both symbols belong to the code below, which is in the window, and is shorter than a page.
    unsafe {
        let [start, end] = [&raw const core_real_mode, &raw const core_real_mode_end]
            .map(|place| window::to_virtual(PhysAddr(place as usize)));
        let code = core::ptr::with_exposed_provenance::<u8>(start);
        page.cast::<u8>()
            .copy_from_nonoverlapping(code, end - start);
    }
    let own = kernel.arch.local_apic().id();
    let common = kernel.arch.common(features);
    let others = acpi.into_iter().flat_map(Acpi::local_apics);
    let mut number = 1;
    for identifier in others.filter(|&identifier| identifier != own).take(STACKS) {
        let start = Start {
            number,
            registers: kernel.arch.local_apic().registers(),
            common,
            irqs: kernel.irqs,
        };
        // SAFETY: no core is being started now.
        unsafe { (*START.0.get()).write(start) };
        STACK_END.store(guard(number - 1).end + STACK_SIZE, Ordering::Relaxed);
        start_one(kernel, identifier, number);
        number += 1;
    }
    // SAFETY: as above; no core executes this page any more.
    unsafe { page.write(before) };
    number
}

/// Releases the other cores.
pub fn release_cores() {
    STARTUP.release();
}

/// Starts a core by the protocol of section 10.4.4.1.
fn start_one(kernel: &mut Kernel<X86_64<Pc99>>, identifier: u32, number: usize) {
    let second = kernel.arch.clock().frequency();
    let is_ready = || STARTUP.is_ready(number);
    let wait = |ticks: u64| {
        let start = time_stamp();
        while !is_ready() && time_stamp() - start < ticks {
            kernel::sync::spin_loop();
        }
    };
    let apic = kernel.arch.local_apic();
    apic.send(Message::Init, identifier);
    wait(second / 100);
    for time in [second / 5000, second] {
        if !is_ready() {
            apic.send(Message::StartUp((START_PAGE.0 / PAGE) as u8), identifier);
            wait(time);
        }
    }
    assert!(
        is_ready(),
        "core {number} (APIC {identifier}) does not start"
    );
}

/// The entry point of a core in Rust, on its stack.
extern "C" fn start_core() -> ! {
    // SAFETY: the boot core has written it, and waits.
    let start = unsafe { (*START.0.get()).assume_init_ref() };
    let &Start {
        number,
        registers,
        common,
        irqs,
    } = start;
    let features = common.features();
    // SAFETY: this is boot of this core; the boot core has created the page tables and the mapping of the
    // local APIC registers, which are at the same address for each core.
    let mut core = unsafe {
        features.enable();
        tlb::load_root(common.root());
        let local_apic = LocalApic::enable(features.x2apic, registers);
        let stack = STACK_END.load(Ordering::Relaxed);
        let arch = X86_64::secondary(number, stack, local_apic, &common);
        state::make(number, arch, irqs)
    };
    STARTUP.join(number, &mut core);
    // SAFETY: everything is initialised, and the handle is not used after this.
    unsafe { trap::return_to_user() }
}

// Symbols of the code below; only their addresses are used.
unsafe extern "C" {
    static core_real_mode: u8;
    static core_real_mode_end: u8;
}

global_asm!(
    ".pushsection .boot.text, \"ax\"",
    // Code and data segments of 4 GiB each, for the instructions in between.
    ".balign 8",
    "core_descriptors: .quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff",

    ".code16",
    ".global core_real_mode, core_real_mode_end",
    "core_real_mode:",
    "cli",
    "cld",
    "mov ax, cs",
    "mov ds, ax",
    // `lgdt` with an address in the page and a 32-bit base; the assembler does not accept the difference.
    ".byte 0x66, 0x0f, 0x01, 0x16",
    ".word core_descriptors_pointer - core_real_mode",
    // Protected mode, with caches enabled: after a reset they are disabled.
    "mov eax, cr0",
    "and eax, {CACHES_OFF_MASK}",
    "or eax, 1",
    "mov cr0, eax",
    // A far jump with a segment and a 32-bit offset; the assembler has no syntax for it.
    ".byte 0x66, 0xea",
    ".long core_protected_mode",
    ".word 8",
    ".balign 4",
    "core_descriptors_pointer: .word 23",
    ".long core_descriptors",
    "core_real_mode_end:",

    ".code32",
    "core_protected_mode:",
    "mov eax, 16",
    "mov ds, eax",
    "mov es, eax",
    "mov ss, eax",
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
    ".byte 0xea",
    ".long core_long_mode",
    ".word 8",

    ".code64",
    "core_long_mode:",
    "xor eax, eax",
    "mov ds, eax",
    "mov es, eax",
    "mov ss, eax",
    "mov fs, eax",
    "mov gs, eax",
    "movabs rax, offset {stack_end}",
    "mov rsp, [rax]",
    "xor ebp, ebp",
    "movabs rax, offset {start_core}",
    "call rax",
    "ud2",
    ".popsection",
    // CR0.CD and CR0.NW.
    CACHES_OFF_MASK = const !(3_u32 << 29),
    stack_end = sym STACK_END,
    start_core = sym start_core,
);
