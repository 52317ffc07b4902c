//! An invocation: its method, access to its arguments, and its outcome.

use core::ops::{Range, RangeInclusive};

use abi::Method;

use super::{Error, Failure, ensure};
use crate::arch::Arch;
use crate::cap::Cap;
use crate::ipc::{Buffer, ExtraCaps};
use crate::object::{Progress, Thread};
use crate::slot::{RawCap, Slot};
use crate::time::Microseconds;
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// An invocation.
pub struct Invocation<A: Arch> {
    /// The invoking thread.
    pub caller: Ptr<Thread<A>>,
    /// The slot of the invoked capability.
    pub slot: Ptr<Slot<A>>,
    /// The method.
    pub method: Method,
    /// Length of the message in words.
    pub length: usize,
    /// The IPC buffer, if there is one, with the message words that are not in registers.
    pub buffer: Option<Buffer>,
    /// Slots of the extra capabilities.
    pub extra: ExtraCaps<A>,
    /// Whether the caller waits for a reply.
    pub is_call: bool,
}

impl<A: Arch> Invocation<A> {
    /// Checks that the message has at least `words` words and `caps` capabilities.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    #[inline(always)]
    pub fn require(&self, words: usize, caps: usize) -> Result<(), Error> {
        let has_caps = caps == 0 || self.extra[caps - 1].is_some();
        ensure(self.length >= words && has_caps, Error::Truncated)
    }

    /// Message word `index`. Another thread may write user memory at any time: read each word only once.
    #[inline(always)]
    pub fn word(&self, kernel: &Kernel<A>, index: usize) -> usize {
        kernel.message_word_in(self.caller, self.buffer, index)
    }

    /// A length of time: one word on 64-bit machines, two on 32-bit ones, low word first. `index` is its
    /// first message word; the returned index is that of the word after it.
    pub fn time(&self, kernel: &Kernel<A>, index: usize) -> (Microseconds, usize) {
        let low = self.word(kernel, index) as u64;
        if abi::WORD_BITS == 64 {
            return (Microseconds(low), index + 1);
        }
        let high = self.word(kernel, index + 1) as u64;
        (Microseconds(high << 32 | low), index + 2)
    }

    /// Message word `index`, a number in a range.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn number_in(
        &self,
        kernel: &Kernel<A>,
        index: usize,
        range: RangeInclusive<usize>,
    ) -> Result<usize, Error> {
        let number = self.word(kernel, index);
        ensure(
            range.contains(&number),
            Error::range(*range.start(), *range.end()),
        )?;
        Ok(number)
    }

    /// Message word `index`, a number of at most `maximum`.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn number_up_to(&self, kernel: &Kernel<A>, index: usize, maximum: u8) -> Result<u8, Error> {
        let number = self.number_in(kernel, index, 0..=maximum.into())?;
        Ok(number as u8)
    }

    /// The slot of extra capability `index`; [`Invocation::require`] has checked that it exists.
    #[inline(always)]
    pub fn extra_slot(&self, index: usize) -> Ptr<Slot<A>> {
        self.extra[index].unwrap_or(self.slot)
    }

    /// Extra capability `index`, packed. For callers that accept one kind only.
    #[inline(always)]
    pub fn packed_extra(&self, kernel: &Kernel<A>, index: usize) -> RawCap {
        self.extra[index].map_or(RawCap::NULL, |slot| kernel[slot].raw())
    }

    /// Extra capability `index`; null for an empty slot.
    pub fn extra_cap(&self, kernel: &Kernel<A>, index: usize) -> Cap<A> {
        self.extra[index].map_or(Cap::Null, |slot| kernel[slot].unpack())
    }

    /// Applies `action` to a range of addresses, piece by piece, with a preemption point between two pieces. When
    /// the caller restarts its system call, the operation continues where it was preempted. `size`: the bytes of a
    /// piece, a power of two, and the approximate number of instructions per piece.
    ///
    /// # Errors
    /// [`Failure::Preempted`].
    pub fn in_pieces(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        range: Range<usize>,
        size: (usize, usize),
        mut action: impl FnMut(&mut ExclusiveKernel<A>, Range<usize>),
    ) -> Done {
        let (bytes, work) = size;
        let mut start = match core::mem::take(&mut kernel[self.caller].progress) {
            Progress::Range { next } if range.contains(&next) => next,
            _ => range.start,
        };
        while start < range.end {
            let next = (start | (bytes - 1)).saturating_add(1).min(range.end);
            action(kernel, start..next);
            if next < range.end && kernel.preempt_between(work).is_err() {
                kernel[self.caller].progress = Progress::Range { next };
                return Err(Failure::Preempted);
            }
            start = next;
        }
        Ok(())
    }
}

/// A successful invocation's result for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// An empty message.
    Nothing,
    /// The first of these words; the number says how many.
    Words([usize; 8], usize),
    /// The operation has written the reply message itself.
    Written,
    /// The reply follows in a later kernel entry.
    Later,
}

impl Answer {
    /// A result of one word.
    pub const fn word(word: usize) -> Self {
        Self::Words([word, 0, 0, 0, 0, 0, 0, 0], 1)
    }

    /// A result that is a length of time.
    pub fn time(time: Microseconds) -> Self {
        let ([a, b], count) = time.words();
        Self::Words([a, b, 0, 0, 0, 0, 0, 0], count)
    }
}

/// The end of an operation that has no result.
pub type Done = Result<(), Failure>;

/// Outcome of an invocation.
pub type Outcome = Result<Answer, Failure>;
