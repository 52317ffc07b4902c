//! Devices: their registers and I/O ports, and interrupts.

use super::Bit;
use crate::Startup;
use crate::cap::{CPtr, Capability, IrqHandler, Notification};
use crate::startup::{NOTIFICATION, RecordKind};

/// The registers of a device, or memory that the caches do not hold.
///
/// The accesses of one component to one device take place in program order. Those to a device and to memory, or
/// to two devices, may not: where their order matters, as between a descriptor and the register that starts the
/// device, there must be a [`barrier`] between them.
#[derive(Debug)]
pub struct Registers {
    address: usize,
    size: usize,
}

impl Registers {
    #[doc(hidden)]
    pub fn find(startup: &'static Startup, name: &str) -> Option<Self> {
        let (address, size) = startup.find_memory(name)?;
        Some(Self { address, size })
    }

    /// The address of the register of type `T` at `offset`, which lies in pages that are mapped permanently.
    pub(crate) fn place<T>(&self, offset: usize) -> *mut T {
        let end = offset.checked_add(size_of::<T>());
        let is_there = end.is_some_and(|end| end <= self.size);
        assert!(
            is_there && offset.is_multiple_of(align_of::<T>()),
            "the device has no register at {offset:#x}"
        );
        (self.address + offset) as *mut T
    }
}

macro_rules! registers {
    ($($read:ident $write:ident $type:ty;)*) => {
        impl Registers {$(
            #[doc = concat!("Reads the `", stringify!($type), "` that is `offset` bytes from the first register.")]
            ///
            /// # Panics
            /// If `offset` is outside of the device or not aligned.
            pub fn $read(&self, offset: usize) -> $type {
                // SAFETY: the place is aligned and mapped, and Rust has no objects there.
                unsafe { self.place::<$type>(offset).read_volatile() }
            }

            #[doc = concat!("Writes the `", stringify!($type), "` that is `offset` bytes from the first register.")]
            ///
            /// # Panics
            /// If `offset` is outside of the device or not aligned.
            pub fn $write(&self, offset: usize, value: $type) {
                // SAFETY: the place is aligned and mapped, and Rust has no objects there.
                unsafe { self.place::<$type>(offset).write_volatile(value) }
            }
        )*}
    };
}

registers! {
    read8 write8 u8;
    read16 write16 u16;
    read32 write32 u32;
}

/// The right to the registers of the core of which a device consists. The description decides whether a component gets
/// it; the kernel lets all of them name the registers, or none.
#[derive(Debug)]
pub struct CoreRegisters(());

impl CoreRegisters {
    /// It comes with the device's interrupt, which has this name.
    #[doc(hidden)]
    pub fn find(startup: &'static Startup, interrupt: &str) -> Option<Self> {
        startup.find_pair(interrupt, RecordKind::Interrupt)?;
        Some(Self(()))
    }
}

/// Completes the order of accesses to devices and memory: all before it take place before all after it, as devices
/// and other cores see them.
pub fn barrier() {
    crate::arch::device_barrier();
}

/// The I/O ports of a device.
#[cfg(target_arch = "x86_64")]
#[derive(Debug)]
pub struct Ports {
    ports: crate::cap::IoPort,
    first: u16,
}

#[cfg(target_arch = "x86_64")]
impl Ports {
    #[doc(hidden)]
    pub fn find(startup: &'static Startup, name: &str) -> Option<Self> {
        let (ports, first) = startup.find_pair(name, RecordKind::Ports)?;
        Some(Self {
            ports: Capability::at(CPtr(ports)),
            first: first as u16,
        })
    }

    /// The capability.
    pub(crate) fn capability(&self) -> crate::cap::IoPort {
        self.ports
    }

    /// The port `offset` after the first one. The kernel refuses those of other devices.
    fn port(&self, offset: u16) -> u16 {
        let port = self.first.checked_add(offset);
        port.unwrap_or_else(|| panic!("the device has no port {offset}"))
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! ports {
    ($($read:ident $in:ident $write:ident $out:ident $type:ty;)*) => {
        impl Ports {$(
            #[doc = concat!("Reads a `", stringify!($type), "` from the port that is `offset` after the first one.")]
            ///
            /// # Panics
            /// If the device has no such port.
            pub fn $read(&self, offset: u16) -> $type {
                let value = self.ports.$in(self.port(offset));
                value.unwrap_or_else(|_| panic!("the device has no port {offset}"))
            }

            #[doc = concat!("Writes a `", stringify!($type), "` to the port that is `offset` after the first one.")]
            ///
            /// # Panics
            /// If the device has no such port.
            pub fn $write(&self, offset: u16, value: $type) {
                let result = self.ports.$out(self.port(offset), value);
                result.unwrap_or_else(|_| panic!("the device has no port {offset}"));
            }
        )*}
    };
}

#[cfg(target_arch = "x86_64")]
ports! {
    read8 in8 write8 out8 u8;
    read16 in16 write16 out16 u16;
    read32 in32 write32 out32 u32;
}

/// The right to an interrupt: it comes as a signal, and comes again only after it has been acknowledged.
#[derive(Debug)]
pub struct Interrupt {
    handler: IrqHandler,
    notification: Notification,
    bit: Bit,
}

impl Interrupt {
    #[doc(hidden)]
    pub fn find(startup: &'static Startup, name: &str) -> Option<Self> {
        let (handler, bit) = startup.find_pair(name, RecordKind::Interrupt)?;
        Some(Self {
            handler: IrqHandler::at(CPtr(handler)),
            notification: startup.find_capability(NOTIFICATION)?,
            bit: Bit(bit as u32),
        })
    }

    /// Whether it is among the signals that have come.
    pub fn is_in(&self, signals: usize) -> bool {
        self.bit.is_in(signals)
    }

    /// Waits until it comes. Other signals that come meanwhile are lost: a component that has some waits with
    /// [`Signals::wait`](super::Signals::wait). An interrupt that comes while a server waits for requests is
    /// received there, as one without a message.
    pub fn wait(&self) {
        while !self.is_in(self.notification.wait()) {}
    }

    /// Lets it come again.
    pub fn acknowledge(&self) {
        // A component cannot lose the capability, and with it this cannot fail.
        let _ = self.handler.ack();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Registers in memory of the host.
    fn registers(words: &mut [u32; 4]) -> Registers {
        Registers {
            address: words.as_mut_ptr() as usize,
            size: size_of_val(words),
        }
    }

    #[test]
    fn registers_are_read_and_written_by_offset() {
        let mut words = [1, 0x0302_0100, 3, 4];
        let registers = registers(&mut words);
        assert_eq!(registers.read32(12), 4);
        assert_eq!(registers.read16(6), 0x0302);
        assert_eq!(registers.read8(5), 1);
        registers.write32(0, 9);
        registers.write8(15, 0xff);
        assert_eq!(words, [9, 0x0302_0100, 3, 0xff00_0004]);
    }

    #[test]
    #[should_panic = "the device has no register at 0x10"]
    fn there_is_none_after_the_end() {
        registers(&mut [0; 4]).read32(16);
    }

    #[test]
    #[should_panic = "the device has no register at 0xd"]
    fn offsets_are_aligned() {
        registers(&mut [0; 4]).read16(13);
    }

    #[test]
    #[should_panic = "the device has no register at 0xffff"]
    fn offsets_do_not_overflow() {
        registers(&mut [0; 4]).write32(usize::MAX - 3, 1);
    }
}
