//! Fatal exceptions: those of the kernel, and hardware failures.

use kernel::arch::Exit;
use x86_64::registers::control::Cr2;

use crate::Platform;

/// The frame that the stubs and the processor have pushed.
#[derive(Debug)]
#[repr(C)]
pub struct Frame {
    vector: u64,
    error: u64,
    rip: u64,
    cs: u64,
    rflags: u64,
    rsp: u64,
    ss: u64,
}

/// The vector of non-maskable interrupts, machine checks and double faults, which share a stub.
const UNKNOWN_VECTOR: u64 = u64::MAX;

/// Ends the run with a report; without one under `panic=immediate-abort` (kernel kind `small`), where a panic
/// is an exception.
///
/// # Panics
/// Always, in others.
pub fn fatal<P: Platform>(frame: &Frame) -> ! {
    let Frame {
        vector,
        error,
        rip,
        rsp,
        ..
    } = frame;
    if cfg!(panic = "immediate-abort") {
        P::exit(Exit::Failure);
    }
    let address = Cr2::read_raw();
    match *vector {
        UNKNOWN_VECTOR => panic!(
            "double fault, machine check or non-maskable interrupt at {rip:#x}, stack {rsp:#x}, last page fault {address:#x}"
        ),
        vector => panic!(
            "exception {vector} in the kernel at {rip:#x}, error code {error:#x}, stack {rsp:#x}, last page fault {address:#x}"
        ),
    }
}
