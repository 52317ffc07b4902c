//! What happens to address spaces when capabilities go away.

use kernel::Kernel;
use kernel::token::Ptr;

use super::{frame, root_of, table};
use crate::cap::{Cap, PoolCap, RootCap};
use crate::paging::{PageTable, window};
use crate::{Platform, X86_64};

/// A capability goes away; `last` says that no other refers to the object.
pub fn finalise<P: Platform>(kernel: &mut Kernel<X86_64<P>>, cap: Cap, last: bool) {
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

fn give_up_identifier<P: Platform>(kernel: &mut Kernel<X86_64<P>>, cap: RootCap) {
    let Some(asid) = cap.asid else { return };
    // SAFETY: the object exists until this returns.
    let root: Ptr<PageTable> = unsafe { window::object(cap.address) };
    if root_of(kernel, asid) == Some(root) {
        kernel.arch.asids.set_root(&mut kernel.objects, asid, None);
    }
    kernel.arch.leave(root);
}

fn remove_pool<P: Platform>(kernel: &mut Kernel<X86_64<P>>, cap: PoolCap) {
    let arch = &mut kernel.arch;
    let is_there = arch
        .asids
        .pool(cap.index)
        .is_some_and(|pool| window::to_physical(pool.address()) == cap.address);
    if !is_there {
        return;
    }
    if arch
        .asids
        .holds(&kernel.objects, cap.index, arch.active_root)
    {
        arch.deactivate();
    }
    arch.asids.set_pool(cap.index, None);
}
