//! Several cores: the state of secondary cores, and IPIs.

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU32, Ordering};

use kernel::arch::PhysAddr;
use kernel::sched::CORES;
use kernel::time::Clock;

use crate::apic::{LocalApic, Message};
use crate::core_local::CoreLocal;
use crate::cpu::Features;
use crate::fpu::Fpu;
use crate::lines::Lines;
use crate::paging::KernelSpace;
use crate::ports::IssuedPorts;
use crate::shared::Shared;
use crate::space::Asids;
use crate::timer::Timer;
use crate::trap::vectors;
use crate::{Platform, X86_64, debug, trap};

/// The identifiers of the cores' local APICs.
static IDENTIFIERS: [AtomicU32; CORES] = [const { AtomicU32::new(0) }; CORES];

/// Records the identifier by which a core is interrupted.
pub(crate) fn introduce(core: usize, identifier: u32) {
    IDENTIFIERS[core].store(identifier, Ordering::Relaxed);
}

/// The identifier of a core's local APIC.
pub(crate) fn identifier(core: usize) -> u32 {
    IDENTIFIERS[core].load(Ordering::Relaxed)
}

/// The state that secondary cores share with the boot core.
#[derive(Clone, Copy)]
pub struct Common {
    features: Features,
    timer: Timer,
    clock: Clock,
    lines: Shared<Lines>,
    kernel_space: Shared<KernelSpace>,
    ports: Shared<IssuedPorts>,
}

// SAFETY: shared state is used by one core at a time; see `Shared`.
unsafe impl Send for Common {}
// SAFETY: as above.
unsafe impl Sync for Common {}

impl Common {
    /// The features of the processor.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The root of the kernel's page tables.
    pub fn root(&self) -> PhysAddr {
        self.kernel_space.root()
    }
}

impl<P: Platform> X86_64<P> {
    /// The state that this core, the boot core, shares with the others; `features` are its features.
    pub fn common(&self, features: Features) -> Common {
        Common {
            features,
            timer: self.timer,
            clock: self.clock,
            lines: self.lines,
            kernel_space: self.kernel_space,
            ports: self.ports,
        }
    }

    /// Sets up core `number` and its interrupts; its kernel entries start at `stack`.
    ///
    /// # Safety
    /// Called once on each secondary core, with the kernel's page tables in use and the processor's features
    /// enabled.
    pub unsafe fn secondary(
        number: usize,
        stack: usize,
        mut local_apic: LocalApic,
        common: &Common,
    ) -> Self {
        let Common {
            features,
            timer,
            clock,
            lines,
            kernel_space,
            ports,
        } = *common;
        // SAFETY: this is done once, in this order.
        let core = unsafe {
            let core = CoreLocal::init(number, stack);
            trap::init();
            #[cfg(feature = "harden")]
            core.harden(&features.speculation, kernel_space.root());
            core
        };
        introduce(number, local_apic.id());
        timer.start(&mut local_apic);
        Self {
            core,
            local_apic,
            timer,
            clock,
            lines,
            active_root: kernel_space.root(),
            kernel_space,
            asids: Asids::new(),
            ports,
            fpu: Fpu::new(features.float_components),
            breakpoints: debug::Registers::NONE,
            bases_of: None,
            platform: PhantomData,
        }
    }

    /// The local APIC of this core.
    pub fn local_apic(&mut self) -> &mut LocalApic {
        &mut self.local_apic
    }

    pub(crate) fn interrupt(&mut self, core: usize) {
        let message = Message::Interrupt(vectors::CORE as u8);
        self.local_apic.send(message, identifier(core));
    }
}
