//! Address spaces: identifiers, paging structures and frames, as users build and take them apart.
//!
//! A capability to something mapped remembers the identifier (ASID) of the address space and the
//! address. Nobody updates that memory when a higher level goes away, so it is an allegation: whoever
//! acts on it looks first whether the entry is still there.

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

use kernel::Kernel;
use kernel::arch::PhysAddr;
use kernel::invoke::{Error, Invocation};
use kernel::token::Ptr;

use crate::cap::{Cap, Mapping};
use crate::paging::{PageTable, tlb, window};
#[cfg(feature = "smp")]
use crate::smp::Remote;
use crate::{Platform, X86_64};

/// The root table of an address space, if its identifier is still valid.
fn root_of<P: Platform>(kernel: &Kernel<X86_64<P>>, asid: Asid) -> Option<Ptr<PageTable>> {
    let root = kernel.arch.asids.root(&kernel.objects, asid)?;
    // SAFETY: a pool holds the roots of existing address spaces only: the finaliser of the last
    // capability to a root takes it out.
    Some(unsafe { window::object(root) })
}

/// The address space that extra capability 0 names, before its identifier is checked.
///
/// # Errors
/// [`Error::InvalidCapability`] if it is not the root of one that has an identifier.
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
/// [`Error::Lookup`] if it belongs to none, [`Error::InvalidCapability`] if it belongs to another.
fn check_asid<P: Platform>(
    kernel: &Kernel<X86_64<P>>,
    root: Ptr<PageTable>,
    asid: Asid,
) -> Result<(), Error> {
    match root_of(kernel, asid) {
        None => Err(Error::Lookup {
            source: false,
            failure: abi::LookupFailure::InvalidRoot,
        }),
        Some(current) if current != root => Err(Error::InvalidCapability(1)),
        Some(_) => Ok(()),
    }
}

/// Whether this core uses an address space now.
fn is_active<P: Platform>(kernel: &Kernel<X86_64<P>>, root: PhysAddr) -> bool {
    kernel.arch.active_root == root
}

/// A page of an address space has changed, or gone.
fn forget_page<P: Platform>(
    kernel: &mut Kernel<X86_64<P>>,
    root: Ptr<PageTable>,
    mapping: Mapping,
) {
    let root = window::to_physical(root.address());
    if is_active(kernel, root) {
        tlb::forget_page(mapping.address);
    }
    #[cfg(feature = "smp")]
    on_other_cores(kernel, root, Remote::ForgetPage(root, mapping.address));
}

/// A paging structure of an address space has gone, and all that was below.
fn forget_all<P: Platform>(kernel: &mut Kernel<X86_64<P>>, root: Ptr<PageTable>) {
    let root = window::to_physical(root.address());
    if is_active(kernel, root) {
        tlb::forget_all();
    }
    #[cfg(feature = "smp")]
    on_other_cores(kernel, root, Remote::ForgetAll(root));
}

/// An address space has lost its identifier: whoever runs in it goes on without.
fn leave<P: Platform>(kernel: &mut Kernel<X86_64<P>>, root: PhysAddr) {
    if is_active(kernel, root) {
        kernel.arch.deactivate();
    }
    #[cfg(feature = "smp")]
    on_other_cores(kernel, root, Remote::Leave(root));
}

/// Lets every other core do something if any of them uses an address space. None of them begins to
/// meanwhile, as this one is alone in the kernel.
#[cfg(feature = "smp")]
fn on_other_cores<P: Platform>(kernel: &mut Kernel<X86_64<P>>, root: PhysAddr, remote: Remote) {
    let this = kernel.core.id;
    let mut used = false;
    kernel.each_core(|kernel| used |= kernel.core.id != this && is_active(kernel, root));
    if used {
        kernel.on_other_cores(remote);
    }
}

/// Does what another core has asked for by one of the functions above.
#[cfg(feature = "smp")]
pub fn perform<P: Platform>(kernel: &mut Kernel<X86_64<P>>, remote: Remote) {
    match remote {
        Remote::ForgetPage(root, address) if is_active(kernel, root) => tlb::forget_page(address),
        Remote::ForgetAll(root) if is_active(kernel, root) => tlb::forget_all(),
        Remote::Leave(root) if is_active(kernel, root) => kernel.arch.deactivate(),
        _ => {}
    }
}
