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
use kernel::invoke::{Error, Invocation};
use kernel::token::Ptr;

use crate::cap::{Cap, Mapping};
use crate::paging::{PageTable, tlb, window};
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

impl<P: Platform> X86_64<P> {
    /// Whether the processor uses this address space now.
    fn is_active(&self, root: Ptr<PageTable>) -> bool {
        self.active_root == window::to_physical(root.address())
    }

    /// A page of an address space has changed, or gone.
    fn forget_page(&self, root: Ptr<PageTable>, mapping: Mapping) {
        if self.is_active(root) {
            tlb::forget_page(mapping.address);
        }
    }

    /// A paging structure of an address space has gone, and all that was below.
    fn forget_all(&self, root: Ptr<PageTable>) {
        if self.is_active(root) {
            tlb::forget_all();
        }
    }

    /// An address space has lost its identifier: whoever runs in it goes on without.
    fn leave(&mut self, root: Ptr<PageTable>) {
        if self.is_active(root) {
            self.deactivate();
        }
    }
}
