//! The interrupt lines of users.
//!
//! The number of a line is its vector minus 32. Its source is chosen when a handler is issued: a pin of an
//! I/O APIC, or a message that a device writes directly to the core's local APIC.

use kernel::arch::Irq;
use kernel::invoke::{Error, ensure};

use crate::apic::{IoApic, Polarity, Route, Trigger};
use crate::trap::vectors;

/// Maximum number of I/O APICs.
pub const MAX_IO_APICS: usize = 8;

/// Number of lines, including those of the kernel and the unused ones below the users' lines.
pub const COUNT: usize = (vectors::LAST_USER - vectors::IRQ_BASE + 1) as usize;
/// The first line for users.
const FIRST: usize = (vectors::FIRST_USER - vectors::IRQ_BASE) as usize;
/// The largest number that a user can request.
const LAST_NUMBER: usize = COUNT - 1 - FIRST;

/// The source of an interrupt line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nothing.
    None,
    /// A pin of an I/O APIC.
    Pin {
        /// The I/O APIC.
        controller: u8,
        /// The pin.
        pin: u8,
    },
    /// A message; it cannot be masked here.
    Message,
}

/// Checks and converts the number of a requested line.
///
/// # Errors
/// [`Error::Range`].
pub fn line(number: usize) -> Result<Irq, Error> {
    ensure(number <= LAST_NUMBER, Error::range(0, LAST_NUMBER))?;
    Ok(Irq(number + FIRST))
}

/// Whether a line is reserved for the kernel.
pub fn is_reserved(irq: Irq) -> bool {
    !(FIRST..COUNT).contains(&irq.0)
}

/// The lines and their controllers.
pub struct Lines {
    controllers: [Option<IoApic>; MAX_IO_APICS],
    count: usize,
    sources: [Source; COUNT],
    /// Identifier of the core that takes the interrupts.
    destination: u8,
}

impl Lines {
    /// The lines of a machine with these I/O APICs; interrupts go to the core `destination`.
    pub fn new(io_apics: impl IntoIterator<Item = IoApic>, destination: u8) -> Self {
        let mut controllers = [const { None }; MAX_IO_APICS];
        let mut count = 0;
        for (place, controller) in controllers.iter_mut().zip(io_apics) {
            *place = Some(controller);
            count += 1;
        }
        Self {
            controllers,
            count,
            sources: [Source::None; COUNT],
            destination,
        }
    }

    /// Number of I/O APICs.
    pub fn controllers(&self) -> usize {
        self.count
    }

    /// Number of pins of an I/O APIC that exists.
    pub fn pins(&self, controller: usize) -> usize {
        self.controllers[controller]
            .as_ref()
            .map_or(0, IoApic::pins)
    }

    /// Makes a message the source of a line.
    pub fn use_message(&mut self, irq: Irq) {
        self.sources[irq.0] = Source::Message;
    }

    /// Makes a pin the source of a line, which stays masked. Any other line loses this source.
    pub fn use_pin(
        &mut self,
        irq: Irq,
        controller: usize,
        pin: usize,
        trigger: Trigger,
        polarity: Polarity,
    ) {
        let source = Source::Pin {
            controller: controller as u8,
            pin: pin as u8,
        };
        for other in &mut self.sources {
            if *other == source {
                *other = Source::None;
            }
        }
        self.sources[irq.0] = source;
        let vector = (irq.0 as u64 + vectors::IRQ_BASE) as u8;
        let route = Route {
            vector,
            destination: self.destination,
            trigger,
            polarity,
        };
        if let Some(controller) = &mut self.controllers[controller] {
            controller.set_route(pin, route);
        }
    }

    /// Masks or unmasks a line, if its source can be masked.
    pub fn set_masked(&mut self, irq: Irq, masked: bool) {
        if let Some(&Source::Pin { controller, pin }) = self.sources.get(irq.0)
            && let Some(controller) = &mut self.controllers[controller as usize]
        {
            controller.set_masked(pin as usize, masked);
        }
    }
}
