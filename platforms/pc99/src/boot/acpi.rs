//! The tables of the firmware (ACPI Specification 6.5, section 5.2) that describe interrupt controllers and timers.

use super::physical::{bytes, number};
use crate::clock::PowerTimer;

/// Size in bytes of the root pointer from version 2 on; older ones are shorter, but followed by readable
/// memory.
const POINTER_SIZE: usize = 36;
const HEADER_SIZE: usize = 36;

/// The tables.
pub struct Acpi {
    pointer: &'static [u8],
    memory_end: usize,
}

impl Acpi {
    /// Searches for the root pointer at the locations of section 5.2.5.1.
    ///
    /// # Safety
    /// Memory up to `memory_end` is mapped in the window.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub unsafe fn find(memory_end: usize) -> Option<Self> {
        const SIGNATURE: &[u8] = b"RSD PTR ";
        /// Bytes that the checksum covers in all versions.
        const CHECKED: usize = 20;
        // SAFETY: the BIOS data area and the area that it refers to are below 1 MiB.
        let extended = unsafe { number::<2>(bytes(0x40e, 2), 0) << 4 };
        let places = (extended..extended + 0x400)
            .chain(0xe_0000..0x10_0000)
            .step_by(16);
        for place in places {
            // SAFETY: as above.
            let pointer = unsafe { bytes(place, POINTER_SIZE) };
            if pointer.starts_with(SIGNATURE) && sum(&pointer[..CHECKED]) == 0 {
                return Some(Self {
                    pointer,
                    memory_end,
                });
            }
        }
        None
    }

    /// The root pointer, in the form that users get.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn root_pointer(&self) -> &'static [u8] {
        self.pointer
    }

    /// The table at an address, if it is in memory and its checksum is correct.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn table(&self, address: usize) -> Option<&'static [u8]> {
        let fits = |size: usize| {
            address
                .checked_add(size)
                .is_some_and(|end| end <= self.memory_end)
        };
        if address == 0 || !fits(HEADER_SIZE) {
            return None;
        }
        // SAFETY: it is in memory, see `find`; the firmware's tables are not in usable RAM.
        let length = unsafe { number::<4>(bytes(address, HEADER_SIZE), 4) };
        if length < HEADER_SIZE || !fits(length) {
            return None;
        }
        // SAFETY: as above.
        let table = unsafe { bytes(address, length) };
        (sum(table) == 0).then_some(table)
    }

    /// The table with a signature, found through the extended root table if there is one (section 5.2.8),
    /// otherwise through the old one.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn find_table(&self, signature: &[u8; 4]) -> Option<&'static [u8]> {
        let revision = self.pointer[15];
        let extended = if revision >= 2 {
            number::<8>(self.pointer, 24)
        } else {
            0
        };
        let (root, width) = match self.table(extended) {
            Some(table) => (table, 8),
            None => (self.table(number::<4>(self.pointer, 16))?, 4),
        };
        root[HEADER_SIZE..]
            .chunks_exact(width)
            .map(|entry| {
                if width == 8 {
                    number::<8>(entry, 0)
                } else {
                    number::<4>(entry, 0)
                }
            })
            .filter_map(|address| self.table(address))
            .find(|table| table.starts_with(signature))
    }

    /// The physical addresses of the I/O APICs, from the multiple APIC description table (section
    /// 5.2.12).
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn io_apics(&self) -> impl Iterator<Item = usize> + use<> {
        /// Type of the entries for I/O APICs; the address is at offset 4.
        const IO_APIC: u8 = 1;
        self.interrupt_controllers()
            .filter(|entry| entry[0] == IO_APIC)
            .map(|entry| number::<4>(entry, 4))
    }

    /// The identifiers of the local APICs of usable processors, from the same table.
    #[cfg(feature = "smp")]
    #[cfg_attr(target_os = "none", optimize(size))]
    pub fn local_apics(&self) -> impl Iterator<Item = u32> + use<> {
        /// Types of the entries for processors, with 8-bit and with 32-bit identifiers.
        const LOCAL_APIC: u8 = 0;
        const LOCAL_X2APIC: u8 = 9;
        const ENABLED: usize = 1;
        self.interrupt_controllers().filter_map(|entry| {
            let (identifier, flags) = match entry[0] {
                LOCAL_APIC => (number::<1>(entry, 3), number::<4>(entry, 4)),
                LOCAL_X2APIC => (number::<4>(entry, 4), number::<4>(entry, 8)),
                _ => return None,
            };
            (flags & ENABLED != 0).then_some(identifier as u32)
        })
    }

    /// The physical address of the high precision event timer's registers (IA-PC HPET Specification 1.0a, section 3.2.4).
    pub fn event_timer(&self) -> Option<usize> {
        /// The address is in memory.
        const MEMORY: usize = 0;
        let table = self.find_table(b"HPET")?;
        let address = number::<8>(table, 44);
        (number::<1>(table, 40) == MEMORY && address != 0).then_some(address)
    }

    /// The power management timer, from the fixed description table (section 5.2.9).
    pub fn power_timer(&self) -> Option<PowerTimer> {
        /// The flag of timers with 32 bits instead of 24.
        const LONG: usize = 1 << 8;
        let table = self.find_table(b"FACP")?;
        let (port, length) = (number::<4>(table, 76), number::<1>(table, 91));
        let is_long = number::<4>(table, 112) & LONG != 0;
        let port = u16::try_from(port).ok();
        Some(PowerTimer {
            port: port.filter(|port| *port != 0 && length == 4)?,
            last: if is_long { u32::MAX } else { u32::MAX >> 8 },
        })
    }

    /// The entries of the multiple APIC description table: type, length, and further fields.
    fn interrupt_controllers(&self) -> impl Iterator<Item = &'static [u8]> + use<> {
        let mut rest = self
            .find_table(b"APIC")
            .and_then(|table| table.get(44..))
            .unwrap_or(&[]);
        core::iter::from_fn(move || {
            let &length = rest.get(1)?;
            let entry = rest.get(..length.max(2).into())?;
            rest = &rest[entry.len()..];
            Some(entry)
        })
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, byte| sum.wrapping_add(*byte))
}
