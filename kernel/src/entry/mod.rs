//! The beginning and the end of a kernel entry: the entry lock, the budget check of the current thread, and the
//! switch to the thread that runs next.

mod budget;
mod enter;
mod exclusive;
mod late;
mod leave;
mod local;
mod remote;

pub(crate) use budget::BudgetCheck;
pub use exclusive::ExclusiveLocal;
