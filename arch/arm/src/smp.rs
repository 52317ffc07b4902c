//! Starting the secondary cores: the part that all boards have in common.
//!
//! The boot core starts one core after the other ([`Startup`]). Each sets itself up on a stack of its own. The boot
//! core runs the root task when all of them can run threads.

use core::arch::asm;
use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use kernel::arch::Arch;
use kernel::boot::Startup;
use kernel::cores::{CoreHandle, Kernels};
use kernel::sched::CORES;
use kernel::sync::spin_loop;

use crate::timer::Timer;

/// Number of secondary cores.
const OTHERS: usize = CORES - 1;
const STACK_SIZE: usize = 32 * 1024;
const PAGE: usize = 4096;

/// A stack, and below it a guard page that is not mapped.
#[repr(C, align(4096))]
struct Stack {
    guard: [u8; PAGE],
    memory: [u8; STACK_SIZE],
}

struct Stacks(UnsafeCell<MaybeUninit<[Stack; OTHERS]>>);
// SAFETY: each element is used by one core, as its stack.
unsafe impl Sync for Stacks {}

static STACKS: Stacks = Stacks(UnsafeCell::new(MaybeUninit::zeroed()));

/// The end of the stack of the core that is being started, for boot code.
#[unsafe(no_mangle)]
static core_stack_end: AtomicUsize = AtomicUsize::new(0);
static STARTUP: Startup = Startup::new();

/// The guard pages below the stacks, which must not be mapped.
pub fn guards() -> impl Iterator<Item = Range<usize>> {
    let first = STACKS.0.get() as usize;
    (0..OTHERS).map(move |index| {
        let start = first + index * size_of::<Stack>();
        start..start + PAGE
    })
}

/// The end of the stack of a secondary core.
pub fn stack_end(core: usize) -> usize {
    STACKS.0.get() as usize + core * size_of::<Stack>()
}

/// The data that a starting core reads while its cache may be disabled.
pub fn hand_over() -> Range<usize> {
    let start = &raw const core_stack_end as usize;
    start..start + size_of::<usize>()
}

/// The number of the core that is being started.
pub fn starting() -> usize {
    let end = core_stack_end.load(Ordering::Relaxed);
    (end - STACKS.0.get() as usize) / size_of::<Stack>()
}

/// Starts up to `CORES` cores, each by `start`, which returns whether the core exists. Returns the number
/// of cores.
///
/// # Panics
/// If a core that exists does not become ready.
pub fn start_others(timer: &impl Timer, mut start: impl FnMut(usize) -> bool) -> usize {
    for core in 1..CORES {
        core_stack_end.store(stack_end(core), Ordering::Release);
        if !start(core) {
            return core;
        }
        let begin = timer.now().0;
        while !STARTUP.is_ready(core) {
            let passed = timer.now().0 - begin;
            assert!(
                passed < timer.clock().frequency(),
                "core {core} does not start"
            );
            spin_loop();
        }
    }
    CORES
}

/// Makes the kernel of a secondary core, passes its address to `keep`, and lets the core join the others.
///
/// # Safety
/// Called once on each secondary core, after the boot core has made its own kernel.
pub unsafe fn join<A: Arch>(
    kernels: &'static Kernels<A>,
    core: usize,
    arch: A,
    keep: impl FnOnce(usize),
) -> CoreHandle<A> {
    // SAFETY: the boot core has made its kernel, and waits.
    let irqs = unsafe { kernels.read(0) }.irqs;
    // SAFETY: by contract.
    let mut handle = unsafe { kernels.make(core, arch, irqs) };
    keep(kernels.address(core));
    STARTUP.join(core, &mut handle);
    handle
}

/// Releases the secondary cores.
pub fn release_cores() {
    STARTUP.release();
}

/// A core that is interrupted after this call sees all earlier writes.
pub(crate) fn publish() {
    // SAFETY: a barrier.
    unsafe { asm!("dsb ishst", options(nostack, preserves_flags)) };
}
