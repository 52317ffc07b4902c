//! Invocations of the architecture's objects, and what happens when capabilities are copied or deleted.
//! The order of checks is part of the user interface.

mod asid;
mod cache;
mod page;
mod page_directory;
mod page_table;

use abi::LookupFailure;
use kernel::Kernel;
use kernel::arch::{ArchCap, PhysAddr};
use kernel::cap::RawCap;
use kernel::invoke::{Error, Invocation, Outcome};

use super::Aarch32;
#[cfg(feature = "smp")]
use super::Remote;
use super::asid::Asid;
use super::cap::{Capability, FrameCap, Mapping};
use super::map::Place;
use super::table::Directory;

/// The lookup error for a root that is not, or no longer, the root of an address space.
const INVALID_ROOT: Error = Error::Lookup {
    source: false,
    failure: LookupFailure::InvalidRoot,
};

/// Performs an invocation of a capability other than a signal.
///
/// # Errors
/// The error that is reported to the caller.
#[inline(always)]
pub fn invoke<A: Aarch32>(
    kernel: &mut Kernel<A>,
    invocation: &Invocation<A>,
    cap: RawCap,
) -> Outcome {
    match Capability::decode(cap) {
        Capability::Frame(_) => page::invoke(kernel, invocation, cap),
        Capability::PageTable { address, mapping } => {
            page_table::invoke(kernel, invocation, address, mapping)
        }
        Capability::PageDirectory { address, asid } => {
            page_directory::invoke(kernel, invocation, address, asid)
        }
        Capability::AsidControl => asid::invoke_control(kernel, invocation),
        Capability::AsidPool { pool, address } => {
            asid::invoke_pool(kernel, invocation, pool, address)
        }
        Capability::SgiSignal { .. } => Err(Error::IllegalOperation.into()),
    }
}

/// The capability that a copy of `cap` becomes.
///
/// # Errors
/// [`Error::IllegalOperation`] for paging structures that are not mapped.
pub fn derive(cap: Capability) -> Result<Option<Capability>, Error> {
    match cap {
        Capability::PageTable { mapping: None, .. }
        | Capability::PageDirectory { asid: None, .. } => Err(Error::IllegalOperation),
        Capability::Frame(frame) => Ok(Some(Capability::Frame(FrameCap {
            mapping: None,
            ..frame
        }))),
        other => Ok(Some(other)),
    }
}

/// Undoes the effects of a capability that is deleted; `last` says that no other refers to the object.
pub fn finalise<A: Aarch32>(kernel: &mut Kernel<A>, cap: Capability, last: bool) {
    match cap {
        Capability::Frame(frame) => page::unmap(kernel, &frame),
        Capability::PageTable {
            address,
            mapping: Some(mapping),
        } if last => {
            page_table::unmap(kernel, address, mapping);
        }
        Capability::PageDirectory {
            address,
            asid: Some(asid),
        } if last => release(kernel, asid, address),
        Capability::AsidPool { pool, address } if last => remove_pool(kernel, pool, address),
        _ => {}
    }
}

/// Takes back the identifier of a directory that is being deleted.
fn release<A: Aarch32>(kernel: &mut Kernel<A>, asid: Asid, directory: PhysAddr) {
    let known = kernel.arch.spaces().directory(asid);
    if known.map(Directory::address) != Some(directory) {
        return;
    }
    #[cfg(feature = "smp")]
    leave_elsewhere(kernel, Remote::LeaveSpace(asid, directory));
    kernel.each_core(|kernel| kernel.arch.spaces().forget(asid, directory));
    kernel.arch.spaces().release(asid);
}

/// Removes a pool with all its address spaces.
fn remove_pool<A: Aarch32>(kernel: &mut Kernel<A>, pool: usize, address: PhysAddr) {
    if kernel.arch.spaces().has_pool(pool, address) != Some(true) {
        return;
    }
    #[cfg(feature = "smp")]
    leave_elsewhere(kernel, Remote::LeavePool(pool));
    kernel.each_core(|kernel| kernel.arch.spaces().remove_pool(pool));
}

/// Makes other cores switch away from address spaces, if any of them has one loaded. No core can load
/// another one meanwhile, as this core is in exclusive mode.
#[cfg(feature = "smp")]
fn leave_elsewhere<A: Aarch32>(kernel: &mut Kernel<A>, remote: Remote) {
    let this = kernel.core.id;
    let mut concerned = false;
    kernel.each_core(|kernel| {
        concerned |= kernel.core.id != this && kernel.arch.spaces().concerns(remote);
    });
    if concerned {
        A::on_other_cores(kernel, remote);
    }
}

/// A root of an address space, given as an argument.
#[derive(Clone, Copy)]
struct Root {
    address: PhysAddr,
    asid: Asid,
}

impl Root {
    /// The address space of an argument.
    ///
    /// # Errors
    /// Invalid capability `number` if it is no address space, or has no identifier.
    #[inline(always)]
    fn from_cap(cap: RawCap, number: usize) -> Result<Self, Error> {
        match Capability::space(cap) {
            Some((asid, address)) => Ok(Self { address, asid }),
            None => Err(Error::InvalidCapability(number)),
        }
    }

    /// Its directory.
    ///
    /// # Errors
    /// The identifier is not in use any more, or belongs to another address space.
    fn directory<A: Aarch32>(
        self,
        kernel: &mut Kernel<A>,
        number: usize,
    ) -> Result<Directory<A>, Error> {
        let directory = kernel
            .arch
            .spaces()
            .directory(self.asid)
            .ok_or(INVALID_ROOT)?;
        if directory.address() == self.address {
            Ok(directory)
        } else {
            Err(Error::InvalidCapability(number))
        }
    }
}

/// The descriptors of a frame in the address space in which it was mapped; none if the address space is
/// gone, or maps something else there now.
fn mapped_place<A: Aarch32>(
    directory: Directory<A>,
    frame: &FrameCap,
    mapping: Mapping,
) -> Option<Place<A>> {
    let place = Place::find(directory, frame.size, mapping.address)?;
    place.holds(frame).then_some(place)
}
