//! The kernel's architecture ARMv7-A: exceptions, caches, translation look-aside buffers, floating
//! point, and the boot path up to the portable kernel. A platform adds its devices and its memory map
//! ([`Platform`]) and makes the image ([`kernel_image`]).
//!
//! Only the 32-bit instruction set is used; users may execute Thumb code, but the restart address of
//! a system call assumes the longer instruction, as the interface says.
#![no_std]

mod boot;
mod cache;
mod cp15;
mod fpu;
mod image;
mod kernel_space;
mod panic;
mod pmu;
mod ram;
mod trap;

use core::ops::Range;

use aarch32_cpu::asm::{dsb, isb};
use aarch32_cpu::register::{SysRegWrite, Tpidruro, Tpidrurw};
use abi::ObjectType;
use arch_arm::aarch32::{
    self, Aarch32, CacheOperation, Capability, FrameSize, HardwareAsid, Spaces,
};
use arch_arm::interrupt::InterruptController;
use arch_arm::irq_control::{self, HasController};
use arch_arm::timer::Timer;
use kernel::Kernel;
use kernel::arch::{Arch, BootSpace, Exit, Irq, PhysAddr, UserContext};
use kernel::boot::BootAllocator;
use kernel::cap::Cap;
use kernel::invoke::{Answer, Error, Invocation, Outcome};
use kernel::object::Thread;
use kernel::time::{Clock, Ticks};
use kernel::token::Ptr;

pub use aarch32::Context;
pub use image::{IrqTable, KernelCell};
pub use kernel_space::{DEVICE_BASE, KERNEL_BASE, WINDOW_SIZE, device_address};
pub use panic::panic;
pub use trap::fatal;

core::arch::global_asm!(include_str!("start.s"));

/// A board with ARMv7 cores: a list to fill in.
pub trait Platform: Sized + 'static {
    /// Its interrupt controller.
    type Controller: InterruptController;
    /// Its timer.
    type Timer: Timer;

    /// Where RAM is: its start, where the kernel is loaded, and the end of the most that there may be.
    const RAM: Range<PhysAddr>;
    /// Mebibytes of device registers that the kernel sees, at [`device_address`].
    const DEVICES: &'static [PhysAddr];
    /// Device registers that users do not get.
    const RESERVED: &'static [Range<PhysAddr>];
    /// The timer's interrupt.
    const TIMER_INTERRUPT: Irq;
    /// The description of the board for users, as a flattened device tree.
    const DEVICE_TREE: &'static [u8];

    /// Starts the devices. [`Platform::DEVICES`] are mapped.
    fn start() -> (Self::Controller, Self::Timer);

    /// Writes one byte to the console, which is usable from [`Platform::start`] on.
    fn put_byte(byte: u8);

    /// Ends the run, if there is a way.
    fn exit(exit: Exit);
}

/// Number of interrupt lines of a platform.
pub const fn interrupts<P: Platform>() -> usize {
    P::Controller::LINES
}

/// ARMv7 on a platform.
pub struct Armv7<P: Platform> {
    controller: P::Controller,
    timer: P::Timer,
    spaces: Spaces<Self>,
    fpu: fpu::Fpu<P>,
}

impl<P: Platform> Armv7<P> {
    fn new((mut controller, timer): (P::Controller, P::Timer)) -> Self {
        controller.mask(P::TIMER_INTERRUPT, false);
        Self {
            controller,
            timer,
            spaces: Spaces::new(kernel_space::directory::<P>()),
            fpu: fpu::Fpu::start(),
        }
    }
}

impl<P: Platform> Arch for Armv7<P> {
    type Context = Context;
    type Cap = Capability;

    const INTERRUPTS: usize = interrupts::<P>();
    const SCHED_CONTROL_FIRST: bool = false;

    fn now(&self) -> Ticks {
        self.timer.now()
    }

    fn set_deadline(&mut self, deadline: Ticks) {
        self.timer.set_deadline(deadline);
    }

    fn clock(&self) -> Clock {
        self.timer.clock()
    }

    fn interrupt_pending(&mut self) -> bool {
        self.controller.is_pending()
    }

    fn mask_interrupt(&mut self, irq: Irq, masked: bool) {
        self.controller.mask(irq, masked);
    }

    fn is_reserved(&self, irq: Irq) -> bool {
        irq == P::TIMER_INTERRUPT
    }

    fn plain_interrupt(&self, number: usize) -> Result<Irq, Error> {
        irq_control::line::<P::Controller>(number)
    }

    #[inline(always)]
    fn to_virtual(address: PhysAddr) -> usize {
        address
            .0
            .wrapping_sub(P::RAM.start.0)
            .wrapping_add(KERNEL_BASE)
    }

    #[inline(always)]
    fn to_physical(address: usize) -> PhysAddr {
        PhysAddr(
            address
                .wrapping_sub(KERNEL_BASE)
                .wrapping_add(P::RAM.start.0),
        )
    }

    fn switch_to(kernel: &mut Kernel<Self>, next: Option<Ptr<Thread<Self>>>) {
        // The idle loop uses nothing that belongs to threads: whatever is there may stay.
        let Some(thread) = next else { return };
        let space = match kernel[thread].vspace_cap() {
            Cap::Arch(Capability::PageDirectory {
                address,
                asid: Some(asid),
            }) => Some((asid, address)),
            _ => None,
        };
        kernel.arch.spaces.switch(space);
        let (writable, read_only) = kernel[thread].context.thread_local();
        // SAFETY: users alone make use of these.
        unsafe {
            <Tpidrurw as SysRegWrite>::write_raw(writable as u32);
            <Tpidruro as SysRegWrite>::write_raw(read_only as u32);
        }
        fpu::switch_to(kernel, thread);
    }

