//! The beginning and the end of a kernel entry: the entry lock, the budget check of the current thread, and the
//! switch to the thread that runs next.

mod budget;
#[cfg(feature = "smp")]
mod enter;
mod leave;
#[cfg(feature = "smp")]
mod local;
#[cfg(feature = "smp")]
mod remote;
#[cfg(not(feature = "smp"))]
mod single_core;

pub(crate) use budget::BudgetCheck;
