//! Roots of address spaces: cache maintenance by address.

use kernel::Kernel;
use kernel::arch::PhysAddr;
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use super::{Root, USER_TOP, cache};
use crate::paging::descriptor::Kind;
use crate::paging::table::Place;
use crate::spaces::Asid;
use crate::{Armv8, Platform};

pub(super) fn invoke<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    address: PhysAddr,
    asid: Option<Asid>,
) -> Outcome {
    let operation = cache::of_vspace(invocation.method).ok_or(Error::IllegalOperation)?;
    invocation.require(2, 0)?;
    let range = invocation.word(kernel, 0)..invocation.word(kernel, 1);
    if range.is_empty() {
        return Err(Error::InvalidArgument(1).into());
    }
    if range.end > USER_TOP {
        return Err(Error::IllegalOperation.into());
    }
    let asid = asid.ok_or(Error::InvalidCapability(0))?;
    let root = Root { address, asid }.table(kernel, 0)?;
    let place = Place::find(root, range.start);
    if !matches!(place.kind(), Kind::Frame(_)) {
        return Ok(Answer::Nothing);
    }
    let last = range.start | (place.level.bytes() - 1);
    if range.end - 1 > last {
        return Err(Error::Range {
            minimum: range.start,
            maximum: last,
        }
        .into());
    }
    cache::maintain(kernel, invocation, operation, place.get(), asid, range)?;
    Ok(Answer::Nothing)
}
