//! What a debugger cannot learn from the kernel's types: how capabilities are packed, and where replenishments are. In
//! debug kernels only; the commands of `cargo xtask gdb` read it (`xtask/src/gdb/commands.py`).

use core::marker::PhantomData;

use crate::budget::Entry;
use crate::cap::{KINDS, Kind, RawCap};
use crate::object::REFILLS_OFFSET;

/// Constants of the kernel, as a value that its memory holds.
#[expect(dead_code, reason = "a debugger reads it")]
pub(crate) struct Constants {
    /// The kinds of capabilities that do not depend on the architecture.
    kinds: &'static [Kind],
    /// The bits of a short tag. If the first word has all bits of `long_tag`, its lowest byte is the tag.
    short_tag: usize,
    long_tag: usize,
    /// The offset of the first replenishment in a scheduling context.
    refills: usize,
    /// The type of a replenishment.
    refill: PhantomData<Entry>,
}

/// Those of this kernel.
pub(crate) static CONSTANTS: Constants = Constants {
    kinds: KINDS,
    short_tag: RawCap::SHORT_TAG,
    long_tag: RawCap::LONG_TAG,
    refills: REFILLS_OFFSET,
    refill: PhantomData,
};
