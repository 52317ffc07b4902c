//! Tests of the kernel on the host. Each file is about one topic of the user interface.

mod boot;
mod deletion;
mod random;
mod tangles;
