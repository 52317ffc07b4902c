//! The interrupt lines of users.
//!
//! A line's number is its vector less 32. What raises it is chosen when a handler is issued: a pin of
//! an I/O APIC, or a message that a device writes to the core's local APIC by itself.

use kernel::arch::Irq;
use kernel::invoke::Error;

use crate::apic::{IoApic, Polarity, Route, Trigger};
use crate::trap::vectors;

/// I/O APICs that the kernel knows at most.
pub const MAX_IO_APICS: usize = 8;

/// Number of lines, the kernel's and the unused ones below them included.
pub const COUNT: usize = (vectors::LAST_USER - vectors::IRQ_BASE + 1) as usize;
/// The first line for users.
const FIRST: usize = (vectors::FIRST_USER - vectors::IRQ_BASE) as usize;
/// The largest number that a user can ask for.
const LAST_NUMBER: usize = COUNT - 1 - FIRST;

/// What raises an interrupt line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nothing.
    None,
    /// A pin of an I/O APIC.
    Pin {
        /// Which I/O APIC.
        controller: u8,
        /// Which of its pins.
        pin: u8,
    },
    /// A message; it can't be masked here.
    Message,
}

/// Checks and converts the number by which a user asks for a line.
///
/// # Errors
/// [`Error::Range`].
pub fn line(number: usize) -> Result<Irq, Error> {
    if number > LAST_NUMBER {
        return Err(Error::Range {
            minimum: 0,
            maximum: LAST_NUMBER,
        });
    }
    Ok(Irq(number + FIRST))
}

/// Whether the kernel keeps a line for itself.
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
    /// The lines of a machine with these I/O APICs, whose interrupts go to one core.
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

    /// Lets a message raise a line.
    pub fn use_message(&mut self, irq: Irq) {
        self.sources[irq.0] = Source::Message;
    }

    /// Lets a pin raise a line; it stays masked. A line that the pin raised before has lost it.
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

    /// Masks or unmasks a line, where its source can be masked.
    pub fn set_masked(&mut self, irq: Irq, masked: bool) {
        if let Some(&Source::Pin { controller, pin }) = self.sources.get(irq.0)
            && let Some(controller) = &mut self.controllers[controller as usize]
        {
            controller.set_masked(pin as usize, masked);
        }
    }
}
