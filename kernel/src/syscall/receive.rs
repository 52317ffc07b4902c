//! Receiving, in two steps: the capability lookups, and the operation itself.
//!
//! Each lookup may be preempted, and then the system call restarts. A system call that sends and receives
//! must not be preempted between the two: the message may have donated the thread's context, and without
//! one the thread would never run again to receive. So all lookups come before the send. The message may
//! put a capability into a slot that was empty at the lookup, so the slots are read when the thread
//! receives; it cannot remove a capability.

use abi::{LookupFailure, Rights};

use crate::Kernel;
use crate::arch::Arch;
use crate::cap::Cap;
use crate::invoke::{Missing, Preempted};
use crate::ipc::Receiver;
use crate::object::Thread;
use crate::slot::Slot;
use crate::token::Ptr;

/// The results of the lookups for a receive operation.
pub(super) struct Footprint<A: Arch> {
    source: LookupResult<A>,
    reply: Option<LookupResult<A>>,
}

/// The result of one lookup.
struct LookupResult<A: Arch> {
    address: usize,
    slot: Result<Ptr<Slot<A>>, LookupFailure>,
}

impl<A: Arch> LookupResult<A> {
    fn cap(&self, kernel: &Kernel<A>) -> Result<Cap<A>, Missing> {
        match self.slot {
            Ok(slot) => Ok(kernel[slot].cap()),
            Err(failure) => Err(Missing {
                address: self.address,
                failure,
            }),
        }
    }

    /// The error for a capability of the wrong type.
    const fn unfit(&self) -> Missing {
        Missing {
            address: self.address,
            failure: LookupFailure::MissingCapability { bits_left: 0 },
        }
    }
}

impl<A: Arch> Kernel<A> {
    /// Looks up what a thread needs to receive from the endpoint or notification at the address `source`,
    /// with the reply object at the address `reply`. Lookup errors are reported when the thread receives.
    pub(super) fn find_footprint(
        &mut self,
        thread: Ptr<Thread<A>>,
        source: usize,
        reply: Option<usize>,
    ) -> Result<Footprint<A>, Preempted> {
        let source = self.find_received(thread, source)?;
        let reply = match reply {
            Some(reply) => Some(self.find_received(thread, reply)?),
            None => None,
        };
        if let Ok(Cap::Endpoint(cap)) = source.cap(self)
            && cap.rights.contains(Rights::READ)
        {
            self.prepare_receive(thread, cap.object)?;
        }
        Ok(Footprint { source, reply })
    }

    fn find_received(
        &mut self,
        thread: Ptr<Thread<A>>,
        address: usize,
    ) -> Result<LookupResult<A>, Preempted> {
        let slot = self.lookup_quickly(thread, address)?;
        Ok(LookupResult { address, slot })
    }

    /// Receives with the results of the lookups. Has no preemption points.
    pub(super) fn receive_by(
        &mut self,
        thread: Ptr<Thread<A>>,
        footprint: &Footprint<A>,
        blocking: bool,
    ) {
        if let Err(missing) = self.try_receive(thread, footprint, blocking) {
            self.raise_cap_fault(thread, missing, true);
        }
    }

    fn try_receive(
        &mut self,
        thread: Ptr<Thread<A>>,
        footprint: &Footprint<A>,
        blocking: bool,
    ) -> Result<(), Missing> {
        let Footprint { source, reply } = footprint;
        match source.cap(self)? {
            Cap::Endpoint(cap) if cap.rights.contains(Rights::READ) => {
                let reply = match reply {
                    Some(reply) => match reply.cap(self)? {
                        Cap::Reply { object, .. } => Some(object),
                        _ => return Err(reply.unfit()),
                    },
                    None => None,
                };
                self.receive(thread, cap.object, Receiver { blocking, reply });
                Ok(())
            }
            Cap::Notification(cap)
                if cap.rights.contains(Rights::READ)
                    && self[cap.object]
                        .bound_thread
                        .is_none_or(|bound| bound == thread) =>
            {
                self.wait(thread, cap.object, blocking);
                Ok(())
            }
            _ => Err(source.unfit()),
        }
    }
}
