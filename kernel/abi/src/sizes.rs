//! Sizes of objects, as log2 of bytes.

use crate::WORD_BITS;

const WIDE: bool = WORD_BITS == 64;

/// One capability slot.
pub const SLOT_BITS: usize = if WIDE { 5 } else { 4 };
/// A thread control block. Arm's becomes larger with the state of breakpoints; x86's has room for it.
pub const TCB_BITS: usize = {
    let breakpoints = crate::config::HARDWARE_DEBUG && !crate::config::X86_64;
    (if WIDE { 11 } else { 10 }) + breakpoints as usize
};
/// An endpoint.
pub const ENDPOINT_BITS: usize = 4;
/// A notification.
pub const NOTIFICATION_BITS: usize = if WIDE { 6 } else { 5 };
/// A reply object.
pub const REPLY_BITS: usize = if WIDE { 5 } else { 4 };
/// The smallest scheduling context.
pub const MIN_SCHED_CONTEXT_BITS: usize = 7;
/// Bytes of a scheduling context without its list of replenishments.
pub const SCHED_CONTEXT_HEADER_BYTES: usize = if WIDE { 96 } else { 56 };
/// Bytes of one replenishment.
pub const REFILL_BYTES: usize = 16;
/// The smallest untyped.
pub const MIN_UNTYPED_BITS: usize = 4;
/// The largest untyped.
pub const MAX_UNTYPED_BITS: usize = if WIDE { 47 } else { 29 };
/// A page of the smallest size.
pub const PAGE_BITS: usize = 12;
/// A core's ring of trace events that user level empties.
pub const STREAM_RING_BITS: usize = 19;
/// An ASID pool.
pub const ASID_POOL_BITS: usize = 12;
/// The root of an address space.
pub const VSPACE_BITS: usize = if WIDE { 12 } else { 14 };
/// A page table (of the lowest level).
pub const PAGE_TABLE_BITS: usize = if WIDE { 12 } else { 10 };

/// How many replenishments a scheduling context of `2^size_bits` bytes holds.
pub const fn refill_capacity(size_bits: usize) -> usize {
    ((1usize << size_bits) - SCHED_CONTEXT_HEADER_BYTES) / REFILL_BYTES
}

#[cfg(test)]
mod tests {
    #[test]
    fn smallest_sched_context_holds_two_refills() {
        assert_eq!(super::refill_capacity(7), 2);
        assert_eq!(super::refill_capacity(8), 10);
    }
}
