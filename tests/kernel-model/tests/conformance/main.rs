//! The kernel and the model run the same histories.

mod explore;
mod long;
mod pair;
mod random;
mod system;
