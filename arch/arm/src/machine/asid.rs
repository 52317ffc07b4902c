//! ASID pools, and the assignment of identifiers to address spaces.

use abi::Method;
use abi::sizes::ASID_POOL_BITS;
use kernel::ExclusiveKernel;
use kernel::arch::PhysAddr;
use kernel::cap::{Cap, UntypedCap};
use kernel::invoke::{Answer, Error, Failure, Invocation, Outcome, allow, ensure, reset};
use kernel::sched::work;

use super::{ExecutionState, Machine};
use crate::cap::{Capability, Format, INVALID_ROOT};
use crate::platform::Platform;
use crate::spaces::AddressSpaces;

pub(super) fn invoke_control<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
) -> Outcome {
    allow(invocation.method == Method::ArmAsidControlMakePool)?;
    invocation.require(2, 2)?;
    let pool = kernel.arch.spaces.free_pool().ok_or(Error::DeleteFirst)?;
    let parent = invocation.extra_slot(0);
    let mut untyped = match kernel[parent].cap() {
        Cap::Untyped(it) if it.bits == ASID_POOL_BITS && !it.device => it,
        _ => return Err(Error::InvalidCapability(1).into()),
    };
    ensure(!kernel.has_children(parent), Error::RevokeFirst)?;
    let place = (invocation.word(kernel, 0), invocation.word(kernel, 1));
    let slot = invocation.find_empty_slot(kernel, 1, place)?;

    reset(kernel, parent, &mut untyped)?;
    let address = untyped.address;
    let used = UntypedCap {
        watermark: untyped.size(),
        ..untyped
    };
    kernel[parent].set_cap(Cap::Untyped(used));
    let cap = Cap::<Machine<V, P>>::Arch(Capability::AsidPool { pool, address });
    kernel.insert_child(parent, slot, cap.encode());
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.spaces.add_pool(pool, address));
    Ok(Answer::Nothing)
}

pub(super) fn invoke_pool<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    pool: usize,
    address: PhysAddr,
) -> Outcome {
    allow(invocation.method == Method::ArmAsidPoolAssign)?;
    invocation.require(0, 1)?;
    let Cap::Arch(Capability::VSpace {
        address: root,
        asid: None,
    }) = invocation.extra_cap(kernel, 0)
    else {
        return Err(Error::InvalidCapability(1).into());
    };
    let has_pool = kernel.arch.spaces.has_pool(pool, address);
    ensure(has_pool.ok_or(INVALID_ROOT)?, Error::InvalidCapability(0))?;
    let asid = free_asid(kernel, pool)?;
    if V::LONG_ASSIGNMENT {
        kernel.preempt_after(work::CHECKS)?;
    }

    kernel.arch.spaces.assign(asid, root);
    let assigned = Capability::VSpace {
        address: root,
        asid: Some(asid),
    };
    kernel[invocation.extra_slot(0)].set_cap(Cap::Arch(assigned));
    Ok(Answer::Nothing)
}

/// The first unused identifier of a pool. Searching a pool takes long, so there are preemption points.
fn free_asid<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    pool: usize,
) -> Result<<V::Format as Format>::Asid, Failure> {
    /// Identifiers between two preemption points.
    const PIECE: usize = 32;
    for first in (0..V::Spaces::<P>::POOL_SIZE).step_by(PIECE) {
        let found = kernel.arch.spaces.free_asid(pool, first..first + PIECE);
        if let Some(asid) = found {
            return Ok(asid);
        }
        kernel.preempt_after(work::IDENTIFIER * PIECE)?;
    }
    Err(Error::DeleteFirst.into())
}
