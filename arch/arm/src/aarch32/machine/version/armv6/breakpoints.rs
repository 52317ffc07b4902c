//! Without debug registers: they are undefined if there is no debug unit, as in QEMU, and its presence cannot be
//! detected beforehand.

use crate::breakpoints::Registers;

pub(crate) fn start() -> bool {
    false
}

/// Nothing else raises debug events.
pub(crate) fn is_software() -> bool {
    true
}

/// Never called.
pub(crate) fn load(_before: &Registers, _wanted: &Registers) {}
