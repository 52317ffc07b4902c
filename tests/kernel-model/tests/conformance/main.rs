//! The kernel and the model run the same histories.

mod explore;
mod long;
mod random;
mod system;
mod twin;
