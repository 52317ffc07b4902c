//! Tests of the kernel on the host. Each file is about one topic of the user interface.

mod boot;
mod cnode;
mod cspace;
mod deletion;
mod random;
mod tangles;
mod untyped;
