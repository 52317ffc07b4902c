//! What methods of frames, page tables and roots do that depends on the format of tables. The order of checks
//! is part of the user interface.

pub(crate) mod page;
pub(crate) mod page_table;

use abi::LookupFailure;
use arch_arm::cap::{INVALID_ROOT, Root};
use arch_arm::platform::Platform;
use kernel::Kernel;
use kernel::invoke::{Error, ensure};

use crate::Armv8;
use crate::cap::Words64;
use crate::paging::descriptor::Kind;
use crate::paging::table::{Place, Table};

/// User addresses are below this: half of the range that their tables can translate.
pub(crate) const USER_TOP: usize = 1 << 47;

/// The table of a root that is argument `number` of an invocation.
///
/// # Errors
/// The identifier is not in use any more, or belongs to another address space.
fn table<P: Platform>(
    kernel: &Kernel<Armv8<P>>,
    root: Root<Words64>,
    number: usize,
) -> Result<Table, Error> {
    let table = kernel.arch.spaces.root(root.asid).ok_or(INVALID_ROOT)?;
    let is_same = table.address() == root.address;
    ensure(is_same, Error::InvalidCapability(number))?;
    Ok(table)
}

/// The size of the frame that is mapped at an address, and whether users can write there.
///
/// # Errors
/// As for [`table`].
pub(crate) fn mapped_at<P: Platform>(
    kernel: &Kernel<Armv8<P>>,
    root: Root<Words64>,
    address: usize,
) -> Result<Option<(usize, bool)>, Error> {
    let place = Place::find(table(kernel, root, 0)?, address);
    let is_frame = matches!(place.kind(), Kind::Frame(_));
    Ok(is_frame.then(|| (place.level.bytes(), place.get().is_user_writable())))
}

/// The lookup error for a missing table at `bits_left` bits.
const fn missing_table(bits_left: usize) -> Error {
    Error::lookup(LookupFailure::MissingCapability { bits_left })
}
