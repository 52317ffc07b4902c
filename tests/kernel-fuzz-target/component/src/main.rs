//! One program for all components of the fuzzer; the startup page states its role.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

userlib::entry!(hostility::perform);
