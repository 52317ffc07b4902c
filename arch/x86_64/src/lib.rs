//! The x86-64 side of Escapement: everything between the portable kernel and a 64-bit PC processor.
//!
//! | module | content |
//! |---|---|
//! | [`trap`], [`core_local`], [`segments`] | kernel entry and exit |
//! | [`fastpath`] | calls and replies in assembly |
//! | [`context`], [`fpu`], [`debug`] | the registers of threads |
//! | [`paging`], [`space`] | page tables: the kernel's half, and users' objects |
//! | [`cap`], [`ports`] | capabilities of this architecture |
//! | [`apic`], [`lines`], [`timer`] | interrupts and time |
//! | [`cpu`] | features of the processor |
//! | [`speculation`], [`isolation`] | speculation defences, page tables that hide the kernel |
//! | `smp`, `shared` | several cores: remote calls and shared state |
//!
//! "Intel SDM" in comments is the Intel 64 and IA-32 Architectures Software Developer's Manual, order
//! number 325462, by the section numbers of its edition of 2024.
#![no_std]
#![cfg_attr(target_os = "none", feature(optimize_attribute))]

pub mod apic;
mod arch;
mod bases;
pub mod cap;
pub mod context;
pub mod core_local;
pub mod cpu;
pub mod debug;
pub mod fastpath;
pub mod fpu;
mod irq_control;
pub mod isolation;
pub mod lines;
mod msr;
mod optional;
pub mod paging;
pub mod ports;
pub mod segments;
mod shared;
#[cfg(feature = "smp")]
pub mod smp;
pub mod space;
pub mod speculation;
pub mod timer;
pub mod trap;

use core::marker::PhantomData;

use kernel::arch::{Exit, PhysAddr};
use kernel::cores::CoreHandle;
use kernel::object::Thread;
use kernel::time::Clock;
use kernel::token::Ptr;

use apic::{IoApic, LocalApic};
use core_local::CoreLocal;
use cpu::Features;
use fpu::Fpu;
use lines::Lines;
use paging::KernelSpace;
use ports::IssuedPorts;
use shared::{Shared, shared};
use space::Asids;
use timer::Timer;

/// The interface to the board around the processor.
pub trait Platform: Sized + 'static {
    /// The handle of this core.
    ///
    /// # Safety
    /// Called once per kernel entry, after boot has made the kernel.
    unsafe fn core() -> CoreHandle<X86_64<Self>>;

    /// Writes one byte to the console.
    fn put_byte(byte: u8);

    /// Ends the run.
    fn exit(exit: Exit) -> !;
}

/// The machine as detected at boot.
pub struct Machine<I> {
    /// The processor.
    pub features: Features,
    /// The kernel's page tables, which are in use.
    pub kernel_space: KernelSpace,
    /// Ticks of the time stamp counter per second.
    pub ticks_per_second: u64,
    /// Its local APIC, enabled.
    pub local_apic: LocalApic,
    /// The timer of that.
    pub timer: Timer,
    /// The I/O APICs.
    pub io_apics: I,
    /// Top of the kernel's stack.
    pub stack: usize,
}

/// The architecture's state.
pub struct X86_64<P: Platform> {
    core: &'static CoreLocal,
    local_apic: LocalApic,
    timer: Timer,
    clock: Clock,
    lines: Shared<Lines>,
    kernel_space: Shared<KernelSpace>,
    /// The root page table in use.
    active_root: PhysAddr,
    asids: Asids,
    ports: Shared<IssuedPorts>,
    fpu: Fpu<P>,
    /// The loaded breakpoints.
    breakpoints: debug::Registers,
    /// The owner of the loaded FS and GS bases.
    bases_of: Option<Ptr<Thread<Self>>>,
    platform: PhantomData<P>,
}

impl<P: Platform> X86_64<P> {
    /// Sets the address of the kernel that kernel entries on this core use.
    pub fn set_kernel(&mut self, address: usize) {
        self.core.set_kernel(address);
    }

    /// Sets up the boot core and its interrupts.
    ///
    /// # Safety
    /// Called once, with the kernel's page tables in use and the processor's features enabled.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub unsafe fn new(machine: Machine<impl IntoIterator<Item = IoApic>>) -> Self {
        let Machine {
            features,
            kernel_space,
            ticks_per_second,
            local_apic,
            timer,
            io_apics,
            stack,
        } = machine;
        // SAFETY: this is done once, in this order.
        let core = unsafe {
            trap::fill_table();
            let core = CoreLocal::init(0, stack);
            trap::init();
            bases::init();
            #[cfg(feature = "harden")]
            core.harden(&features.speculation, kernel_space.root());
            core
        };
        #[cfg(feature = "smp")]
        smp::introduce(0, local_apic.id());
        Self {
            core,
            timer,
            clock: Clock::new(ticks_per_second),
            lines: shared!(Lines, Lines::new(io_apics, local_apic.id() as u8)),
            local_apic,
            active_root: kernel_space.root(),
            kernel_space: shared!(KernelSpace, kernel_space),
            asids: Asids::new(),
            // SAFETY: this is done once.
            ports: shared!(IssuedPorts, unsafe { IssuedPorts::new() }),
            fpu: Fpu::new(features.float_components),
            breakpoints: debug::Registers::NONE,
            bases_of: None,
            platform: PhantomData,
        }
    }
}
