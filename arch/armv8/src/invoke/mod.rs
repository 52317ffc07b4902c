//! Invocations of the architecture's objects, and what happens when capabilities are copied or deleted.
//! The order of checks is part of the user interface.

mod asid;
mod cache;
mod page;
mod page_table;
mod vspace;

use abi::LookupFailure;
use kernel::Kernel;
use kernel::arch::{ArchCap, PhysAddr};
use kernel::cap::RawCap;
use kernel::invoke::{Answer, Error, Invocation, Outcome};

use crate::cap::{Capability, FrameCap};
use crate::paging::table::Table;
use crate::paging::tlb;
use crate::spaces::Asid;
#[cfg(feature = "smp")]
use crate::spaces::Remote;
use crate::{Armv8, Platform};

/// User addresses are below this: half of the range that their tables can translate.
pub(crate) const USER_TOP: usize = 1 << 47;

/// The lookup error for a root that is not, or no longer, the root of an address space.
const INVALID_ROOT: Error = Error::Lookup {
    source: false,
    failure: LookupFailure::InvalidRoot,
};

/// Performs an invocation.
#[inline(always)]
pub(crate) fn invoke<P: Platform>(
    kernel: &mut Kernel<Armv8<P>>,
    invocation: &Invocation<Armv8<P>>,
    cap: RawCap,
) -> Outcome {
    match Capability::decode(cap) {
        Capability::Frame(_) => page::invoke(kernel, invocation, cap),
        Capability::PageTable { address, mapping } => {
            page_table::invoke(kernel, invocation, address, mapping)
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
    }
}

/// The capability that a copy of `cap` becomes.
pub(crate) fn derive(cap: Capability) -> Result<Option<Capability>, Error> {
    match cap {
        Capability::PageTable { mapping: None, .. } | Capability::VSpace { asid: None, .. } => {
            Err(Error::IllegalOperation)
        }
        Capability::Frame(frame) => Ok(Some(Capability::Frame(FrameCap {
            mapping: None,
            ..frame
        }))),
        other => Ok(Some(other)),
    }
}

/// Undoes the effects of a capability that is deleted; `last` says that no other refers to the object.
pub(crate) fn finalise<P: Platform>(kernel: &mut Kernel<Armv8<P>>, cap: Capability, last: bool) {
    let spaces = &mut kernel.arch.spaces;
    match cap {
        Capability::Frame(frame) => page::unmap(spaces, &frame),
        Capability::PageTable {
            address,
            mapping: Some(mapping),
        } if last => page_table::unmap(spaces, address, mapping),
        Capability::VSpace {
            address,
            asid: Some(asid),
        } if last => release(kernel, asid, address),
        Capability::AsidPool { pool, address } if last => remove_pool(kernel, pool, address),
        _ => {}
    }
}

/// Takes back the identifier of a root that is being deleted.
fn release<P: Platform>(kernel: &mut Kernel<Armv8<P>>, asid: Asid, root: PhysAddr) {
    if kernel.arch.spaces.root(asid).map(Table::address) != Some(root) {
        return;
    }
    #[cfg(feature = "smp")]
    leave_elsewhere(kernel, Remote::LeaveSpace(asid, root));
    kernel.each_core(|kernel| kernel.arch.spaces.forget(asid, root));
    kernel.arch.spaces.release(asid);
}

/// Removes a pool with all its address spaces.
fn remove_pool<P: Platform>(kernel: &mut Kernel<Armv8<P>>, pool: usize, address: PhysAddr) {
    if kernel.arch.spaces.has_pool(pool, address) != Some(true) {
        return;
    }
    #[cfg(feature = "smp")]
    leave_elsewhere(kernel, Remote::LeavePool(pool));
    kernel.each_core(|kernel| kernel.arch.spaces.remove_pool(pool));
    tlb::invalidate_all();
}

/// Makes other cores switch away from address spaces, if any of them has one loaded. No core can load
/// another one meanwhile, as this core is in exclusive mode.
#[cfg(feature = "smp")]
fn leave_elsewhere<P: Platform>(kernel: &mut Kernel<Armv8<P>>, remote: Remote) {
    let this = kernel.core.id;
    let mut concerned = false;
    kernel.each_core(|kernel| {
        concerned |= kernel.core.id != this && kernel.arch.spaces.concerns(remote);
    });
    if concerned {
        kernel.on_other_cores(remote);
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

    /// Its root table.
    ///
    /// # Errors
    /// The identifier is not in use any more, or belongs to another address space.
    fn table<P: Platform>(self, kernel: &Kernel<Armv8<P>>, number: usize) -> Result<Table, Error> {
        let table = kernel.arch.spaces.root(self.asid).ok_or(INVALID_ROOT)?;
        if table.address() == self.address {
            Ok(table)
        } else {
            Err(Error::InvalidCapability(number))
        }
    }
}

/// The lookup error for a missing table at `bits_left` bits.
const fn missing_table(bits_left: usize) -> Error {
    Error::Lookup {
        source: false,
        failure: LookupFailure::MissingCapability { bits_left },
    }
}
