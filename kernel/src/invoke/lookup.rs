//! From a message to an invocation, and from its outcome to the answer.

use abi::registers::{INFO, MESSAGE_REGISTERS};
use abi::{MAX_EXTRA_CAPS, MessageInfo, Method};

use super::{Answer, Error, Failure, Invocation, Missing, Outcome, Preempted, ensure, method};
use crate::arch::{Arch, UserContext};
use crate::cap::Cap;
use crate::ipc::{Buffer, ExtraCaps};
use crate::object::{Progress, Thread};
use crate::slot::Slot;
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// The results of the lookups for an invocation.
pub(crate) struct Invoked<A: Arch> {
    pub(crate) slot: Ptr<Slot<A>>,
    info: MessageInfo,
    buffer: Option<Buffer>,
    pub(crate) extra: ExtraCaps<A>,
}

impl<A: Arch> Invoked<A> {
    /// For a message without words and capabilities in the IPC buffer.
    #[inline(always)]
    pub(crate) const fn without_buffer(slot: Ptr<Slot<A>>, info: MessageInfo) -> Option<Self> {
        if info.length() > MESSAGE_REGISTERS || info.extra_caps() > 0 {
            return None;
        }
        Some(Self {
            slot,
            info,
            buffer: None,
            extra: [None; MAX_EXTRA_CAPS],
        })
    }

    /// The method, if the capability is one of a kernel object.
    pub(crate) fn method(&self) -> Method {
        method(self.info.label())
    }

    /// The invocation, for the methods of kernel objects.
    #[inline(always)]
    pub(crate) fn invocation(&self, caller: Ptr<Thread<A>>, is_call: bool) -> Invocation<A> {
        let (length, buffer) = match self.buffer {
            // Words after the end of the message are not read from the buffer.
            Some(buffer) if self.info.length() > MESSAGE_REGISTERS => {
                (self.info.length(), Some(buffer))
            }
            _ => (self.info.length().min(MESSAGE_REGISTERS), None),
        };
        Invocation {
            caller,
            slot: self.slot,
            method: self.method(),
            length,
            buffer,
            extra: self.extra,
            is_call,
        }
    }
}

impl<A: Arch> Kernel<A> {
    /// Looks up the capability that a thread invokes, and its extra capabilities. Has no side effects.
    #[inline(always)]
    pub(crate) fn find_invoked(
        &mut self,
        thread: Ptr<Thread<A>>,
        address: usize,
    ) -> Result<Result<Invoked<A>, Missing>, Preempted> {
        let slot = match self.lookup_quickly(thread, address)? {
            Ok(slot) => slot,
            Err(failure) => return Ok(Err(Missing { address, failure })),
        };
        let info = MessageInfo(self[thread].context.get(INFO));
        match Invoked::without_buffer(slot, info) {
            Some(invoked) => Ok(Ok(invoked)),
            None => self.with_buffer(thread, slot, info),
        }
    }

    /// The same for any other message, with its extra capabilities.
    #[inline(always)]
    pub(crate) fn with_buffer(
        &mut self,
        thread: Ptr<Thread<A>>,
        slot: Ptr<Slot<A>>,
        info: MessageInfo,
    ) -> Result<Result<Invoked<A>, Missing>, Preempted> {
        let buffer = self.send_buffer(thread);
        let found = self.find_extra_caps(thread, buffer, info.extra_caps())?;
        Ok(found.map(|extra| Invoked {
            slot,
            info,
            buffer,
            extra,
        }))
    }

    /// The slot that an argument (root, index, depth) names, by a lookup with preemption points.
    #[inline(always)]
    pub(super) fn find_slot(
        &mut self,
        root: Cap<A>,
        index: usize,
        depth: usize,
        source: bool,
    ) -> Result<Ptr<Slot<A>>, Failure> {
        Ok(self.lookup_slot(root, index, depth, source)??)
    }

    /// Writes the result of an invocation to its caller.
    #[inline(always)]
    pub(crate) fn answer(&mut self, thread: Ptr<Thread<A>>, outcome: &Outcome) {
        match outcome {
            Ok(Answer::Nothing) => self.answer_call(thread, 0, &[]),
            Ok(Answer::Words(words, count)) => self.answer_call(thread, 0, &words[..*count]),
            Ok(Answer::Written | Answer::Later) | Err(Failure::Preempted) => {}
            Err(Failure::Error(error)) => {
                // It was perhaps preempted before it failed. A later operation starts from its beginning.
                self[thread].progress = Progress::None;
                self.answer_error(thread, *error);
            }
        }
    }
}

impl<A: Arch> Invocation<A> {
    /// The empty slot for a new capability, by its index and depth below the CNode in extra capability `root`.
    ///
    /// # Errors
    /// [`Error::DeleteFirst`] if the slot is not empty, the lookup error if there is none, or
    /// [`Failure::Preempted`].
    pub fn find_empty_slot(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        root: usize,
        (index, depth): (usize, usize),
    ) -> Result<Ptr<Slot<A>>, Failure> {
        let root = self.extra_cap(kernel, root);
        let slot = kernel.find_slot(root, index, depth, false)?;
        ensure(kernel[slot].is_empty(), Error::DeleteFirst)?;
        Ok(slot)
    }
}
