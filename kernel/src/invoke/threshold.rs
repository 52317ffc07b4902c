//! `CNode_EndpointSetThreshold`: the threshold of an endpoint. An extension of Escapement.

use abi::endpoint_flags::{LIMIT, MASK};
use abi::{Rights, WORD_BITS};

use super::{Done, Error, Invocation};
use crate::Kernel;
use crate::arch::Arch;
use crate::cap::{Cap, EndpointCap};
use crate::object::EndpointThreshold;
use crate::slot::Slot;
use crate::time::{MIN_BUDGET, Microseconds};
use crate::token::Ptr;

impl<A: Arch> Invocation<A> {
    /// Sets the threshold of the endpoint in `slot`. Threads that already wait there remain in the wait queue.
    ///
    /// Words 0 and 1 name the slot, as in all methods of CNodes; the threshold and the flags follow.
    pub(super) fn set_threshold(&self, kernel: &mut Kernel<A>, slot: Ptr<Slot<A>>) -> Done {
        self.require(if WORD_BITS == 64 { 4 } else { 5 }, 0)?;
        let (threshold, next) = self.time(kernel, 2);
        let flags = self.word(kernel, next);

        // Only a holder of the original capability, which can mint badges, may set the threshold.
        let endpoint = match kernel[slot].cap() {
            Cap::Endpoint(EndpointCap {
                object,
                badge: 0,
                rights: Rights::ALL,
            }) if kernel[slot].is_original() => object,
            _ => return Err(Error::IllegalOperation.into()),
        };
        if flags & !MASK != 0 {
            return Err(Error::InvalidArgument(next).into());
        }
        let clock = kernel.arch.clock();
        let most = Microseconds(clock.max_period().0 - MIN_BUDGET.0);
        let least = Microseconds((flags & LIMIT != 0) as u64);
        if threshold < least || threshold > most {
            return Err(Error::range(
                least.0 as usize,
                usize::try_from(most.0).unwrap_or(usize::MAX),
            )
            .into());
        }
        let asks = threshold.0 > 0 || flags != 0;
        kernel[endpoint].set_threshold(asks.then(|| EndpointThreshold {
            needed: clock.ticks(Microseconds(threshold.0 + MIN_BUDGET.0)),
            flags,
        }));
        Ok(())
    }
}
