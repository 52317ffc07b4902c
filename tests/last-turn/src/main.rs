//! The last thread of a kernel with several domains stops while it is the turn of a domain that has no other. A debug kernel
//! ends the run, and does not while the thread still waits for its domain's turn.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use userlib::{BootInfo, Result, boot, println};

/// Ticks of the kernel's clock.
const TURN: u64 = 1_000_000;

userlib::root!(main);

fn main(_: &'static BootInfo) -> Result {
    boot::DOMAIN.configure_schedule(0, 0, TURN)?;
    boot::DOMAIN.configure_schedule(1, 1, TURN)?;
    boot::DOMAIN.set_schedule_start(0)?;
    boot::DOMAIN.set(1, boot::TCB)?;
    println!("this is the second domain");
    boot::TCB.suspend()
}
