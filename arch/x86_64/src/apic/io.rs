//! The I/O APIC (Intel 82093AA data sheet, order number 290566), which converts signals on pins into
//! interrupt messages.

use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::registers::ReadWrite;
use tock_registers::{LocalRegisterCopy, register_bitfields, register_structs};

register_structs! {
    /// Two registers in memory give access to all others (section 3.1).
    Window {
        (0x00 => select: ReadWrite<u32>),
        (0x04 => _reserved),
        (0x10 => data: ReadWrite<u32>),
        (0x14 => @END),
    }
}

register_bitfields! [u32,
    /// Version register (section 3.2.2).
    Version [
        LAST_PIN OFFSET(16) NUMBITS(8) []
    ]
];

register_bitfields! [u64,
    /// Redirection table entry (section 3.2.4). The other fields are 0 for fixed delivery to one core.
    Redirection [
        VECTOR OFFSET(0) NUMBITS(8) [],
        ACTIVE_LOW OFFSET(13) NUMBITS(1) [],
        LEVEL OFFSET(15) NUMBITS(1) [],
        MASKED OFFSET(16) NUMBITS(1) [],
        DESTINATION OFFSET(56) NUMBITS(8) []
    ]
];

const VERSION: u32 = 0x01;
/// Index of the low half of pin 0's entry; two indices per pin.
const REDIRECTION: u32 = 0x10;

/// The condition on which a pin raises an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A change of the signal.
    Edge,
    /// An active signal, for as long as it lasts.
    Level,
}

/// The active state of the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polarity {
    /// Active high.
    High,
    /// Active low.
    Low,
}

/// The routing of interrupts on a pin.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The vector that the core sees.
    pub vector: u8,
    /// The identifier of the core's local APIC.
    pub destination: u8,
    /// The trigger.
    pub trigger: Trigger,
    /// The polarity.
    pub polarity: Polarity,
}

/// An I/O APIC.
pub struct IoApic {
    window: &'static Window,
    pins: usize,
}

impl IoApic {
    /// Takes over the I/O APIC with registers mapped at `address`, and masks all its pins.
    ///
    /// # Safety
    /// The registers are mapped there, uncached, and no other code uses them.
    pub unsafe fn new(address: usize) -> Self {
        // SAFETY: by contract.
        let window = unsafe { &*core::ptr::with_exposed_provenance::<Window>(address) };
        let mut apic = Self { window, pins: 0 };
        let version = LocalRegisterCopy::<u32, Version::Register>::new(apic.read(VERSION));
        apic.pins = version.read(Version::LAST_PIN) as usize + 1;
        for pin in 0..apic.pins {
            apic.set_masked(pin, true);
        }
        apic
    }

    /// Number of pins.
    pub fn pins(&self) -> usize {
        self.pins
    }

    fn read(&self, index: u32) -> u32 {
        self.window.select.set(index);
        self.window.data.get()
    }

    fn write(&mut self, index: u32, value: u32) {
        self.window.select.set(index);
        self.window.data.set(value);
    }

    /// Sets the routing of interrupts on `pin`, and leaves the pin masked.
    pub fn set_route(&mut self, pin: usize, route: Route) {
        let mut entry = LocalRegisterCopy::<u64, Redirection::Register>::new(0);
        entry.modify(
            Redirection::VECTOR.val(route.vector.into())
                + Redirection::DESTINATION.val(route.destination.into())
                + Redirection::MASKED::SET,
        );
        if route.trigger == Trigger::Level {
            entry.modify(Redirection::LEVEL::SET);
        }
        if route.polarity == Polarity::Low {
            entry.modify(Redirection::ACTIVE_LOW::SET);
        }
        let low = low_half(pin);
        // The low half first, because it masks the pin while only one half is written.
        self.write(low, entry.get() as u32);
        self.write(low + 1, (entry.get() >> 32) as u32);
    }

    /// Masks or unmasks a pin.
    pub fn set_masked(&mut self, pin: usize, masked: bool) {
        let index = low_half(pin);
        let mut entry =
            LocalRegisterCopy::<u64, Redirection::Register>::new(self.read(index).into());
        entry.modify(Redirection::MASKED.val(masked.into()));
        self.write(index, entry.get() as u32);
    }
}

const fn low_half(pin: usize) -> u32 {
    REDIRECTION + 2 * pin as u32
}
