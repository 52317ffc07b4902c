//! The component that performs one test.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::entry!(suite::perform);
