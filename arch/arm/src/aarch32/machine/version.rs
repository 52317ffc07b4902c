//! The differences between versions of the 32-bit architecture.

use core::ops::Range;

use crate::aarch32::CacheOperation;

/// A version of the architecture. Beside this trait it provides `version.s`: the assembler macros that
/// `start.s`, `trap.s` and `fpu.s` use.
pub trait Version: Sized + 'static {
    /// The address at which the exception vectors must be mapped, on cores where it is fixed.
    const FIXED_VECTORS: Option<usize>;
    /// The low bits of TTBR0: the attributes of table walks.
    const WALK: usize;
    /// Whether barriers are operations of the coprocessor, as in ARMv6.
    const OLD_BARRIERS: bool;
    /// Whether branches of one address space may be predicted in another one.
    const SHARED_PREDICTIONS: bool;

    /// Sets the exception vectors of this core to `vectors`, or to the fixed address if there is one.
    fn set_vectors(vectors: usize);

    /// Waits until earlier memory accesses and cache and TLB maintenance are complete (DSB).
    fn data_barrier();

    /// Makes later instructions see earlier changes of the core's state (ISB).
    fn instruction_barrier();

    /// Waits until an interrupt is pending, masked or not.
    fn wait_for_interrupt();

    /// Removes user access to the core's counters, except in benchmark kernels, and to its debug
    /// communication channel.
    fn limit_users();

    /// Enables caches and branch prediction. The data cache has undefined content after a reset.
    ///
    /// # Safety
    /// The data cache is disabled, so it has no dirty lines to lose.
    unsafe fn enable_caches();

    /// Makes writes to a range of addresses visible to table walks.
    fn clean_table(range: Range<usize>);

    /// Writes a range of addresses back to memory.
    fn clean(range: Range<usize>);

    /// Performs an operation that a user requested, on a mapped range of its addresses.
    fn maintain(operation: CacheOperation, range: Range<usize>);

    /// Cleans and invalidates the data cache if `data` is set, and invalidates the instruction cache if
    /// `instructions` is set.
    fn flush(data: bool, instructions: bool);
}
