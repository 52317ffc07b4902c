//! Making ASID pools, and assigning their identifiers to address spaces.

use abi::sizes::ASID_POOL_BITS;
use abi::{LookupFailure, Method};
use kernel::ExclusiveKernel;
use kernel::cap::{Cap as AnyCap, UntypedCap};
use kernel::invoke::{Answer, Error, Failure, Invocation, Outcome, allow, ensure, reset};
use kernel::sched::{Scheduler, work};

use super::asid::{Asid, AsidPool, POOL_SIZE};
use crate::cap::{Cap, PoolCap, RootCap};
use crate::paging::{PageTable, window};
use crate::{Platform, X86_64};

/// Performs an invocation of ASIDControl.
///
/// # Errors
/// As specified by the ABI.
pub fn invoke_control<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
) -> Outcome {
    allow(invocation.method == Method::X86AsidControlMakePool)?;
    invocation.require(2, 2)?;
    let (index, depth) = (invocation.word(kernel, 0), invocation.word(kernel, 1));
    let place = kernel.arch.asids.free_place().ok_or(Error::DeleteFirst)?;
    let mut untyped = match invocation.extra_cap(kernel, 0) {
        AnyCap::Untyped(it) if it.bits == ASID_POOL_BITS && !it.device => it,
        _ => return Err(Error::InvalidCapability(1).into()),
    };
    let parent = invocation.extra_slot(0);
    ensure(!kernel.has_children(parent), Error::RevokeFirst)?;
    let slot = invocation.find_empty_slot(kernel, 1, (index, depth))?;

    reset(kernel, parent, &mut untyped)?;
    let full = UntypedCap {
        watermark: untyped.size(),
        ..untyped
    };
    kernel[parent].set_cap(AnyCap::Untyped(full));
    // SAFETY: the untyped memory has no children, so it has no other use; zero is a valid, empty pool.
    let pool = unsafe { window::object::<AsidPool>(untyped.address) };
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.asids.set_pool(place, Some(pool)));
    let cap = Cap::AsidPool(PoolCap {
        address: untyped.address,
        index: place,
    });
    kernel.insert_child(parent, slot, AnyCap::<X86_64<P>>::Arch(cap).encode());
    Ok(Answer::Nothing)
}

/// Performs an invocation of an ASID pool.
///
/// # Errors
/// As specified by the ABI.
pub fn invoke_pool<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
    cap: PoolCap,
) -> Outcome {
    allow(invocation.method == Method::X86AsidPoolAssign)?;
    invocation.require(0, 1)?;
    let root = match invocation.extra_cap(kernel, 0) {
        AnyCap::Arch(Cap::Root(root)) if root.asid.is_none() => root,
        _ => return Err(Error::InvalidCapability(1).into()),
    };
    let pool = kernel.arch.asids.pool(cap.index);
    let pool = pool.ok_or(Error::lookup(LookupFailure::InvalidRoot))?;
    let is_same = window::to_physical(pool.address()) == cap.address;
    ensure(is_same, Error::InvalidCapability(0))?;
    let asid = free_asid(kernel, cap.index)?;

    let scheduler: &mut Scheduler<_> = kernel;
    let (arch, objects) = (&mut scheduler.arch, &mut scheduler.capabilities.objects);
    arch.asids.set_root(objects, asid, Some(root.address));
    // SAFETY: there is a capability to the root, so it exists.
    let table = unsafe { window::object::<PageTable>(root.address) };
    arch.kernel_space.install(&mut objects[table]);
    let assigned = RootCap {
        asid: Some(asid),
        ..root
    };
    kernel[invocation.extra_slot(0)].set_cap(AnyCap::Arch(Cap::Root(assigned)));
    Ok(Answer::Nothing)
}

/// The first unused identifier of a pool. Searching a pool takes long, so there are preemption points.
fn free_asid<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    place: usize,
) -> Result<Asid, Failure> {
    /// Identifiers between two preemption points.
    const PIECE: usize = 32;
    for first in (0..POOL_SIZE).step_by(PIECE) {
        let indices = first..first + PIECE;
        let found = kernel.arch.asids.free_asid(&kernel.objects, place, indices);
        if let Some(asid) = found {
            return Ok(asid);
        }
        kernel.preempt_after(work::IDENTIFIER * PIECE)?;
    }
    Err(Error::DeleteFirst.into())
}
