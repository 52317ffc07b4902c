//! The arithmetic of replenishments: pure, without kernel state.
//!
//! A scheduling context with budget *C* and period *T* is a sporadic server (Sprunt, Sha, Lehoczky,
//! "Aperiodic task scheduling for hard-real-time systems", 1989; with the corrections of Stanovich et
//! al., "Defects of the POSIX sporadic server", 2010). It keeps a list of replenishments, each a moment
//! and an amount: from the moment on, the amount may be used. What is used comes back one period after
//! it became available. Two things hold at all times:
//!
//! * the amounts add up to the budget;
//! * the replenishments are in order and do not overlap: each ends (moment + amount) no later than
//!   the next begins. So no window of one period ever supplies more than the budget.
//!
//! The list has a fixed capacity. When it is full, what is used is merged into the last replenishment,
//! which is delayed for it: the server may get its time later, never more of it.

mod refills;
mod ring;
mod slice;
#[cfg(test)]
mod tests;

pub use refills::Refills;
pub use ring::{Entry, MAX_REFILLS, Refill, RefillRing};
pub use slice::Slice;
