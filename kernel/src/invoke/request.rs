//! An invocation as it arrives: the method, and the means to read its arguments.

use abi::Method;

use super::Error;
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{Cap, RawCap, Slot};
use crate::ipc::{Buffer, ExtraCaps};
use crate::object::Thread;
use crate::time::Microseconds;
use crate::token::Ptr;

/// An invocation.
pub struct Invocation<A: Arch> {
    /// Who asks.
    pub caller: Ptr<Thread<A>>,
    /// Where the capability is that was invoked.
    pub slot: Ptr<Slot<A>>,
    /// What is asked.
    pub method: Method,
    /// Words of the message.
    pub length: usize,
    /// Where those are that have no register, if there are some.
    pub buffer: Option<Buffer>,
    /// Slots of the capabilities that came along.
    pub extra: ExtraCaps<A>,
    /// Whether somebody waits for the answer.
    pub is_call: bool,
}

impl<A: Arch> Invocation<A> {
    /// Checks that the message has so many words and capabilities.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    #[inline(always)]
    pub fn require(&self, words: usize, caps: usize) -> Result<(), Error> {
        let caps_missing = caps > 0 && self.extra[caps - 1].is_none();
        if self.length < words || caps_missing {
            Err(Error::Truncated)
        } else {
            Ok(())
        }
    }

    /// Message word `index`. User memory may change meanwhile: read each word once.
    #[inline(always)]
    pub fn word(&self, kernel: &Kernel<A>, index: usize) -> usize {
        kernel.message_word_in(self.caller, self.buffer, index)
    }

    /// A length of time: one word on 64-bit machines, two on 32-bit ones, low word first. `index` and
    /// the result count words of the message.
    pub fn time(&self, kernel: &Kernel<A>, index: usize) -> (Microseconds, usize) {
        let low = self.word(kernel, index) as u64;
        if abi::WORD_BITS == 64 {
            return (Microseconds(low), index + 1);
        }
        let high = self.word(kernel, index + 1) as u64;
        (Microseconds(high << 32 | low), index + 2)
    }

    /// Message word `index`, which is a number up to `maximum`.
    ///
    /// # Errors
    /// [`Error::Range`].
    pub fn number_up_to(&self, kernel: &Kernel<A>, index: usize, maximum: u8) -> Result<u8, Error> {
        let number = self.word(kernel, index);
        u8::try_from(number)
            .ok()
            .filter(|number| *number <= maximum)
            .ok_or(Error::Range {
                minimum: 0,
                maximum: maximum.into(),
            })
    }

    /// The slot of extra capability `index`; [`Invocation::require`] has made sure that it exists.
    #[inline(always)]
    pub fn extra_slot(&self, index: usize) -> Ptr<Slot<A>> {
        self.extra[index].unwrap_or(self.slot)
    }

    /// Extra capability `index`, packed: for who looks for one kind.
    #[inline(always)]
    pub fn packed_extra(&self, kernel: &Kernel<A>, index: usize) -> RawCap {
        self.extra[index].map_or(RawCap::NULL, |slot| kernel[slot].raw())
    }

    /// Extra capability `index`; null for an empty slot.
    pub fn extra_cap(&self, kernel: &Kernel<A>, index: usize) -> Cap<A> {
        self.extra[index].map_or(Cap::Null, |slot| kernel[slot].cap())
    }
}
