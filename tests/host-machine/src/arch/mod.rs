//! An architecture without hardware: its clock, timer and interrupt lines do what the test says.

mod cap;
mod context;
mod memory;

pub use cap::HostCap;
pub use context::Registers;
pub use memory::Arena;

use std::cell::{Cell, RefCell};
use std::ops::Range;

use abi::sizes::{ASID_POOL_BITS, PAGE_BITS, VSPACE_BITS};
use abi::{Method, ObjectType, Rights, slots};
use kernel::ExclusiveKernel;
use kernel::arch::{Arch, ArchCap, BootSpace, Exit, Frame, Irq, PhysAddr};
use kernel::boot::BootAllocator;
use kernel::cap::{Cap, RawCap};
use kernel::invoke::{Answer, Error, Invocation, Outcome};
use kernel::object::Thread;
use kernel::sched::Scheduler;
use kernel::time::{Clock, Ticks};
use kernel::token::Ptr;

/// An interrupt line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// The device requests an interrupt.
    pub raised: bool,
    /// The kernel has masked the line.
    pub masked: bool,
}

/// The host as an architecture, and the state of its imaginary devices. One tick is one microsecond.
#[derive(Debug)]
pub struct Host {
    /// The time. It does not advance while the kernel executes, except by `time_per_look`.
    pub time: Cell<Ticks>,
    /// How much time each read of the clock takes: the cost of kernel execution.
    pub time_per_look: Ticks,
    /// The time at which the timer fires.
    pub deadline: Ticks,
    /// The interrupt lines.
    pub lines: [Line; Self::INTERRUPTS],
    /// A line that is raised during a kernel entry, after the kernel has passed this many preemption
    /// points.
    pub ambush: Option<(usize, Irq)>,
    /// Whether fast paths always read the clock.
    pub reads_clock_in_fast_paths: bool,
    /// Whether the kernel takes fast paths.
    pub fast_paths: bool,
    /// The thread that the kernel told the processor to run.
    pub running: Option<Ptr<Thread<Self>>>,
    /// The thread with floating-point registers still loaded on this core.
    pub held: Option<Ptr<Thread<Self>>>,
    /// The cores to which this core has sent an IPI, as a bit mask.
    pub calls: u64,
}

/// The line that the kernel reserves for itself.
pub const TIMER_LINE: Irq = Irq(Host::INTERRUPTS - 1);

