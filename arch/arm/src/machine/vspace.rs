//! Roots of address spaces: cache maintenance by address.

use kernel::Kernel;
use kernel::arch::PhysAddr;
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use super::{ExecutionState, Machine};
use crate::cache;
use crate::cap::{Format, Root};
use crate::platform::Platform;
use crate::spaces::AddressSpaces;

pub(super) fn invoke<V: ExecutionState, P: Platform>(
    kernel: &mut Kernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    address: PhysAddr,
    asid: Option<<V::Format as Format>::Asid>,
) -> Outcome {
    let operation = V::root_operation(invocation.method).ok_or(Error::IllegalOperation)?;
    invocation.require(2, 0)?;
    let range = invocation.word(kernel, 0)..invocation.word(kernel, 1);
    if range.is_empty() {
        return Err(Error::InvalidArgument(1).into());
    }
    if range.end > V::USER_TOP {
        return Err(Error::IllegalOperation.into());
    }
    let asid = asid.ok_or(Error::InvalidCapability(0))?;
    let Some((bytes, writable)) = V::mapped_at(kernel, Root { address, asid }, range.start)? else {
        return Ok(Answer::Nothing);
    };
    let last = range.start | (bytes - 1);
    if range.end - 1 > last {
        return Err(Error::range(range.start, last).into());
    }
    let wanted = (operation, range);
    cache::maintain(
        kernel,
        invocation,
        wanted,
        writable,
        V::CACHE_PIECE,
        |kernel, piece| {
            kernel
                .arch
                .spaces
                .inside(asid, || V::maintain_cache(operation, piece));
        },
    )?;
    Ok(Answer::Nothing)
}
