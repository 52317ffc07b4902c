//! The beginning and the end of a kernel entry: the budget check of the current thread, and the switch to the
//! thread that runs next.

mod budget;
mod leave;

pub(crate) use budget::BudgetCheck;
