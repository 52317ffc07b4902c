//! A machine on which the kernel has booted, and its root task.
//!
//! The test plays all programs. Threads other than the root task are [`Task`]s; a task that is running
//! may make system calls ([`Machine::syscall`] and its friends). The root task sets everything up, then
//! [rests](Machine::rest): it waits, at the highest priority, for a bell on an interrupt line. When the
//! test wants something done by it afterwards, the bell is rung, so even then all that the kernel sees
//! is what happens on a real machine.

#[cfg(feature = "smp")]
mod cores;
mod entry;
mod inspect;
mod message;
mod objects;
mod place;
mod root;
mod snapshot;
mod tasks;

#[cfg(feature = "smp")]
pub use cores::attend;
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

/// The address of a capability in the space of the root task, which all tasks share: the number of a
/// slot in the initial CNode.
pub type CPtr = usize;

/// The line with the bell for the root task.
const BELL: Irq = Irq(0);
const PAGE: usize = 4096;
/// Where the image of the root task claims to be.
const IMAGE: usize = 0x40_0000;

/// What a test does before each system call, just after its thread has executed the instruction.
pub type BeforeCalls = Box<dyn FnMut(&mut Machine)>;

/// Somebody ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Address of the scheduling context that paid.
    pub context: usize,
    /// From when,
    pub start: Ticks,
    /// to when.
    pub end: Ticks,
}

/// A way into the kernel that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When, in microseconds.
    pub time: u64,
    /// The thread that ran.
    pub thread: Option<Ptr<Thread<Host>>>,
    /// Why.
    pub cause: Cause,
    /// Whether the time used until then was charged: the kernel may put that off.
    pub charged: bool,
}

/// Why the kernel was entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A system call: its number, its operands, and the message in registers and buffer.
    Call(usize, Operands, Message),
    /// A fault.
    Fault,
    /// A line that belongs to users.
    Line(usize),
    /// The timer.
    Timer,
}

/// A machine.
pub struct Machine {
    /// The kernel, with the architecture in [`Kernel::arch`].
    pub kernel: &'static mut Kernel<Host>,
    /// What the root task was told.
    pub boot_info: Box<BootInfo>,
    /// The root task.
    pub root: Task,
    /// How often the kernel was entered.
    pub entries: usize,
    /// Who paid for the time that has passed, if somebody wants to know.
    pub history: Option<Vec<Slice>>,
    /// Every way into the kernel that was taken, if somebody wants to know.
    pub log: Option<Vec<Entry>>,
    /// Whether the cores that don't act take their interrupts later, when they act.
    #[cfg(feature = "smp")]
    pub others_are_late: bool,
    /// System calls are faster than the interrupts of other cores.
    pub calls_are_slow: bool,
    /// What is done before each system call.
    pub before_calls: Option<BeforeCalls>,
    root_space: Cap<Host>,
    next_slot: CPtr,
    pool: CPtr,
    bell: Option<Bell>,
    #[cfg_attr(not(feature = "smp"), expect(dead_code, reason = "to be freed"))]
    place: Place,
    // Last, because it is freed last: the kernel's objects lie in it.
    arena: Arena,
}

/// How the root task is woken.
#[derive(Clone, Copy)]
struct Bell {
    notification: CPtr,
    handler: CPtr,
}

impl Machine {
    /// A machine with 1 MiB of memory, whose root task runs.
    pub fn new() -> Self {
        Self::with_memory(20)
    }

    /// A machine with `2^bits` bytes of memory.
    ///
    /// # Panics
    /// Where that is not enough to boot.
    pub fn with_memory(bits: usize) -> Self {
        Self::with_image(bits, 1)
    }

    /// A machine with `2^bits` bytes of memory, whose root task has so many pages.
    ///
    /// # Panics
    /// Where that is not enough to boot.
    pub fn with_image(bits: usize, pages: usize) -> Self {
        Self::make(bits, pages, 1)
    }

    /// A machine with 1 MiB of memory and so many cores; its root task runs on core 0.
    #[cfg(feature = "smp")]
    pub fn with_cores(cores: usize) -> Self {
        Self::make(20, 1, cores)
    }

    fn make(bits: usize, pages: usize, cores: usize) -> Self {
        let arena = Arena::new(bits);
        let all = arena.range();
        // From the top: the root task's image, and a page with the table of interrupt lines.
        let image = PhysAddr(all.end.0 - pages * PAGE)..all.end;
        let table = PhysAddr(image.start.0 - PAGE);
        let place = Place::new();
        // SAFETY: the arena outlives the kernel, and nobody else uses this memory.
        let irqs = Irqs::new(unsafe { interrupt_table(table) });
        for core in 0..cores {
            // SAFETY: each is made once, before there are threads.
            unsafe { place.kernels().make(core, Host::new(), irqs) };
        }
        // SAFETY: nobody else uses it.
        let kernel = unsafe { place.kernels().get(0) };
        let ram = [all.start..table];
        let parameters = BootParameters {
            root_task: RootTaskImage::new(image.clone(), IMAGE, IMAGE),
            ram: &ram,
            reserved: &[table..all.end],
            // Imaginary devices at addresses that the host does not use.
            device_top: 1 << 16,
            extra: &[],
            nodes: cores,
            io_page_table_levels: usize::MAX,
        };
        start(kernel, &parameters);
        #[cfg(feature = "smp")]
        for core in 1..cores {
            // SAFETY: nobody uses it yet.
            unsafe { place.kernels().get(core) }.join();
        }

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

    /// Checks everything that must hold between kernel entries.
    ///
    /// # Panics
    /// Where something does not.
    pub fn check(&self) {
        if let Err(violation) = crate::census::check(self.kernel, &[self.root_space]) {
            panic!("{violation:x?}, at {} µs", self.now());
        }
        check_processor(self.kernel);
        #[cfg(feature = "smp")]
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
        "the processor runs whom the kernel chose"
    );
    assert_eq!(
        kernel.arch.deadline,
        kernel.alarm(),
        "the timer is armed for what the kernel thinks"
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
/// The memory must be a page that lives on and that nobody else uses.
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
    let slot = kernel::cap::lookup_cap(kernel, space, abi::slots::BOOT_INFO_FRAME);
    let frame = slot
        .ok()
        .and_then(|slot| inspect::frame(&kernel[slot].cap()));
    let address = frame.expect("there is boot information").address;
    let pointer = NonNull::new(Host::to_virtual(address) as *mut BootInfo);
    // SAFETY: the frame holds boot information, which nobody changes.
    Box::new(unsafe { pointer.expect("frames are not at zero").read() })
}
