//! A machine that has booted the kernel, and its root task.
//!
//! The test plays all programs. Threads other than the root task are [`Task`]s; a running task may
//! make system calls ([`Machine::syscall`] and related methods). The root task sets everything up,
//! then [rests](Machine::rest): it waits at the highest priority for an interrupt on the bell line.
//! When the test needs the root task afterwards, it raises that line, so the kernel sees only events
//! that occur on real hardware.

mod cores;
mod entry;
mod inspect;
mod message;
mod objects;
mod place;
mod root;
mod snapshot;
mod tasks;

pub use cores::handle_requests;
pub use entry::Operands;
pub use inspect::State;
pub use message::{Message, Received};
use place::Place;
pub use root::{Answer, answer};
pub use snapshot::Snapshot;
pub use tasks::{Budget, Spec, Task};

use std::ptr::NonNull;

use abi::BootInfo;
use kernel::Kernel;
use kernel::arch::{Arch, Irq, PhysAddr};
use kernel::boot::{BootParameters, RootTaskImage, start};
use kernel::cap::Cap;
use kernel::cores::Irqs;
use kernel::object::{IrqEntry, Thread, ThreadSlot};
use kernel::time::Ticks;
use kernel::token::Ptr;

use crate::arch::{Arena, Host};

/// The address of a capability in the CSpace of the root task, which all tasks share: the index of a
/// slot in the initial CNode.
pub type CPtr = usize;

/// The interrupt line that wakes the root task.
const BELL: Irq = Irq(0);
const PAGE: usize = 4096;
/// log2 of the memory of a machine; less in Miri, where each write takes long.
const MEMORY_BITS: usize = if cfg!(miri) { 18 } else { 20 };
/// The virtual address of the root task's image.
const IMAGE: usize = 0x40_0000;

/// A hook that runs before each system call, just after the thread has executed the instruction.
pub type BeforeCalls = Box<dyn FnMut(&mut Machine)>;

/// An interval of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Address of the scheduling context that was charged.
    pub context: usize,
    /// Start of the interval.
    pub start: Ticks,
    /// End of the interval.
    pub end: Ticks,
}

/// A kernel entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Time of the entry, in microseconds.
    pub time: u64,
    /// The thread that ran.
    pub thread: Option<Ptr<Thread<Host>>>,
    /// The reason for the entry.
    pub cause: Cause,
    /// Whether all consumed time was committed at this entry: the kernel may postpone that.
    pub charged: bool,
}

/// Why the kernel was entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A system call: its number, its operands, and the message in registers and buffer.
    Call(usize, Operands, Message),
    /// A fault.
    Fault,
    /// An interrupt line that belongs to user level.
    Line(usize),
    /// The timer, or an IPI.
    Timer,
}

/// A machine.
pub struct Machine {
    /// The kernel, with the architecture in its field `arch`.
    pub kernel: &'static mut Kernel<Host>,
    /// The boot information of the root task.
    pub boot_info: Box<BootInfo>,
    /// The root task.
    pub root: Task,
    /// Number of kernel entries.
    pub entries: usize,
    /// The contexts charged for the time that has passed, if recording is on.
    pub history: Option<Vec<Slice>>,
    /// Every kernel entry, if recording is on.
    pub log: Option<Vec<Entry>>,
    /// Whether the cores that do not act take their interrupts only when they act next.
    #[cfg(feature = "smp")]
    pub others_are_late: bool,
    /// Whether system calls are taken only after pending IPIs.
    pub calls_are_slow: bool,
    /// The hook before each system call.
    pub before_calls: Option<BeforeCalls>,
    root_space: Cap<Host>,
    next_slot: CPtr,
    pool: CPtr,
    bell: Option<Bell>,
    place: Place,
    // Dropped last: the kernel's objects lie in this memory.
    arena: Arena,
}

/// The capabilities by which the root task is woken.
#[derive(Clone, Copy)]
struct Bell {
    notification: CPtr,
    handler: CPtr,
}

impl Machine {
    /// A machine with 1 MiB of memory and a running root task.
    pub fn new() -> Self {
        Self::with_memory(MEMORY_BITS)
    }

    /// A machine with `2^bits` bytes of memory.
    ///
    /// # Panics
    /// If that is not enough to boot.
    pub fn with_memory(bits: usize) -> Self {
        Self::with_image(bits, 1)
    }

    /// A machine with `2^bits` bytes of memory and a root task of this many pages.
    ///
    /// # Panics
    /// If that is not enough to boot.
    pub fn with_image(bits: usize, pages: usize) -> Self {
        Self::make(bits, pages, 1)
    }

    /// A machine with 1 MiB of memory and this many cores; its root task runs on core 0.
    ///
    /// # Panics
    /// If the kernel was built for fewer.
    pub fn with_cores(cores: usize) -> Self {
        Self::with_memory_and_cores(MEMORY_BITS, cores)
    }

