//! The interrupt lines of the machine, as seen by one core.
//!
//! Shared lines have the controller's numbers. The first 32 lines are private: every core has its own.
//! Those of core 0 also have the controller's numbers; those of the other cores follow all shared ones,
//! 32 for each core. A core can mask and unmask only its own private lines; another core requests this by
//! an IPI.

use kernel::arch::Irq;
use kernel::cores::CoreHandle;
use kernel::sched::CORES;
use kernel::syscall::Interrupt;

use crate::interrupt::InterruptController;
use crate::irq_control::HasController;

/// Number of private lines of each core.
pub(crate) const OWN: usize = 32;

/// The software-generated interrupt that serves as the IPI.
#[cfg(feature = "smp")]
const CORE_SIGNAL: usize = 0;
/// Number of software-generated interrupts that the interface reserves for the kernel on several cores.
const RESERVED_SIGNALS: usize = 2;

/// Number of interrupt lines of a machine with this controller.
pub const fn count<C: InterruptController>() -> usize {
    C::LINES + OWN * (CORES - 1)
}

/// An interrupt that was taken.
pub enum Event<T> {
    /// A line has raised an interrupt.
    Line(Irq, T),
    /// The timer interrupt of this core.
    Timer(T),
    /// An IPI: another core makes this one enter the kernel.
    #[cfg(feature = "smp")]
    Core(T),
    /// No interrupt is pending any more.
    Nothing,
}

/// The interrupt lines.
pub struct Lines<C> {
    controller: C,
    #[cfg(feature = "smp")]
    core: usize,
    /// The private lines that this core has unmasked for users.
    #[cfg(feature = "smp")]
    unmasked: u32,
}

impl<C: InterruptController> Lines<C> {
    /// The lines of core 0; `timer` is the line of its timer.
    pub fn new(mut controller: C, timer: Irq) -> Self {
        controller.mask(timer, false);
        Self {
            controller,
            #[cfg(feature = "smp")]
            core: 0,
            #[cfg(feature = "smp")]
            unmasked: 0,
        }
    }

    /// Takes the highest-priority pending interrupt; `timer` is the timer's line.
    #[inline(always)]
    pub fn take(&mut self, timer: Irq) -> Event<C::Taken> {
        let Some((irq, taken)) = self.controller.take() else {
            return Event::Nothing;
        };
        #[cfg(feature = "smp")]
        if irq == Irq(CORE_SIGNAL) {
            return Event::Core(taken);
        }
        if irq == timer {
            Event::Timer(taken)
        } else {
            Event::Line(self.name(irq), taken)
        }
    }

    /// Reports to the controller that the core has handled an interrupt.
    #[inline(always)]
    pub fn end(&mut self, taken: C::Taken) {
        self.controller.end(taken);
    }

    /// Whether an interrupt is pending.
    pub fn is_pending(&self) -> bool {
        self.controller.is_pending()
    }

    /// The same while the timer is off; `timer` is its line. An interrupt from before does not count: the line of a
    /// Cortex-A9's global timer is edge-triggered (technical reference manual, DDI 0407, interrupt 27).
    #[cfg(feature = "smp")]
    pub fn is_pending_beside(&mut self, timer: Irq) -> bool {
        self.controller.forget(timer);
        self.is_pending()
    }

    /// Whether a line is reserved for the kernel; `timer` is the timer's line.
    pub fn is_reserved(irq: Irq, timer: Irq) -> bool {
        if CORES == 1 {
            return irq == timer;
        }
        let (_, irq) = Self::place(irq);
        irq == timer || irq.0 < RESERVED_SIGNALS
    }

    /// Configures the trigger of a line.
    pub fn set_trigger(&mut self, irq: Irq, trigger: crate::interrupt::Trigger) {
        let (core, line) = Self::place(irq);
        // The trigger of private lines is implementation defined, so those of another core can be skipped.
        if core.is_none_or(|core| core == self.core()) {
            self.controller.set_trigger(line, trigger);
        }
    }

    /// Raises a software-generated interrupt on another core.
    pub fn send_signal(&mut self, number: usize, target: usize) {
        self.controller.send_signal(number, target);
    }

    /// The core to which a line is private, if it is, and the controller's number of the line.
    fn place(irq: Irq) -> (Option<usize>, Irq) {
        if CORES > 1 && irq.0 >= C::LINES {
            let place = irq.0 - C::LINES;
            return (Some(place / OWN + 1), Irq(place % OWN));
        }
        (if irq.0 < OWN { Some(0) } else { None }, irq)
    }

