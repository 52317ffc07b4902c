//! Page directories, the roots of address spaces: cache maintenance by address.

use kernel::Kernel;
use kernel::arch::PhysAddr;
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use super::{Root, cache};
use crate::aarch32::map::Found;
use crate::aarch32::{Aarch32, Asid, USER_TOP};

pub(super) fn invoke<A: Aarch32>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    address: PhysAddr,
    asid: Option<Asid>,
) -> Outcome {
    let operation = cache::of_page_directory(invocation.method).ok_or(Error::IllegalOperation)?;
    invocation.require(2, 0)?;
    let range = invocation.word(kernel, 0)..invocation.word(kernel, 1);
    if range.is_empty() {
        return Err(Error::InvalidArgument(1).into());
    }
    if range.end > USER_TOP {
        return Err(Error::IllegalOperation.into());
    }
    let asid = asid.ok_or(Error::InvalidCapability(0))?;
    let directory = Root { address, asid }.directory(kernel, 0)?;
    let Some((size, writable)) = Found::at(directory, range.start) else {
        return Ok(Answer::Nothing);
    };
    let last = range.start | (size.bytes() - 1);
    if range.end - 1 > last {
        return Err(Error::Range {
            minimum: range.start,
            maximum: last,
        }
        .into());
    }
    cache::maintain(kernel, invocation, operation, writable, asid, range)?;
    Ok(Answer::Nothing)
}
