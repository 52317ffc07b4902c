//! A root task in the place of the initialiser of a ready-made system, as large as that of an echo server with its
//! drivers. The tool that lays such a system out computes from the kernel's file and from the platform's description which
//! memory is free, and relies on the result; `xtask/src/microkit/promise.rs` does the same, and writes the result into this
//! program. Here it is compared with what the kernel gives, and used: frames at both ends of it, and objects between them.
#![no_std]
#![no_main]

use core::ops::Range;

use userlib::abi::{MAX_BOOT_UNTYPEDS, ObjectType, Rights, UntypedDescriptor, config};
use userlib::allocator::Allocator;
use userlib::cap::{Attributes, CPtr, Frame, FrameSize, SlotRange, Untyped};
use userlib::environment::PAGE;
use userlib::{BootInfo, Result, boot, println, runtime};

/// What the echo server needs.
const FRAMES: usize = 1_460;
const OBJECTS: usize = 2_875;

/// The most objects of one call.
const FAN_OUT: usize = 256;
/// Where frames are mapped; far above this program.
const FREE_ADDRESSES: usize = 0x1000_0000;
/// The objects; those of variable size get the smallest.
const KINDS: [(ObjectType, usize, usize); 6] = {
    use userlib::abi::sizes;
    [
        (ObjectType::Tcb, 0, sizes::TCB_BITS),
        (ObjectType::Endpoint, 0, sizes::ENDPOINT_BITS),
        (ObjectType::Notification, 0, sizes::NOTIFICATION_BITS),
        (ObjectType::Reply, 0, sizes::REPLY_BITS),
        (ObjectType::CNode, 1, 1 + sizes::SLOT_BITS),
        (
            ObjectType::SchedContext,
            sizes::MIN_SCHED_CONTEXT_BITS,
            sizes::MIN_SCHED_CONTEXT_BITS,
        ),
    ]
};

/// Start and end of each range of free memory, then of each range of devices. The rest is zero.
type Promised = [[[u64; 2]; 8]; 2];

/// The tool fills it in when it assembles the boot image.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".data")]
static PROMISED: Promised = [[[0; 2]; 8]; 2];

/// Makes this program as large as the initialiser of the echo server.
static BALLAST: [u8; FRAMES * PAGE] = [0; FRAMES * PAGE];

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result {
    // SAFETY: the static is valid; the volatile read keeps the compiler from taking its initial value.
    let promised = unsafe { (&raw const PROMISED).read_volatile() };
    let (mut passed, mut failed) = (0, 0);
    let mut tell = |name: &str, verdict: core::result::Result<(), &str>| match verdict {
        Ok(()) => {
            passed += 1;
            println!("test loader::{name} ... ok");
        }
        Err(why) => {
            failed += 1;
            println!("test loader::{name} ... FAILED: {why}");
        }
    };
    // On x86-64 the tool promises nothing.
    let promises: &[_] = match cfg!(target_arch = "aarch64") {
        true => &["memory_is_that_promised", "devices_are_those_promised"],
        false => &[],
    };
    for (kind, name) in promises.iter().enumerate() {
        let mut given = Ranges::given(boot, kind as u8);
        let given = given.joined();
        let found = given.iter().map(|range| [range.start, range.end]);
        let same = found.eq(promised[kind].into_iter().filter(|[_, end]| *end > 0));
        let other = "the kernel gives something else";
        tell(name, if same { Ok(()) } else { Err(other) });
        if !same {
            println!("promised {:#x?}, given {given:#x?}", promised[kind]);
        }
    }
    tell("frames_and_objects_are_apart", use_memory(boot)?);
    println!("{passed} passed, {failed} failed");
    runtime::exit((failed != 0) as usize)
}

/// Ranges of addresses.
struct Ranges {
    all: [Range<u64>; MAX_BOOT_UNTYPEDS],
    count: usize,
}

impl Ranges {
    /// The untypeds of one kind.
    fn given(boot: &BootInfo, is_device: u8) -> Self {
        let mut all = [const { 0..0 }; MAX_BOOT_UNTYPEDS];
        let untypeds = &boot.untyped_list[..boot.untyped.len()];
        let found = untypeds.iter().filter(|one| one.is_device == is_device);
        let mut count = 0;
        for one in found {
            let start = one.address as u64;
            all[count] = start..start + (1 << one.size_bits);
            count += 1;
        }
        Self { all, count }
    }

    /// In order, with neighbours joined.
    fn joined(&mut self) -> &[Range<u64>] {
        let all = &mut self.all[..self.count];
        all.sort_unstable_by_key(|range| range.start);
        let mut last = 0;
        for index in 1..all.len() {
            let range = all[index].clone();
            if all[last].end == range.start {
                all[last].end = range.end;
            } else {
                last += 1;
                all[last] = range;
            }
        }
        &all[..(last + 1).min(all.len())]
    }
}