thread_local! {
    static CONSOLE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Takes the console output of the kernels on this host thread.
pub fn take_console() -> String {
    CONSOLE.take()
}

impl Host {
    /// The host at time zero, all lines masked.
    pub fn new() -> Self {
        let masked = Line {
            raised: false,
            masked: true,
        };
        Self {
            time: Cell::new(Ticks::ZERO),
            time_per_look: Ticks::ZERO,
            deadline: Ticks::NEVER,
            lines: [masked; Self::INTERRUPTS],
            ambush: None,
            reads_clock_in_fast_paths: true,
            fast_paths: true,
            running: None,
            held: None,
            calls: 0,
        }
    }

    /// A line that is raised and not masked.
    pub fn pending_line(&self) -> Option<Irq> {
        let pending = |line: &Line| line.raised && !line.masked;
        self.lines.iter().position(pending).map(Irq)
    }

    /// Whether the timer fires.
    pub fn timer_fires(&self) -> bool {
        self.deadline <= self.time.get()
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Arch for Host {
    type Context = Registers;
    type Cap = HostCap;

    const INTERRUPTS: usize = 16;
    const SCHED_CONTROL_FIRST: bool = true;
    // As often as possible, so that tests can interrupt long operations at every step.
    const WORK_PER_PREEMPTION_POINT: usize = 1;

    fn reads_clock_in_fast_paths(&self) -> bool {
        self.reads_clock_in_fast_paths
    }

    fn has_fast_paths(&self) -> bool {
        self.fast_paths
    }

    fn now(&self) -> Ticks {
        self.time
            .set(self.time.get().saturating_add(self.time_per_look));
        self.time.get()
    }

    fn set_deadline(&mut self, deadline: Ticks) {
        self.deadline = deadline;
    }

    fn clock(&self) -> &Clock {
        const { &Clock::new(1_000_000) }
    }

    fn interrupt_pending(&mut self) -> bool {
        match &mut self.ambush {
            Some((0, irq)) => {
                self.lines[irq.0].raised = true;
                self.ambush = None;
            }
            Some((looks, _)) => *looks -= 1,
            None => {}
        }
        self.pending_line().is_some() || self.timer_fires()
    }

    fn mask_interrupt(&mut self, irq: Irq, masked: bool) {
        self.lines[irq.0].masked = masked;
    }

    fn is_reserved(&self, irq: Irq) -> bool {
        irq == TIMER_LINE
    }

    fn plain_interrupt(&self, number: usize) -> Result<Irq, Error> {
        if number < Self::INTERRUPTS {
            Ok(Irq(number))
        } else {
            Err(Error::range(0, Self::INTERRUPTS - 1))
        }
    }

    fn to_virtual(address: PhysAddr) -> usize {
        address.0
    }

    fn to_physical(address: usize) -> PhysAddr {
        PhysAddr(address)
    }

    fn switch_to(kernel: &mut Scheduler<Self>, next: Option<Ptr<Thread<Self>>>) {
        kernel.arch.running = next;
        if next.is_some() {
            kernel.arch.held = next;
        }
    }

    fn release_thread(kernel: &mut Scheduler<Self>, thread: Ptr<Thread<Self>>) {
        if kernel.arch.held == Some(thread) {
            kernel.arch.held = None;
        }
    }

    type Remote = ();

    #[cfg(feature = "smp")]
    fn interrupt_core(&mut self, core: usize) {
        self.calls |= 1 << core;
    }

    fn perform(_: &mut Scheduler<Self>, (): ()) {}

    fn holds(&self, thread: Ptr<Thread<Self>>) -> bool {
        self.held == Some(thread)
    }

    #[cfg(feature = "smp")]
    fn wait_for(core: usize) {
        crate::machine::handle_requests(core);
    }

    fn thread_flags_changed(_: &mut Scheduler<Self>, _: Ptr<Thread<Self>>) {}

    fn object_bits(kind: ObjectType) -> Option<usize> {
        match kind {
            ObjectType::X86Pml4 => Some(VSPACE_BITS),
            ObjectType::X86Page4K => Some(PAGE_BITS),
            ObjectType::X86LargePage => Some(21),
            _ => None,
        }
    }

    fn is_frame(kind: ObjectType) -> bool {
        matches!(kind, ObjectType::X86Page4K | ObjectType::X86LargePage)
    }

    fn create_object(&mut self, kind: ObjectType, address: PhysAddr, device: bool) -> HostCap {
        match Self::object_bits(kind) {
            Some(bits) if Self::is_frame(kind) => HostCap::Frame(Frame {
                address,
                bits,
                device,
                rights: Rights::READ_WRITE,
            }),
            _ => HostCap::AddressSpace {
                address,
                assigned: false,
            },
        }
    }

    fn finalise(_: &mut ExclusiveKernel<Self>, _: HostCap, _: bool) {}

    fn invoke(
        kernel: &mut ExclusiveKernel<Self>,
        invocation: &Invocation<Self>,
        cap: RawCap,
    ) -> Outcome {
        match (HostCap::decode(cap), invocation.method) {
            (HostCap::Frame(frame), Method::X86PageGetAddress) => Ok(Answer::word(frame.address.0)),
            (HostCap::AsidPool(_), Method::X86AsidPoolAssign) => {
                invocation.require(0, 1)?;
                let Cap::Arch(HostCap::AddressSpace {
                    address,
                    assigned: false,
                }) = invocation.extra_cap(kernel, 0)
                else {
                    return Err(Error::InvalidCapability(1).into());
                };
                let slot = invocation.extra_slot(0);
                kernel[slot].set_cap(Cap::Arch(HostCap::AddressSpace {
                    address,
                    assigned: true,
                }));
                Ok(Answer::Nothing)
            }
            _ => Err(Error::IllegalOperation.into()),
        }
    }

    fn invoke_irq_control(_: &mut ExclusiveKernel<Self>, _: &Invocation<Self>) -> Outcome {
        Err(Error::IllegalOperation.into())
    }

    fn initial_cap(slot: usize) -> Option<HostCap> {
        (slot == slots::ASID_CONTROL).then_some(HostCap::AsidControl)
    }

    fn boot_space(
        _: &mut ExclusiveKernel<Self>,
        boot: &mut BootAllocator<Self>,
        _: Range<usize>,
    ) -> BootSpace<HostCap> {
        BootSpace {
            root: HostCap::AddressSpace {
                address: boot.alloc(VSPACE_BITS),
                assigned: true,
            },
            asid_pool: HostCap::AsidPool(boot.alloc(ASID_POOL_BITS)),
        }
    }

    fn boot_map(&mut self, _: &BootSpace<HostCap>, _: usize, frame: PhysAddr, _: bool) -> HostCap {
        self.create_object(ObjectType::X86Page4K, frame, false)
    }

    fn put_byte(byte: u8) {
        CONSOLE.with_borrow_mut(|console| console.push(byte.into()));
    }

    fn exit(exit: Exit) -> ! {
        panic!("the kernel ended the run: {exit:?}");
    }
}
