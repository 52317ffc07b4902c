//! The table from which the generic initialiser sets a system up.
//!
//! The tool makes it from the description of a system when it builds the system ([`write()`]), and the initialiser
//! reads it when it starts ([`Table::parse`]). Both check it by the same code: whatever bytes are read, an index
//! in a valid table names something that exists. The format has a version, since image and initialiser may come
//! from different checkouts.
//!
//! ```
//! use system_table::{Table, write};
//!
//! # let supervisor = system_table::Supervisor { time: system_table::Time {
//! #     budget: 1_000, period: 20_000, extra_refills: 0, sporadic: true, idling: false },
//! #     priority: 255, core: 0, domain: 0 };
//! let mut bytes = Vec::new();
//! write(&mut bytes, &supervisor, &[], &[], &[], &[]);
//! assert_eq!(Table::parse(&bytes).unwrap().components().count(), 0);
//! assert!(Table::parse(&bytes[1..]).is_err());
//! ```
#![no_std]

mod bytes;
mod memory;
mod records;
mod validity;

use abi::config::MOST_TURNS;
use bytes::Field;
use core::fmt;

pub use memory::{ArenaSize, MORE_PAGES};
pub use records::{
    Action, Component, Endpoint, Gift, OnFault, OnTimeout, Region, Supervisor, Time, TimeSource,
    Turn,
};

/// The name of the table in the archive of an image.
pub const FILE: &str = "system-table";
/// The most components of a system.
pub const MOST_COMPONENTS: usize = 40;
/// The most endpoints.
pub const MOST_ENDPOINTS: usize = 96;
/// The most regions of shared memory.
pub const MOST_REGIONS: usize = 32;
/// The most pages of shared memory and of registers of a component: they fit into its address space.
pub const MOST_MAPPED_PAGES: u32 = (224 << 20) / 4096;
/// The most records on the startup page of a component. It holds five more: the heap, the reply object, the
/// notification, the times of watched components, and the clock.
pub const MOST_RECORDS: usize = 59;
/// The most pages of a heap, which fits into an address space.
pub const MOST_HEAP_PAGES: u32 = (1 << 30) / 4096;
/// The most bytes of all texts of a component.
pub const MOST_TEXT: usize = 255;
/// The most pages of registers of a device.
pub const MOST_REGISTER_PAGES: usize = 64;
/// The most interrupts of a component.
pub const MOST_INTERRUPTS: usize = 8;
/// The longest name, in bytes.
pub const LONGEST_NAME: usize = 32;

const MAGIC: u32 = 0x5442_5345;
const VERSION: u16 = 9;

/// Why a table cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// What is wrong.
    pub what: &'static str,
    /// The component of which it is true, by its place in the table.
    pub component: Option<u16>,
}

impl Damage {
    pub(crate) const fn new(what: &'static str) -> Self {
        let component = None;
        Self { what, component }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "the system's table cannot be used: ")?;
        if let Some(component) = self.component {
            write!(out, "component {component}: ")?;
        }
        out.write_str(self.what)
    }
}

/// Writes a table. Only [`Table::parse`] says whether it is valid.
pub fn write(
    out: &mut impl Extend<u8>,
    supervisor: &Supervisor,
    turns: &[Turn],
    endpoints: &[Endpoint],
    regions: &[Region],
    components: &[(Component, &[Gift])],
) {
    MAGIC.write(out);
    VERSION.write(out);
    supervisor.write(out);
    (turns.len() as u16).write(out);
    turns.iter().for_each(|one| one.write(out));
    (endpoints.len() as u16).write(out);
    endpoints.iter().for_each(|one| one.write(out));
    (regions.len() as u16).write(out);
    regions.iter().for_each(|one| one.write(out));
    (components.len() as u16).write(out);
    for (component, gifts) in components {
        component.write(out);
        (gifts.len() as u16).write(out);
        gifts.iter().for_each(|one| one.write(out));
    }
}

