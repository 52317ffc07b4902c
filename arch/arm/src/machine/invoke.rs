//! Invocations of the architecture's objects, and what happens when capabilities are copied or deleted.
//! The order of checks is part of the user interface.

use abi::Method;
use kernel::arch::{ArchCap, PhysAddr};
use kernel::cap::RawCap;
use kernel::invoke::{Answer, Invocation, Outcome, allow};
use kernel::{ExclusiveKernel, Kernel};

use super::{ExecutionState, Machine, asid, pages, vspace};
use crate::cap::{Capability, Format};
use crate::platform::Platform;
use crate::spaces::AddressSpaces;
use crate::spaces::Remote;

/// Performs an invocation.
#[inline(always)]
pub(super) fn invoke<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    cap: RawCap,
) -> Outcome {
    match Capability::<V::Format>::decode(cap) {
        Capability::Frame(_) => pages::invoke_frame(kernel, invocation, cap),
        Capability::PageTable { address, mapping } => {
            pages::invoke_table(kernel, invocation, address, mapping)
        }
        Capability::VSpace { address, asid } => vspace::invoke(kernel, invocation, address, asid),
        Capability::AsidControl => asid::invoke_control(kernel, invocation),
        Capability::AsidPool { pool, address } => {
            asid::invoke_pool(kernel, invocation, pool, address)
        }
        Capability::SgiSignal { number, target } => {
            kernel.arch.lines.send_signal(number, target);
            Ok(Answer::Nothing)
        }
        Capability::Smc { badge } => smc(kernel, invocation, badge),
    }
}

/// Calls the firmware with eight words, and returns eight. Its execution time is unbounded, and this core takes
/// no interrupts meanwhile.
fn smc<V: ExecutionState, P: Platform>(
    kernel: &Kernel<Machine<V, P>>,
    invocation: &Invocation<Machine<V, P>>,
    badge: usize,
) -> Outcome {
    allow(invocation.method == Method::ArmSmcCall)?;
    invocation.require(8, 0)?;
    let words = core::array::from_fn(|index| invocation.word(kernel, index));
    allow(badge == 0 || badge == words[0])?;
    Ok(Answer::Words(V::call_monitor(words), 8))
}

/// Undoes the effects of a capability that is deleted; `last`: no other refers to the object.
pub(super) fn finalise<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    cap: Capability<V::Format>,
    last: bool,
) {
    match cap {
        Capability::Frame(frame) => V::unmap_page(kernel, &frame),
        Capability::PageTable {
            address,
            mapping: Some(mapping),
        } if last => V::unmap_table(kernel, address, mapping),
        Capability::VSpace {
            address,
            asid: Some(asid),
        } if last => release(kernel, asid, address),
        Capability::AsidPool { pool, address } if last => remove_pool(kernel, pool, address),
        _ => {}
    }
}

/// Takes back the identifier of a root that is being deleted.
fn release<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    asid: <V::Format as Format>::Asid,
    root: PhysAddr,
) {
    if kernel.arch.spaces.root_address(asid) != Some(root) {
        return;
    }
    leave_elsewhere(kernel, Remote::LeaveSpace(asid, root));
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.spaces.leave_space(asid, root));
    kernel.arch.spaces.release(asid);
}

/// Removes a pool with all its address spaces.
fn remove_pool<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    pool: usize,
    address: PhysAddr,
) {
    if kernel.arch.spaces.has_pool(pool, address) != Some(true) {
        return;
    }
    leave_elsewhere(kernel, Remote::LeavePool(pool));
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.spaces.remove_pool(pool));
    V::Spaces::<P>::pool_removed();
}

/// Makes other cores switch away from address spaces, if any of them has one loaded. No core can load
/// another one meanwhile, as this core is in exclusive mode.
fn leave_elsewhere<V: ExecutionState, P: Platform>(
    kernel: &mut ExclusiveKernel<Machine<V, P>>,
    remote: Remote<V::Format>,
) {
    let this = kernel.core.id;
    let mut concerned = false;
    kernel.exclusive().each_core(|kernel| {
        concerned |= kernel.core.id != this && kernel.arch.spaces.concerns(remote);
    });
    if concerned {
        kernel.exclusive().on_other_cores(remote);
    }
}
