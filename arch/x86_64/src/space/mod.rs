//! Address spaces: identifiers, paging structures and frames, as users map and unmap them.
//!
//! A capability to a mapped object records the identifier (ASID) of the address space and the address. This
//! record is not updated when a higher level is removed, so it may be stale: code that uses it first
//! checks whether the entry still exists.

mod asid;
mod boot;
mod control;
mod finalise;
mod frame;
mod table;

pub use asid::{Asid, AsidPool, Asids};
pub use boot::{boot_map, boot_space};
pub use control::{invoke_control, invoke_pool};
pub use finalise::finalise;
pub use frame::invoke as invoke_frame;
pub use table::invoke as invoke_table;

use abi::LookupFailure;
use kernel::arch::PhysAddr;
use kernel::invoke::{Error, Invocation, ensure};
use kernel::sched::Scheduler;
use kernel::token::Ptr;
use kernel::{ExclusiveKernel, Kernel};

use crate::cap::{Cap, Mapping};
use crate::paging::{PageTable, tlb, window};
use crate::{Platform, X86_64};

/// The root table of an address space, if its identifier is still valid.
fn root_of<P: Platform>(kernel: &Scheduler<X86_64<P>>, asid: Asid) -> Option<Ptr<PageTable>> {
    let root = kernel.arch.asids.root(&kernel.objects, asid)?;
    // SAFETY: a pool contains the roots of existing address spaces only: the finaliser of the last
    // capability to a root removes it.
    Some(unsafe { window::object(root) })
}

/// The address space of extra capability 0, before its identifier is checked.
///
/// # Errors
/// [`Error::InvalidCapability`] if it is not a root with an identifier.
fn named_space<P: Platform>(
    kernel: &Kernel<X86_64<P>>,
    invocation: &Invocation<X86_64<P>>,
) -> Result<(Ptr<PageTable>, Asid), Error> {
    match Cap::of(invocation.packed_extra(kernel, 0)) {
        Some(Cap::Root(root)) if let Some(asid) = root.asid => {
            // SAFETY: there is a capability to the root, so it exists.
            Ok((unsafe { window::object(root.address) }, asid))
        }
        _ => Err(Error::InvalidCapability(1)),
    }
}

/// Checks that an identifier still belongs to the address space of `root`.
///
/// # Errors
/// [`Error::Lookup`] if it is not in use, [`Error::InvalidCapability`] if it belongs to another.
fn check_asid<P: Platform>(
    kernel: &Scheduler<X86_64<P>>,
    root: Ptr<PageTable>,
    asid: Asid,
) -> Result<(), Error> {
    let current = root_of(kernel, asid).ok_or(Error::lookup(LookupFailure::InvalidRoot))?;
    ensure(current == root, Error::InvalidCapability(1))
}

/// A remote call.
#[derive(Clone, Copy, Debug)]
pub enum Remote {
    /// Invalidate the TLB entries of a page of the address space with this root.
    InvalidatePage(PhysAddr, usize),
    /// Invalidate all TLB entries of it.
    InvalidateAll(PhysAddr),
    /// Switch away from it.
    Leave(PhysAddr),
}

/// Whether this core has an address space loaded.
fn is_active<P: Platform>(kernel: &Scheduler<X86_64<P>>, root: PhysAddr) -> bool {
    kernel.arch.active_root == root
}

/// Invalidates the TLB entries of a page that has changed or was unmapped.
fn invalidate_page<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    root: Ptr<PageTable>,
    mapping: Mapping,
) {
    let root = window::to_physical(root.address());
    if is_active(kernel, root) {
        tlb::invalidate_page(mapping.address);
    }
    on_other_cores(kernel, root, Remote::InvalidatePage(root, mapping.address));
}

/// Invalidates all TLB entries of an address space, after a paging structure was unmapped.
fn invalidate_all<P: Platform>(kernel: &mut ExclusiveKernel<X86_64<P>>, root: Ptr<PageTable>) {
    let root = window::to_physical(root.address());
    if is_active(kernel, root) {
        tlb::invalidate_all();
    }
    on_other_cores(kernel, root, Remote::InvalidateAll(root));
}

/// Makes all cores switch away from an address space that has lost its identifier.
fn leave<P: Platform>(kernel: &mut ExclusiveKernel<X86_64<P>>, root: PhysAddr) {
    if is_active(kernel, root) {
        kernel.arch.deactivate();
    }
    on_other_cores(kernel, root, Remote::Leave(root));
}

/// Performs a remote call on all other cores if any of them has an address space loaded. No core can load it
/// meanwhile, as this core is in exclusive mode.
fn on_other_cores<P: Platform>(
    kernel: &mut ExclusiveKernel<X86_64<P>>,
    root: PhysAddr,
    remote: Remote,
) {
    let this = kernel.core.id;
    let mut used = false;
    kernel
        .exclusive()
        .each_core(|kernel| used |= kernel.core.id != this && is_active(kernel, root));
    if used {
        kernel.exclusive().on_other_cores(remote);
    }
}

/// Performs a remote call that one of the functions above requested on another core.
pub fn perform<P: Platform>(kernel: &mut Scheduler<X86_64<P>>, remote: Remote) {
    match remote {
        Remote::InvalidatePage(root, address) if is_active(kernel, root) => {
            tlb::invalidate_page(address)
        }
        Remote::InvalidateAll(root) if is_active(kernel, root) => tlb::invalidate_all(),
        Remote::Leave(root) if is_active(kernel, root) => kernel.arch.deactivate(),
        _ => {}
    }
}
