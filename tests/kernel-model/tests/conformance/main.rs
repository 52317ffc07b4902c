//! The kernel and the model run the same histories.

mod explore;
mod random;
mod twin;