/// Makes frames at both ends of memory and objects between them, and checks that no two share a byte.
fn use_memory(boot: &'static BootInfo) -> Result<core::result::Result<(), &'static str>> {
    // A root CNode of the usual size has no room for all objects.
    let room = boot.empty.len() - FRAMES - FAN_OUT;
    let objects = OBJECTS.min(room / KINDS.len() * KINDS.len());
    if objects < OBJECTS && config::ROOT_CNODE_BITS > 12 {
        return Ok(Err("there is no room for the objects"));
    }
    if boot.user_image_frames.len() <= FRAMES || core::hint::black_box(&BALLAST)[0] != 0 {
        return Ok(Err("the initial task is not loaded as a whole"));
    }

    let (mut low, mut high) = (Memory::of(boot), Memory::of(boot));
    high.is_downwards = true;
    let middle = low.take_largest();
    high.take_largest();
    let mut slots = boot.empty.start..boot.empty.end;
    for memory in [&mut low, &mut high] {
        if !memory.make_frames(&mut slots, FRAMES / 2)? {
            return Ok(Err("a frame has another physical address"));
        }
    }
    let frames = boot.empty.start..slots.start;
    let mut allocator: Allocator = Allocator::new(boot::CNODE, slots);
    allocator.add_untyped(Untyped(middle.0), middle.1);
    for (index, frame) in frames.clone().enumerate() {
        let address = FREE_ADDRESSES + index * PAGE;
        let frame = Frame(CPtr(frame));
        boot::VSPACE.map(
            &mut allocator,
            frame,
            address,
            Rights::READ_WRITE,
            Attributes::NORMAL,
        )?;
    }
    // SAFETY: the frames are mapped there, and nothing else uses these addresses.
    let words = unsafe {
        core::slice::from_raw_parts_mut(
            core::ptr::with_exposed_provenance_mut::<usize>(FREE_ADDRESSES),
            frames.len() * PAGE / size_of::<usize>(),
        )
    };
    if words.iter().any(|word| *word != 0) {
        return Ok(Err("a new frame is not cleared"));
    }
    let pattern = |index: usize| index.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize) | 1;
    for (index, word) in words.iter_mut().enumerate() {
        *word = pattern(index);
    }
    for index in 0..objects {
        let (kind, argument, bits) = KINDS[index % KINDS.len()];
        allocator.create_any(kind, argument, bits)?;
    }
    let is_whole = |(index, word): (usize, &usize)| *word == pattern(index);
    match words.iter().enumerate().all(is_whole) {
        true => Ok(Ok(())),
        false => Ok(Err("a frame shares memory with something else")),
    }
}

/// The untypeds of memory, in order.
struct Memory {
    all: [(UntypedDescriptor, CPtr); MAX_BOOT_UNTYPEDS],
    count: usize,
    is_downwards: bool,
}

impl Memory {
    fn of(boot: &BootInfo) -> Self {
        let mut all = [(UntypedDescriptor::default(), CPtr::NULL); MAX_BOOT_UNTYPEDS];
        let list = &boot.untyped_list[..boot.untyped.len()];
        let mut count = 0;
        for (index, one) in list.iter().enumerate() {
            if one.is_device == 0 {
                all[count] = (*one, CPtr(boot.untyped.start + index));
                count += 1;
            }
        }
        all[..count].sort_unstable_by_key(|(one, _)| one.address);
        Self {
            all,
            count,
            is_downwards: false,
        }
    }

    /// Removes the largest, and says how large it is.
    fn take_largest(&mut self) -> (CPtr, usize) {
        let all = &mut self.all[..self.count];
        let found = all.iter_mut().max_by_key(|(one, _)| one.size_bits);
        found.map_or((CPtr::NULL, 0), |(one, place)| {
            let bits = core::mem::take(&mut one.size_bits);
            (*place, bits.into())
        })
    }

    /// Makes `count` frames, from one end of memory on; whether they lie where the untypeds do.
    fn make_frames(&self, slots: &mut Range<usize>, mut count: usize) -> Result<bool> {
        for index in 0..self.count {
            let index = match self.is_downwards {
                true => self.count - 1 - index,
                false => index,
            };
            let (one, place) = self.all[index];
            let mut address = one.address;
            let end = address + (1 << one.size_bits);
            while count > 0 && end - address >= PAGE {
                let number = count.min((end - address) / PAGE).min(FAN_OUT);
                let kind = FrameSize::SMALLEST.object_type();
                let range = SlotRange {
                    root: boot::CNODE,
                    index: 0,
                    depth: 0,
                    offset: slots.start,
                };
                Untyped(place).retype(kind, 0, range, number)?;
                for slot in slots.by_ref().take(number) {
                    if Frame(CPtr(slot)).physical_address()? != address {
                        return Ok(false);
                    }
                    address += PAGE;
                }
                count -= number;
            }
        }
        Ok(count == 0)
    }
}
