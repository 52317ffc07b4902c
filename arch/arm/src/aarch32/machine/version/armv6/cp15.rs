//! Operations of the system control coprocessor that ARMv7 does not have, or replaces by instructions.
//! Section numbers are those of the *ARM1136JF-S and ARM1136J-S Technical Reference Manual*
//! (ARM DDI 0211); all of these are in section 3.3.17, "c7, Cache Operations".

pub(crate) use crate::aarch32::cp15::*;

cp15_writable! {
    /// Wait For Interrupt.
    wait_for_interrupt: 7, 0, 0, 4;
    /// Flush Prefetch Buffer: what later architectures call ISB.
    instruction_barrier: 7, 0, 5, 4;
    /// Data Synchronization Barrier.
    data_barrier: 7, 0, 10, 4;
    /// Invalidate Entire Data Cache.
    invalidate_all: 7, 0, 6, 0;
    /// Clean Entire Data Cache.
    clean_all: 7, 0, 10, 0;
    /// Clean and Invalidate Entire Data Cache.
    clean_invalidate_all: 7, 0, 14, 0;
}