    fn release_thread(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        fpu::release(kernel, thread);
    }

    fn thread_flags_changed(kernel: &mut Kernel<Self>, thread: Ptr<Thread<Self>>) {
        if kernel[thread].fpu_disabled() {
            fpu::release(kernel, thread);
        }
    }

    fn object_bits(kind: ObjectType) -> Option<usize> {
        aarch32::object_bits(kind)
    }

    fn is_frame(kind: ObjectType) -> bool {
        FrameSize::of(kind).is_some()
    }

    fn create_object(&mut self, kind: ObjectType, address: PhysAddr, device: bool) -> Capability {
        aarch32::create_object(kind, address, device)
    }

    fn derive(&mut self, cap: Capability) -> Result<Option<Capability>, Error> {
        aarch32::derive(cap)
    }

    fn finalise(kernel: &mut Kernel<Self>, cap: Capability, last: bool) {
        aarch32::finalise(kernel, cap, last);
    }

    fn invoke(kernel: &mut Kernel<Self>, invocation: &Invocation<Self>) -> Outcome {
        if let Cap::Arch(Capability::SgiSignal { number, target }) = invocation.cap {
            kernel.arch.controller.send_signal(number, target);
            return Ok(Answer::Nothing);
        }
        aarch32::invoke(kernel, invocation)
    }

    fn invoke_irq_control(kernel: &mut Kernel<Self>, invocation: &Invocation<Self>) -> Outcome {
        irq_control::invoke(kernel, invocation)
    }

    fn initial_cap(slot: usize) -> Option<Capability> {
        (slot == abi::slots::ASID_CONTROL).then_some(Capability::AsidControl)
    }

    fn boot_space(
        kernel: &mut Kernel<Self>,
        boot: &mut BootAllocator<Self>,
        range: Range<usize>,
    ) -> BootSpace<Capability> {
        aarch32::boot_space(kernel, boot, range)
    }

    fn boot_map(
        &mut self,
        space: &BootSpace<Capability>,
        virtual_address: usize,
        frame: PhysAddr,
        executable: bool,
    ) -> Capability {
        aarch32::boot_map::<Self>(space, virtual_address, frame, executable)
    }

    fn put_byte(byte: u8) {
        P::put_byte(byte);
    }

    fn exit(exit: Exit) -> ! {
        P::exit(exit);
        panic::halt()
    }

    fn optional_syscall(kernel: &mut Kernel<Self>, call: abi::Syscall) -> bool {
        use abi::registers::{CAP, INFO};
        if call != abi::Syscall::BenchmarkFlushCaches || !cfg!(feature = "bench") {
            return false;
        }
        let Some(thread) = kernel.core.current else {
            return false;
        };
        let context = &kernel[thread].context;
        let (instructions, data) = match (context.get(CAP), context.get(INFO)) {
            (0, _) => (true, true),
            (_, kinds) => (kinds & 1 != 0, kinds & 2 != 0),
        };
        cache::flush(data, instructions);
        true
    }

    fn clean_new_memory(address: PhysAddr, bytes: usize) {
        let start = Self::to_virtual(address);
        cache::clean(start..start + bytes);
    }
}

impl<P: Platform> Aarch32 for Armv7<P> {
    fn spaces(&mut self) -> &mut Spaces<Self> {
        &mut self.spaces
    }

    /// By way of the kernel's own directory, so that no translation of one address space is kept
    /// under the identifier of the other (ARM DDI 0406, section B3.10.4). The first barrier is for
    /// the Cortex-A9's erratum 754322.
    fn install(directory: PhysAddr, asid: HardwareAsid) {
        /// Table walks use the caches: write-back, write-allocate (section B4.1.154).
        const WALK: usize = 0x48;
        let kernel = kernel_space::directory::<P>().address();
        // SAFETY: all directories map the kernel alike.
        unsafe {
            cp15::set_directory(kernel.0 | WALK);
            dsb();
            isb();
            cp15::set_asid(asid.0.into());
            isb();
            cp15::set_directory(directory.0 | WALK);
            isb();
        }
    }

    fn clean_table(range: Range<usize>) {
        cache::clean_to_unification(range);
    }

    fn forget_page(asid: HardwareAsid, address: usize) {
        // SAFETY: only translations that are in the tables are found again.
        unsafe {
            cp15::forget_page(address & !0xfff | usize::from(asid.0));
            cp15::forget_branches(0);
        }
        dsb();
        isb();
    }

    fn forget_space(asid: HardwareAsid) {
        // SAFETY: as above.
        unsafe {
            cp15::forget_space(asid.0.into());
            cp15::forget_branches(0);
        }
        dsb();
        isb();
    }

    fn maintain_cache(operation: CacheOperation, range: Range<usize>) {
        cache::maintain(operation, range);
    }
}

impl<P: Platform> HasController for Armv7<P> {
    type Controller = P::Controller;

    fn controller(&mut self) -> &mut P::Controller {
        &mut self.controller
    }

    fn signal_cap(number: usize, target: usize) -> Capability {
        Capability::SgiSignal { number, target }
    }
}
