//! Methods of frames and page tables. The order of checks is part of the user interface.

use abi::Method;
use kernel::ExclusiveKernel;
use kernel::arch::{ArchCap, PhysAddr};
use kernel::cap::{Cap, RawCap};
use kernel::invoke::{Answer, Error, Invocation, Outcome, ensure};

use super::{ExecutionState, Machine, vspace};
use crate::cache;
use crate::cap::{Capability, FrameCap, Mapping, Root};
use crate::platform::Platform;

/// Performs a method of a frame, given by its packed capability.
#[inline(never)]
pub(super) fn invoke_frame<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    cap: RawCap,
) -> Outcome {
    let Capability::<V::Format>::Frame(frame) = Capability::decode(cap) else {
        return Err(Error::InvalidCapability(0).into());
    };
    match invocation.method {
        Method::ArmPageMap => V::map_page(kernel, invocation, frame),
        Method::ArmPageUnmap => {
            V::unmap_page(kernel, &frame);
            let unmapped = Capability::Frame(FrameCap {
                mapping: None,
                ..frame
            });
            kernel[invocation.slot].set_cap(Cap::Arch(unmapped));
            Ok(Answer::Nothing)
        }
        Method::ArmPageGetAddress => Ok(Answer::word(frame.address.0)),
        method => {
            let operation = cache::of_page(method).ok_or(Error::IllegalOperation)?;
            invocation.require(2, 0)?;
            let offsets = invocation.word(kernel, 0)..invocation.word(kernel, 1);
            let (asid, writable, range) = V::cache_range(kernel, &frame, offsets)?;
            vspace::maintain(kernel, invocation, asid, (operation, range), writable)
        }
    }
}

/// Performs a method of a page table.
pub(super) fn invoke_table<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    table: PhysAddr,
    mapping: Option<Mapping<V::Format>>,
) -> Outcome {
    let mapping = match invocation.method {
        Method::ArmPageTableMap => {
            invocation.require(2, 1)?;
            ensure(mapping.is_none(), Error::InvalidCapability(0))?;
            let root = Root::from_cap(invocation.packed_extra(kernel, 0), 1)?;
            let address = invocation.word(kernel, 0);
            let attributes = invocation.word(kernel, 1);
            ensure(address < V::USER_TOP, Error::InvalidArgument(0))?;
            Some(Mapping {
                asid: root.asid,
                address: V::map_table(kernel, root, table, address, attributes)?,
            })
        }
        Method::ArmPageTableUnmap => {
            ensure(kernel.is_last_cap(invocation.slot), Error::RevokeFirst)?;
            if let Some(mapping) = mapping {
                V::unmap_table(kernel, table, mapping);
                // SAFETY: the capability refers to a table, which is in no other table now.
                unsafe { V::clear_table::<P>(table) };
            }
            None
        }
        _ => return Err(Error::IllegalOperation.into()),
    };
    let changed = Capability::PageTable {
        address: table,
        mapping,
    };
    kernel[invocation.slot].set_cap(Cap::Arch(changed));
    Ok(Answer::Nothing)
}
