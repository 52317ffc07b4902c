//! The effects on address spaces of deleting capabilities.

use kernel::ExclusiveKernel;
use kernel::sched::CORES;
use kernel::token::Ptr;

use super::{frame, leave, root_of, table};
use crate::cap::{Cap, PoolCap, RootCap};
use crate::paging::{PageTable, window};
use crate::{Platform, X86_64};

/// Undoes the effects of a capability that is deleted; `last`: no other refers to the object.
pub fn finalise<P: Platform>(kernel: &mut ExclusiveKernel<X86_64<P>>, cap: Cap, last: bool) {
    match cap {
        // Every frame capability has a mapping of its own.
        Cap::Frame(cap) => frame::take_out(kernel, cap),
        Cap::Table(cap) if last => table::take_out(kernel, cap),
        Cap::Root(cap) if last => give_up_identifier(kernel, cap),
        Cap::AsidPool(cap) if last => remove_pool(kernel, cap),
        Cap::Ports(cap) if last => kernel.arch.ports.release(cap),
        Cap::Table(_)
        | Cap::Root(_)
        | Cap::AsidPool(_)
        | Cap::Ports(_)
        | Cap::AsidControl
        | Cap::PortControl
        | Cap::Inert(_) => {}
    }
}

fn give_up_identifier<P: Platform>(kernel: &mut ExclusiveKernel<X86_64<P>>, cap: RootCap) {
    let Some(asid) = cap.asid else { return };
    // SAFETY: the object exists until this returns.
    let root: Ptr<PageTable> = unsafe { window::object(cap.address) };
    if root_of(kernel, asid) == Some(root) {
        kernel.exclusive().each_core(|kernel| {
            kernel
                .arch
                .asids
                .set_root(&mut kernel.capabilities.objects, asid, None);
        });
    }
    leave(kernel, cap.address);
}

fn remove_pool<P: Platform>(kernel: &mut ExclusiveKernel<X86_64<P>>, cap: PoolCap) {
    let is_there = kernel
        .arch
        .asids
        .pool(cap.index)
        .is_some_and(|pool| window::to_physical(pool.address()) == cap.address);
    if !is_there {
        return;
    }
    let index = cap.index;
    let mut roots = [None; CORES];
    kernel.exclusive().each_core(|kernel| {
        let (id, root) = (kernel.core.id, kernel.arch.active_root);
        let holds = kernel.arch.asids.holds(&kernel.objects, index, root);
        roots[id] = holds.then_some(root);
    });
    for root in roots.into_iter().flatten() {
        leave(kernel, root);
    }
    kernel
        .exclusive()
        .each_core(|kernel| kernel.arch.asids.set_pool(index, None));
}
