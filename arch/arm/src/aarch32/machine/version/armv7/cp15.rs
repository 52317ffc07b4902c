//! Operations of the system control coprocessor that ARMv7 has and ARMv6 does not. Section numbers
//! are those of the *ARM Architecture Reference Manual, ARMv7-A and ARMv7-R edition* (DDI 0406).

pub(crate) use crate::aarch32::cp15::*;

cp15_writable! {
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