    /// The same with `2^bits` bytes of memory.
    ///
    /// # Panics
    /// If that is not enough to boot, or the kernel was built for fewer cores.
    pub fn with_memory_and_cores(bits: usize, cores: usize) -> Self {
        Self::make(bits, 1, cores)
    }

    fn make(bits: usize, pages: usize, cores: usize) -> Self {
        let arena = Arena::new(bits);
        let all = arena.range();
        // From the top: the root task's image, and a page with the table of interrupt lines.
        let image = PhysAddr(all.end.0 - pages * PAGE)..all.end;
        let table = PhysAddr(image.start.0 - PAGE);
        let place = Place::new();
        // SAFETY: the arena outlives the kernel, and nothing else uses this memory.
        let irqs = Irqs::new(unsafe { interrupt_table(table) });
        for core in 0..cores {
            // SAFETY: each is made once, before there are threads.
            unsafe { place.kernels().make(core, Host::new(), irqs) };
        }
        let ram = [all.start..table];
        let parameters = BootParameters {
            root_task: RootTaskImage::new(image.clone(), IMAGE, IMAGE),
            ram: &ram,
            reserved: &[table..all.end],
            // Imaginary devices, at addresses that the host does not use.
            device_top: 1 << 16,
            extra: &[],
            nodes: cores,
            io_page_table_levels: usize::MAX,
            laid_out: None,
        };
        // SAFETY: no other handle of it exists.
        let mut first = unsafe { place.kernels().handle(0) };
        start(&mut first.enter_exclusive(), &parameters);
        for core in 1..cores {
            // SAFETY: no other handle of it exists.
            unsafe { place.kernels().handle(core) }.join();
        }

        // SAFETY: as above; each core may have used the kernels of the others.
        let kernel = unsafe { place.kernels().get(0) };
        let thread = kernel.core.current.expect("the root task runs");
        let space = kernel[thread].cap(ThreadSlot::CSpace);
        let root = Task::initial(thread);
        kernel[thread].name = tasks::name("root");
        let mut machine = Self {
            boot_info: read_boot_info(kernel, space),
            kernel,
            root,
            entries: 0,
            #[cfg(feature = "smp")]
            others_are_late: false,
            calls_are_slow: false,
            before_calls: None,
            history: None,
            log: None,
            root_space: space,
            next_slot: 0,
            pool: 0,
            bell: None,
            place,
            arena,
        };
        machine.next_slot = machine.boot_info.empty.start;
        machine.pool = machine.largest_untyped();
        machine.check();
        machine
    }

    /// Checks all invariants that hold between kernel entries.
    ///
    /// # Panics
    /// If an invariant is violated.
    pub fn check(&self) {
        if let Err(violation) = crate::census::check(self.kernel, &[self.root_space]) {
            panic!("{violation:x?}, at {} µs", self.now());
        }
        check_processor(self.kernel);
        self.check_other_cores();
    }

    /// The untyped memory that objects are made from.
    pub fn pool(&self) -> CPtr {
        self.pool
    }

    fn largest_untyped(&self) -> CPtr {
        let region = self.boot_info.untyped;
        let descriptors = self.boot_info.untyped_list.iter().take(region.len());
        (region.start..region.end)
            .zip(descriptors)
            .filter(|(_, descriptor)| descriptor.is_device == 0)
            .max_by_key(|(_, descriptor)| descriptor.size_bits)
            .map(|(slot, _)| slot)
            .expect("there is untyped memory")
    }
}

fn check_processor(kernel: &Kernel<Host>) {
    assert_eq!(
        kernel.arch.running, kernel.core.current,
        "the processor runs the thread that the kernel chose"
    );
    assert_eq!(
        kernel.arch.deadline,
        kernel.timer_deadline(),
        "the timer is programmed for the kernel's deadline"
    );
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

/// The table of interrupt lines, in memory of the machine.
///
/// # Safety
/// The memory must be a page that is never freed while in use and that nothing else uses.
unsafe fn interrupt_table(address: PhysAddr) -> &'static mut [IrqEntry<Host>] {
    const { assert!(Host::INTERRUPTS * size_of::<IrqEntry<Host>>() <= PAGE) };
    let first = address.0 as *mut IrqEntry<Host>;
    for line in 0..Host::INTERRUPTS {
        // SAFETY: within the page, which is aligned.
        unsafe { first.add(line).write(IrqEntry::EMPTY) };
    }
    // SAFETY: initialised above.
    unsafe { std::slice::from_raw_parts_mut(first, Host::INTERRUPTS) }
}

fn read_boot_info(kernel: &Kernel<Host>, space: Cap<Host>) -> Box<BootInfo> {
    let slot = kernel.lookup_cap(space, abi::slots::BOOT_INFO_FRAME);
    let frame = slot
        .ok()
        .and_then(|slot| inspect::frame(&kernel[slot].cap()));
    let address = frame.expect("there is boot information").address;
    let pointer = NonNull::new(Host::to_virtual(address) as *mut BootInfo);
    // SAFETY: the frame holds boot information, which does not change.
    Box::new(unsafe { pointer.expect("frames are not at zero").read() })
}
