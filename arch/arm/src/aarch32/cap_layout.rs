//! The layout of capabilities in two 32-bit words.
//!
//! The tags are the numbers that `DebugCapIdentify` shows. A small frame uses every bit of its words, so it
//! determines the layout: physical address and tag in word 0 with rights and flags, virtual address in
//! word 1, and the identifier of the address space in the remaining bits of both.

use abi::Rights;
use kernel::arch::PhysAddr;
use kernel::cap::{Field, RawCap};

use super::asid::Asid;
use super::cap::{Capability, FrameCap, FrameSize, Mapping};

const SMALL_FRAME: u8 = 1;
const FRAME: u8 = 3;
const ASID_POOL: u8 = 5;
const PAGE_TABLE: u8 = 7;
const PAGE_DIRECTORY: u8 = 9;
const ASID_CONTROL: u8 = 11;
const SGI_SIGNAL: u8 = 63;

/// The fields of a frame, with addresses that are multiples of `2^bits` bytes.
struct FrameFields {
    address: Field,
    virtual_address: Field,
}

impl FrameFields {
    const fn new(bits: u8) -> Self {
        Self {
            address: Field::aligned(0, bits, 32 - bits, bits),
            virtual_address: Field::aligned(1, bits, 32 - bits, bits),
        }
    }
}

const SMALL: FrameFields = FrameFields::new(12);
const LARGE: FrameFields = FrameFields::new(16);
const RIGHTS: Field = Field::number(0, 4, 2);
const DEVICE: Field = Field::number(0, 6, 1);
const FRAME_ASID_LOW: Field = Field::number(1, 0, 12);
const FRAME_ASID_HIGH: Field = Field::number(0, 7, 5);
/// Not for small frames, which have their address in these bits.
const SIZE: Field = Field::number(0, 12, 2);

const TABLE_ADDRESS: Field = Field::aligned(0, 10, 22, 10);
const TABLE_VIRTUAL: Field = Field::aligned(1, 20, 12, 20);
const DIRECTORY_ADDRESS: Field = Field::aligned(0, 14, 18, 14);
const ASID: Field = Field::number(1, 0, 17);

const POOL_ADDRESS: Field = Field::aligned(0, 12, 20, 12);
const POOL: Field = Field::number(1, 0, 7);

const SIGNAL_NUMBER: Field = Field::number(1, 0, 4);
const SIGNAL_TARGET: Field = Field::number(1, 4, 8);

#[inline(always)]
pub(super) const fn encode(cap: Capability) -> RawCap {
    match cap {
        Capability::Frame(frame) => encode_frame(frame),
        Capability::PageTable { address, mapping } => {
            let (asid, virtual_address) = encode_mapping(mapping);
            RawCap::new(PAGE_TABLE)
                .with(TABLE_ADDRESS, address.0)
                .with(TABLE_VIRTUAL, virtual_address)
                .with(ASID, asid)
        }
        Capability::VSpace { address, asid } => RawCap::new(PAGE_DIRECTORY)
            .with(DIRECTORY_ADDRESS, address.0)
            .with(ASID, encode_asid(asid)),
        Capability::AsidControl => RawCap::new(ASID_CONTROL),
        Capability::AsidPool { pool, address } => RawCap::new(ASID_POOL)
            .with(POOL, pool)
            .with(POOL_ADDRESS, address.0),
        Capability::Smc { .. } => panic!("only AArch64 has it"),
        Capability::SgiSignal { number, target } => RawCap::new(SGI_SIGNAL)
            .with(SIGNAL_NUMBER, number)
            .with(SIGNAL_TARGET, target),
    }
}

