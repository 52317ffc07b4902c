//! The component that performs one benchmark.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::entry!(suites::perform);
