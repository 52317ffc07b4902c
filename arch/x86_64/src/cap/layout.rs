//! The layout of capabilities in two words.

use abi::Rights;
use kernel::arch::PhysAddr;
use kernel::cap::{Field, RawCap};

use super::{Cap, FrameCap, InertCap, InertKind, Mapping, PoolCap, PortsCap, RootCap, TableCap};
use crate::paging::Level;
use crate::space::Asid;

mod tag {
    pub const FRAME: u8 = 1;
    pub const PAGE_TABLE: u8 = 3;
    pub const PAGE_DIRECTORY: u8 = 5;
    pub const POINTERS: u8 = 7;
    pub const ROOT: u8 = 9;
    pub const ASID_CONTROL: u8 = 11;
    pub const ASID_POOL: u8 = 13;
    pub const PORTS: u8 = 19;
    pub const PORT_CONTROL: u8 = 31;
}

/// The physical address, in all capabilities to memory.
const ADDRESS: Field = Field::aligned(0, 24, 40, 12);
/// The ASID, in all capabilities that can be mapped; 0 means none.
const ASID: Field = Field::number(0, 12, 12);
/// The address of the mapping.
const MAPPED_AT: Field = Field::aligned(1, 0, 36, 12);
/// Frames only.
const LEVEL: Field = Field::number(0, 5, 2);
const DEVICE: Field = Field::number(0, 7, 1);
const RIGHTS: Field = Field::number(0, 8, 2);
/// ASID pools only.
const POOL_INDEX: Field = Field::number(0, 5, 3);
/// Ports only.
const FIRST_PORT: Field = Field::number(1, 0, 16);
const LAST_PORT: Field = Field::number(1, 16, 16);

fn with_asid(raw: RawCap, asid: Option<Asid>) -> RawCap {
    raw.with(ASID, asid.map_or(0, Asid::number))
}

fn with_mapping(raw: RawCap, mapping: Option<Mapping>) -> RawCap {
    match mapping {
        Some(Mapping { asid, address }) => with_asid(raw, Some(asid)).with(MAPPED_AT, address),
        None => raw,
    }
}

fn mapping(raw: RawCap) -> Option<Mapping> {
    Asid::new(raw.get(ASID)).map(|asid| Mapping {
        asid,
        address: raw.get(MAPPED_AT),
    })
}

#[inline(always)]
pub fn encode(cap: Cap) -> RawCap {
    match cap {
        Cap::Frame(FrameCap {
            address,
            level,
            device,
            rights,
            mapping,
        }) => {
            let level = match level {
                Level::Table => 0,
                Level::Directory => 1,
                Level::Pointers | Level::Root => 2,
            };
            let raw = RawCap::new(tag::FRAME)
                .with(ADDRESS, address.0)
                .with(LEVEL, level)
                .with(DEVICE, device.into())
                .with(RIGHTS, rights.word());
            with_mapping(raw, mapping)
        }
        Cap::Table(TableCap {
            address,
            level,
            mapping,
        }) => {
            let tag = match level {
                Level::Table => tag::PAGE_TABLE,
                Level::Directory => tag::PAGE_DIRECTORY,
                Level::Pointers | Level::Root => tag::POINTERS,
            };
            with_mapping(RawCap::new(tag).with(ADDRESS, address.0), mapping)
        }
        Cap::Root(RootCap { address, asid }) => {
            with_asid(RawCap::new(tag::ROOT).with(ADDRESS, address.0), asid)
        }
        Cap::AsidControl => RawCap::new(tag::ASID_CONTROL),
        Cap::AsidPool(PoolCap { address, index }) => RawCap::new(tag::ASID_POOL)
            .with(ADDRESS, address.0)
            .with(POOL_INDEX, index),
        Cap::PortControl => RawCap::new(tag::PORT_CONTROL),
        Cap::Ports(PortsCap { first, last }) => RawCap::new(tag::PORTS)
            .with(FIRST_PORT, first.into())
            .with(LAST_PORT, last.into()),
        Cap::Inert(InertCap { address, kind }) => RawCap::new(kind as u8).with(ADDRESS, address.0),
    }
}

#[inline(always)]
pub fn decode(raw: RawCap) -> Cap {
    let address = PhysAddr(raw.get(ADDRESS));
    let table = |level| {
        Cap::Table(TableCap {
            address,
            level,
            mapping: mapping(raw),
        })
    };
    let inert = |kind| Cap::Inert(InertCap { address, kind });
    match raw.tag() {
        tag::FRAME => Cap::Frame(FrameCap {
            address,
            level: match raw.get(LEVEL) {
                0 => Level::Table,
                1 => Level::Directory,
                _ => Level::Pointers,
            },
            device: raw.get(DEVICE) != 0,
            rights: Rights::from_word(raw.get(RIGHTS)),
            mapping: mapping(raw),
        }),
        tag::PAGE_TABLE => table(Level::Table),
        tag::PAGE_DIRECTORY => table(Level::Directory),
        tag::POINTERS => table(Level::Pointers),
        tag::ROOT => Cap::Root(RootCap {
            address,
            asid: Asid::new(raw.get(ASID)),
        }),
        tag::ASID_CONTROL => Cap::AsidControl,
        tag::ASID_POOL => Cap::AsidPool(PoolCap {
            address,
            index: raw.get(POOL_INDEX),
        }),
        tag::PORT_CONTROL => Cap::PortControl,
        tag::PORTS => Cap::Ports(PortsCap {
            first: raw.get(FIRST_PORT) as u16,
            last: raw.get(LAST_PORT) as u16,
        }),
        17 => inert(InertKind::IoPageTable),
        21 => inert(InertKind::Vcpu),
        23 => inert(InertKind::EptTable),
        25 => inert(InertKind::EptDirectory),
        27 => inert(InertKind::EptPointers),
        // 29: there are no others. A panic would have to be compiled into each place that tests for one kind.
        _ => inert(InertKind::EptRoot),
    }
}
