//! Registers and operations of the system control coprocessor that ARMv7 has and ARMv6 does not. Section numbers
//! are those of the *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406).

pub(crate) use crate::aarch32::cp15::*;

cp15_readable! {
    /// CTR: the smallest lines of the caches (section B4.1.42).
    cache_type: 0, 0, 0, 1;
    /// CCSIDR: the geometry of the selected cache (section B4.1.19).
    cache_geometry: 0, 1, 0, 0;
}

cp15_writable! {
    /// CSSELR: selects a cache (section B4.1.41).
    select_cache: 0, 2, 0, 0;
    /// VBAR: the address of the exception vectors (section B4.1.156).
    set_vectors: 12, 0, 0, 0;
    /// PMCR: control of the performance monitors (section C12.8).
    set_monitor_control: 9, 0, 12, 0;
    /// PMCNTENSET: enables counters (section C12.8).
    enable_counters: 9, 0, 12, 1;
    /// PMUSERENR: access of users to the performance monitors (section C12.8).
    set_monitor_access: 9, 0, 14, 0;
    /// DCCMVAU: clean a line to the point of unification, for instruction fetches and table walks
    /// (section B4.2.1).
    clean_line_to_unification: 7, 0, 11, 1;
    /// DCISW: invalidate a line by set and way (section B4.2.1).
    invalidate_place: 7, 0, 6, 2;
    /// DCCSW: clean a line by set and way (section B4.2.1).
    clean_place: 7, 0, 10, 2;
    /// DCCISW: clean and invalidate a line by set and way (section B4.2.1).
    clean_invalidate_place: 7, 0, 14, 2;
}
