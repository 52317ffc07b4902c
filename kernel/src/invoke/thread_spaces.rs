//! Methods of threads: capability space, address space, IPC buffer.

use abi::IPC_BUFFER_BITS;

use super::thread::reload_if_current;
use super::{Done, Error, Invocation, allow, ensure};
use crate::arch::{Arch, ArchCap};
use crate::cap::Cap;
use crate::object::{Thread, ThreadSlot, thread_slot};
use crate::sched::work;
use crate::slot::{RawCap, Slot};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// A capability to be installed in a thread: its source slot, its value there, and the value to install.
pub(super) struct Source<A: Arch> {
    pub(super) slot: Ptr<Slot<A>>,
    pub(super) before: RawCap,
    pub(super) cap: Cap<A>,
}

impl<A: Arch> Invocation<A> {
    /// `TCB_Configure`: capability space, address space and IPC buffer.
    pub(super) fn configure_thread(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
    ) -> Done {
        self.require(3, 3)?;
        let address = self.word(kernel, 2);
        let buffer = self.decode_buffer(kernel, address, 2)?;
        let (cspace, vspace) = self.decode_spaces(kernel, thread, 0)?;
        kernel.preempt_after(work::CHECKS)?;
        self.set_spaces(kernel, thread, cspace, vspace)?;
        self.perform_buffer(kernel, thread, address, buffer)
    }

    /// `TCB_SetSpace`: capability space, address space and fault handler.
    #[cfg_attr(target_os = "none", optimize(size))]
    pub(super) fn set_space(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
    ) -> Done {
        self.require(2, 3)?;
        let (cspace, vspace) = self.decode_spaces(kernel, thread, 1)?;
        self.check_handler(kernel, 0)?;
        kernel.preempt_after(work::CHECKS)?;
        self.install(kernel, thread, ThreadSlot::FaultHandler, 0)?;
        self.set_spaces(kernel, thread, cspace, vspace)
    }

    /// `TCB_SetIPCBuffer`.
    pub(super) fn set_buffer(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
    ) -> Done {
        self.require(1, 1)?;
        let address = self.word(kernel, 0);
        let buffer = self.decode_buffer(kernel, address, 0)?;
        self.perform_buffer(kernel, thread, address, buffer)
    }

    /// The buffer's frame in extra capability `extra`; address 0 means no buffer.
    fn decode_buffer(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        address: usize,
        extra: usize,
    ) -> Result<Option<Source<A>>, Error> {
        if address == 0 {
            return Ok(None);
        }
        let source = self.derive_extra(kernel, extra, 0)?;
        let frame = match source.cap {
            Cap::Arch(cap) => cap.frame(),
            _ => None,
        };
        allow(frame.is_some_and(|frame| !frame.device))?;
        let is_aligned = address.is_multiple_of(1 << IPC_BUFFER_BITS);
        ensure(is_aligned, Error::Alignment)?;
        Ok(Some(source))
    }

    /// The roots in extra capabilities `first` and `first + 1`; message words 0 and 1 are their data.
    fn decode_spaces(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
        first: usize,
    ) -> Result<(Source<A>, Source<A>), Error> {
        for which in [ThreadSlot::CSpace, ThreadSlot::VSpace] {
            allow(!is_being_deleted(kernel, thread_slot(thread, which)))?;
        }
        let data = self.word(kernel, 0);
        let cspace = self.derive_extra(kernel, first, data)?;
        allow(matches!(cspace.cap, Cap::CNode(_)))?;
        let vspace = self.derive_extra(kernel, first + 1, 0)?;
        allow(matches!(vspace.cap, Cap::Arch(cap) if cap.is_address_space()))?;
        Ok((cspace, vspace))
    }

    /// What a copy of extra capability `extra` is, with new data unless that is zero.
    #[inline(always)]
    fn derive_extra(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        extra: usize,
        data: usize,
    ) -> Result<Source<A>, Error> {
        let slot = self.extra_slot(extra);
        let before = kernel[slot].raw();
        let cap = kernel[slot].unpack();
        let cap = match data {
            0 => cap,
            _ => cap.update_data(false, data).unwrap_or(Cap::Null),
        };
        let cap = kernel.derive_cap(slot, cap)?;
        Ok(Source { slot, before, cap })
    }

    fn set_spaces(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
        cspace: Source<A>,
        vspace: Source<A>,
    ) -> Done {
        self.replace(kernel, thread, ThreadSlot::CSpace, Some(cspace))?;
        self.replace(kernel, thread, ThreadSlot::VSpace, Some(vspace))?;
        reload_if_current(kernel, thread);
        Ok(())
    }

    fn perform_buffer(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
        address: usize,
        buffer: Option<Source<A>>,
    ) -> Done {
        self.replace(kernel, thread, ThreadSlot::Buffer, buffer)?;
        kernel[thread].buffer_address = address;
        reload_if_current(kernel, thread);
        Ok(())
    }

    /// Replaces the capability in one of a thread's slots by a new one, if there is one, and if the deletion of the
    /// former has not deleted its source or the capability to the thread as well.
    pub(super) fn replace(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
        which: ThreadSlot,
        source: Option<Source<A>>,
    ) -> Done {
        let slot = thread_slot(thread, which);
        kernel.delete(slot)?;
        let Some(source) = source else { return Ok(()) };
        let thread_cap = kernel[self.slot].unpack();
        let still_there = matches!(thread_cap, Cap::Thread(found) if found == thread);
        let unchanged = kernel[source.slot].raw() == source.before;
        if still_there && unchanged && !source.cap.is_null() && kernel[slot].is_empty() {
            kernel.insert_copy(source.slot, slot, source.cap);
        }
        Ok(())
    }
}

/// Whether replacing the capability in this slot would take long, because it is the last one to a CNode or
/// thread, or a zombie.
fn is_being_deleted<A: Arch>(kernel: &Kernel<A>, slot: Ptr<Slot<A>>) -> bool {
    match kernel[slot].unpack() {
        Cap::CNode(_) | Cap::Thread(_) => kernel.is_last_cap(slot),
        Cap::Zombie(_) => true,
        _ => false,
    }
}
