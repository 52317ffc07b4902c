//! Counts its requests, and fails when it is asked to. A restart begins to count again, with clear registers.
#![no_std]
#![no_main]

mod float;

use core::hint::black_box;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::given::Signals;
use userlib::{Message, Received};

/// The number of requests since the start; not zero, so that it is in the program's data.
static COUNT: AtomicUsize = AtomicUsize::new(100);

userlib::component!(main);

fn main(given: Given) {
    assert_eq!(float::replace(7), 0, "a register is as in the last start");
    let signals = given.signals;
    given.requests.serve(|received| handle(signals, received))
}

fn handle(signals: Signals, received: Received) -> Message {
    let wish = received.message.map_or(0, |message| message.label());
    match wish {
        0 => {}
        1 => panic!("as the client wishes"),
        2 => {
            black_box(overflow(0));
        }
        3 => loop {
            black_box(wish);
        },
        _ => {
            signals.wait();
            panic!("as the listener wishes");
        }
    }
    Message::new(0, &[COUNT.fetch_add(1, Relaxed)])
}

/// Overflows the stack.
#[inline(never)]
fn overflow(depth: usize) -> usize {
    let frame = black_box([depth; 32]);
    match frame[1] {
        usize::MAX => 0,
        _ => overflow(depth + 1) + black_box(&frame)[2],
    }
}