/// A valid table.
#[derive(Clone, Copy, Debug)]
pub struct Table<'a> {
    supervisor: Supervisor,
    turns: Records<'a>,
    endpoints: Records<'a>,
    regions: Records<'a>,
    components: Records<'a>,
}

/// Records that were read once already.
#[derive(Clone, Copy, Debug)]
struct Records<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> Records<'a> {
    /// Takes a number and so many records, each of which `read` takes.
    fn take(
        bytes: &mut &'a [u8],
        most: usize,
        mut read: impl FnMut(&mut &'a [u8]) -> Result<(), Damage>,
    ) -> Result<Self, Damage> {
        let count = u16::read(bytes)?;
        if usize::from(count) > most {
            return Err(Damage::new(
                "there are too many components, turns, endpoints, regions or names",
            ));
        }
        let records = Self { count, bytes };
        (0..count).try_for_each(|_| read(bytes))?;
        Ok(records)
    }

    fn iter<T>(self, read: impl Fn(&mut &'a [u8]) -> Result<T, Damage>) -> impl Iterator<Item = T> {
        let mut bytes = self.bytes;
        (0..self.count).map_while(move |_| read(&mut bytes).ok())
    }
}

/// The gifts of a component.
#[derive(Clone, Copy, Debug)]
pub struct Gifts<'a>(Records<'a>);

impl<'a> Gifts<'a> {
    /// Each gift.
    pub fn iter(self) -> impl Iterator<Item = Gift<'a>> {
        self.0.iter(Gift::read)
    }
}

/// Takes a component and its gifts.
fn component<'a>(bytes: &mut &'a [u8]) -> Result<(Component<'a>, Gifts<'a>), Damage> {
    let one = Component::read(bytes)?;
    let gifts = Records::take(bytes, MOST_RECORDS, |bytes| Gift::read(bytes).map(drop))?;
    Ok((one, Gifts(gifts)))
}

impl<'a> Table<'a> {
    /// Reads and checks a table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(mut bytes: &'a [u8]) -> Result<Self, Damage> {
        let bytes = &mut bytes;
        if u32::read(bytes)? != MAGIC {
            return Err(Damage::new("it is no table of a system"));
        }
        if u16::read(bytes)? != VERSION {
            return Err(Damage::new(
                "it has the format of another version of the tool",
            ));
        }
        let table = Self {
            supervisor: Supervisor::read(bytes)?,
            turns: Records::take(bytes, MOST_TURNS, |bytes| Turn::read(bytes).map(drop))?,
            endpoints: Records::take(bytes, MOST_ENDPOINTS, |bytes| {
                Endpoint::read(bytes).map(drop)
            })?,
            regions: Records::take(bytes, MOST_REGIONS, |bytes| Region::read(bytes).map(drop))?,
            components: Records::take(bytes, MOST_COMPONENTS, |bytes| component(bytes).map(drop))?,
        };
        if !bytes.is_empty() {
            return Err(Damage::new("something follows after its end"));
        }
        validity::check(&table)?;
        Ok(table)
    }

    /// The supervisor.
    pub fn supervisor(&self) -> Supervisor {
        self.supervisor
    }

    /// The turns of the domains, which repeat; without any, all components are in one domain.
    pub fn turns(&self) -> impl Iterator<Item = Turn> {
        self.turns.iter(Turn::read)
    }

    /// All endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = Endpoint> {
        self.endpoints.iter(Endpoint::read)
    }

    /// All regions of shared memory.
    pub fn regions(&self) -> impl Iterator<Item = Region> {
        self.regions.iter(Region::read)
    }

    /// All components, each with what it gets.
    pub fn components(&self) -> impl Iterator<Item = (Component<'a>, Gifts<'a>)> {
        self.components.iter(component)
    }

    /// The component at `index`.
    pub fn component(&self, index: usize) -> Option<(Component<'a>, Gifts<'a>)> {
        self.components().nth(index)
    }
}