    #[cfg(not(feature = "smp"))]
    fn core(&self) -> usize {
        0
    }

    /// The number of a private line of this core, or of a shared line.
    #[cfg(not(feature = "smp"))]
    #[inline(always)]
    fn name(&self, irq: Irq) -> Irq {
        irq
    }

    /// Masks or unmasks a line.
    #[cfg(not(feature = "smp"))]
    #[inline(always)]
    pub fn mask(&mut self, irq: Irq, masked: bool) {
        self.controller.mask(irq, masked);
    }
}

/// Takes an interrupt and handles it.
pub fn take_interrupt<A: HasController>(core: &mut CoreHandle<A>) {
    let mut kernel = core.enter();
    let taken = match kernel.arch.lines().take(A::TIMER) {
        Event::Nothing => return kernel.handle_interrupt(Interrupt::Spurious),
        Event::Timer(taken) => {
            kernel.arch.acknowledge_timer();
            kernel.handle_interrupt(Interrupt::Timer);
            taken
        }
        #[cfg(feature = "smp")]
        Event::Core(taken) => {
            kernel.arch.lines().catch_up();
            kernel.arch.lines().end(taken);
            return kernel.handle_interrupt(Interrupt::Core);
        }
        Event::Line(irq, taken) => {
            kernel.handle_interrupt(Interrupt::Line(irq));
            taken
        }
    };
    kernel.arch.lines().end(taken);
}

/// The number of private line `line` of `core`, or of a shared line.
pub fn of_core<C: InterruptController>(core: usize, line: Irq) -> Irq {
    if core == 0 || line.0 >= OWN {
        line
    } else {
        Irq(C::LINES + (core - 1) * OWN + line.0)
    }
}

#[cfg(feature = "smp")]
mod several {
    use core::sync::atomic::{AtomicU32, Ordering};

    use super::{CORE_SIGNAL, InterruptController, Irq, Lines, of_core};
    use kernel::sched::CORES;

    /// The private lines of each core that are to be unmasked for users.
    static WANTED: [AtomicU32; CORES] = [const { AtomicU32::new(0) }; CORES];

    impl<C: InterruptController> Lines<C> {
        /// The lines of a core other than the first.
        pub fn of(core: usize, controller: C, timer: Irq) -> Self {
            let mut lines = Self {
                core,
                ..Self::new(controller, timer)
            };
            lines.controller.mask(Irq(CORE_SIGNAL), false);
            lines
        }

        /// Unmasks the IPI of this core, the first.
        pub fn join(&mut self) {
            self.controller.mask(Irq(CORE_SIGNAL), false);
        }

        pub(super) fn core(&self) -> usize {
            self.core
        }

        pub(super) fn name(&self, irq: Irq) -> Irq {
            of_core::<C>(self.core, irq)
        }

        /// Masks or unmasks a line.
        pub fn mask(&mut self, irq: Irq, masked: bool) {
            let (core, line) = Self::place(irq);
            let Some(core) = core else {
                return self.controller.mask(line, masked);
            };
            let bit = 1 << line.0;
            // Release: a core that takes the IPI sees this change.
            if masked {
                WANTED[core].fetch_and(!bit, Ordering::Release);
            } else {
                WANTED[core].fetch_or(bit, Ordering::Release);
            }
            if core == self.core {
                self.unmasked = self.unmasked & !bit | if masked { 0 } else { bit };
                self.controller.mask(line, masked);
            } else {
                self.interrupt_core(core);
            }
        }

        /// Masks and unmasks this core's private lines as other cores requested. Called on an IPI.
        pub fn catch_up(&mut self) {
            let wanted = WANTED[self.core].load(Ordering::Acquire);
            let mut changed = wanted ^ self.unmasked;
            self.unmasked = wanted;
            while changed != 0 {
                let line = changed.trailing_zeros();
                self.controller
                    .mask(Irq(line as usize), wanted >> line & 1 == 0);
                changed &= changed - 1;
            }
        }

        /// Sends an IPI, which makes another core enter the kernel.
        pub fn interrupt_core(&mut self, core: usize) {
            self.controller.send_signal(CORE_SIGNAL, core);
        }

        /// Routes a shared line to a core.
        pub fn route(&mut self, irq: Irq, core: usize) {
            if let (None, line) = Self::place(irq) {
                self.controller.route(line, core);
            }
        }
    }
}
