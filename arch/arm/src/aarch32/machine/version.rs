//! What versions of the 32-bit architecture do each in their own way.

use core::ops::Range;

use crate::aarch32::CacheOperation;

/// A version of the architecture. Beside this trait it brings `version.s`: the assembler macros that
/// `start.s`, `trap.s` and `fpu.s` make use of.
pub trait Version: Sized + 'static {
    /// Where the exception vectors have to be mapped, on cores that cannot be told where they are.
    const FIXED_VECTORS: Option<usize>;
    /// The low bits of TTBR0: how tables are walked.
    const WALK: usize;
    /// Whether barriers are operations of the coprocessor, as in ARMv6.
    const OLD_BARRIERS: bool;
    /// Whether branches of one address space may be predicted in another one.
    const SHARED_PREDICTIONS: bool;

    /// Makes this core take exceptions at `vectors`, or at the fixed place if there is one.
    fn set_vectors(vectors: usize);

    /// Waits until what was done to memory, caches and tables so far is complete (DSB).
    fn data_barrier();

    /// Lets the instructions that follow see what was done to the core's state (ISB).
    fn instruction_barrier();

    /// Waits until an interrupt is pending, masked or not.
    fn wait_for_interrupt();

    /// Says what users may do with the core's counters and its debug communication channel, which no thread
    /// owns: nothing, but for counters in benchmark kernels.
    fn limit_users();

    /// Switches caches and branch prediction on. The data cache holds garbage after a reset.
    ///
    /// # Safety
    /// The data cache is off, so it has nothing to lose.
    unsafe fn enable_caches();

    /// Makes writes to a range of addresses visible to table walks.
    fn clean_table(range: Range<usize>);

    /// Writes a range of addresses back to memory.
    fn clean(range: Range<usize>);

    /// Performs an operation that a user asked for, on a range of its addresses, which are mapped.
    fn maintain(operation: CacheOperation, range: Range<usize>);

    /// Cleans and invalidates the data cache if asked to, and invalidates the instruction cache if
    /// asked to.
    fn flush(data: bool, instructions: bool);
}