#[inline(always)]
const fn encode_frame(frame: FrameCap) -> RawCap {
    let (asid, virtual_address) = encode_mapping(frame.mapping);
    let (raw, fields) = match frame.size {
        FrameSize::SmallPage => (RawCap::new(SMALL_FRAME), SMALL),
        size => (RawCap::new(FRAME).with(SIZE, size as usize), LARGE),
    };
    raw.with(fields.address, frame.address.0)
        .with(fields.virtual_address, virtual_address)
        .with(RIGHTS, frame.rights.word() & Rights::READ_WRITE.word())
        .with(DEVICE, frame.device as usize)
        .with(FRAME_ASID_LOW, asid & 0xfff)
        .with(FRAME_ASID_HIGH, asid >> 12)
}

const fn encode_asid(asid: Option<Asid>) -> usize {
    match asid {
        Some(asid) => asid.word(),
        None => 0,
    }
}

const fn encode_mapping(mapping: Option<Mapping>) -> (usize, usize) {
    match mapping {
        Some(mapping) => (mapping.asid.word(), mapping.address),
        None => (0, 0),
    }
}

#[inline(always)]
pub(super) const fn decode(raw: RawCap) -> Capability {
    match raw.tag() {
        SMALL_FRAME => Capability::Frame(decode_small_frame(raw)),
        FRAME => Capability::Frame(decode_large_frame(raw)),
        ASID_POOL => Capability::AsidPool {
            pool: raw.get(POOL),
            address: PhysAddr(raw.get(POOL_ADDRESS)),
        },
        PAGE_TABLE => Capability::PageTable {
            address: PhysAddr(raw.get(TABLE_ADDRESS)),
            mapping: decode_mapping(raw.get(ASID), raw.get(TABLE_VIRTUAL)),
        },
        PAGE_DIRECTORY => Capability::VSpace {
            address: PhysAddr(raw.get(DIRECTORY_ADDRESS)),
            asid: Asid::from_word(raw.get(ASID)),
        },
        ASID_CONTROL => Capability::AsidControl,
        SGI_SIGNAL => Capability::SgiSignal {
            number: raw.get(SIGNAL_NUMBER),
            target: raw.get(SIGNAL_TARGET),
        },
        _ => unreachable!(),
    }
}

#[inline(always)]
pub(super) const fn decode_space(raw: RawCap) -> Option<(Asid, PhysAddr)> {
    if raw.tag() != PAGE_DIRECTORY {
        return None;
    }
    match Asid::from_word(raw.get(ASID)) {
        Some(asid) => Some((asid, PhysAddr(raw.get(DIRECTORY_ADDRESS)))),
        None => None,
    }
}

/// The frame capability, if it is one.
#[inline(always)]
pub(super) const fn decode_frame(raw: RawCap) -> Option<FrameCap> {
    match raw.tag() {
        SMALL_FRAME => Some(decode_small_frame(raw)),
        FRAME => Some(decode_large_frame(raw)),
        _ => None,
    }
}

#[inline(always)]
const fn decode_small_frame(raw: RawCap) -> FrameCap {
    decode_frame_of(raw, FrameSize::SmallPage, SMALL)
}

#[inline(always)]
const fn decode_large_frame(raw: RawCap) -> FrameCap {
    let size = match raw.get(SIZE) {
        1 => FrameSize::LargePage,
        2 => FrameSize::Section,
        _ => FrameSize::Supersection,
    };
    decode_frame_of(raw, size, LARGE)
}

#[inline(always)]
const fn decode_frame_of(raw: RawCap, size: FrameSize, fields: FrameFields) -> FrameCap {
    let asid = raw.get(FRAME_ASID_LOW) | raw.get(FRAME_ASID_HIGH) << 12;
    FrameCap {
        address: PhysAddr(raw.get(fields.address)),
        size,
        device: raw.get(DEVICE) != 0,
        rights: Rights::from_word(raw.get(RIGHTS)),
        mapping: decode_mapping(asid, raw.get(fields.virtual_address)),
    }
}

#[inline(always)]
const fn decode_mapping(asid: usize, address: usize) -> Option<Mapping> {
    match Asid::from_word(asid) {
        Some(asid) => Some(Mapping { asid, address }),
        None => None,
    }
}
