//! The arithmetic of replenishments, as pure functions without kernel state.
//!
//! A scheduling context with budget *C* and period *T* is a sporadic server (Sprunt, Sha, Lehoczky, "Aperiodic
//! task scheduling for hard-real-time systems", 1989; with the corrections of Stanovich et al., "Defects of the
//! POSIX sporadic server", 2010). It keeps a list of replenishments, each an amount and the time from which it
//! may be used. An amount that was used is replenished one period after it became available. Two invariants
//! hold:
//!
//! * the amounts add up to the budget;
//! * the replenishments are in order and do not overlap: each ends (time + amount) no later than
//!   the next begins. So no window of one period supplies more than the budget, as long as [`Refills::unblock`]
//!   precedes each use; it does not precede that of a sporadic context whose thread continues after a preemption.
//!
//! The list has a fixed capacity. When it is full, a used amount is merged into the last replenishment, which
//! is delayed accordingly: the server may get its budget later, but never more than its budget.

mod refills;
mod ring;
mod slice;
#[cfg(test)]
mod tests;

pub use refills::Refills;
pub use ring::{Entry, MAX_REFILLS, Refill, RefillRing};
pub use slice::Slice;
