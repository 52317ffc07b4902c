//! Exceptions: from the registers of the core to calls of the portable kernel.

use core::cell::UnsafeCell;

use abi::config::HARDWARE_DEBUG;
use kernel::arch::{Arch, Exit, UserContext};
use kernel::cores::CoreHandle;
use kernel::object::Fault;
use kernel::sched::CORES;

use super::{Machine, version};
use crate::aarch32::cp15;
use crate::breakpoints::Event;
use crate::machine::{debug, fpu};
use crate::platform::Platform;
use crate::timer::Timer;
use crate::user_timer;

/// Bytes of the stack on which the kernel reports an exception of its own.
pub const FATAL_STACK_SIZE: usize = 8 * 1024;

#[repr(C, align(8))]
struct Stacks(UnsafeCell<[[u8; FATAL_STACK_SIZE]; CORES]>);
// SAFETY: only the exception handler of a core uses its own, as its stack.
unsafe impl Sync for Stacks {}

/// The stack on which the kernel reports an exception of its own: the usual stack may have caused it. Each
/// core has one.
#[unsafe(no_mangle)]
static trap_fatal_stack: Stacks = Stacks(UnsafeCell::new([[0; FATAL_STACK_SIZE]; CORES]));

/// The end of that stack of a core.
#[cfg(feature = "smp")]
pub(super) fn fatal_stack_end(core: usize) -> usize {
    trap_fatal_stack.0.get() as usize + (core + 1) * FATAL_STACK_SIZE
}

unsafe extern "C" {
    static trap_vectors: u8;
}

/// Sets the exception vectors of this core.
pub(crate) fn start() {
    version::set_vectors(&raw const trap_vectors as usize);
}

/// The fault status bits of a data or instruction abort; the other bits are reserved.
const STATUS: usize = 0x3fff;

/// DFSR.WnR.
const IS_WRITE: usize = 1 << 11;

/// Whether the fault status of an abort is that of a debug event (ARM DDI 0406, table B3-23).
const fn is_debug_event(status: usize) -> bool {
    HARDWARE_DEBUG && status & 0x40f == 0b00010
}

/// Handles an undefined instruction of the current thread.
pub fn undefined<P: Platform>(core: &mut CoreHandle<Machine<P>>) {
    core.handle_exception(|kernel| {
        let continues = fpu::acquire(kernel)
            || P::Timer::FOR_USERS
                && super::undefined::names_timer(kernel)
                && user_timer::acquire(kernel);
        (!continues).then_some(Fault::UserException { number: 0, code: 0 })
    });
}

/// Handles a failed instruction fetch of the current thread.
pub fn prefetch_abort<P: Platform>(core: &mut CoreHandle<Machine<P>>) {
    let status = cp15::instruction_fault_status() & STATUS;
    if is_debug_event(status) {
        let event = if version::breakpoints::is_software() {
            Event::Software
        } else {
            Event::Instruction
        };
        return core.handle_debug_exception(|kernel| debug::handle(kernel, event));
    }
    core.handle_exception(|kernel| {
        let thread = kernel.core.current?;
        Some(Fault::Vm {
            address: kernel[thread].context.next_pc(),
            status,
            instruction: true,
        })
    });
}

/// Handles a failed memory access of the current thread.
pub fn data_abort<P: Platform>(core: &mut CoreHandle<Machine<P>>) {
    let status = cp15::data_fault_status() & STATUS;
    let address = cp15::data_fault_address();
    if is_debug_event(status) {
        let write = status & IS_WRITE != 0;
        return core.handle_debug_exception(|kernel| {
            debug::handle(kernel, Event::Data { address, write })
        });
    }
    core.handle_fault(Fault::Vm {
        address,
        status,
        instruction: false,
    });
}

/// Handles an exception of the kernel itself. With `panic=immediate-abort` (kernel kind `small`), a panic would
/// be another exception, so the run ends without a report.
///
/// # Panics
/// Always, in others.
pub fn fatal<P: Platform>(kind: usize, address: usize) -> ! {
    if cfg!(panic = "immediate-abort") {
        Machine::<P>::exit(Exit::Failure);
    }
    match kind {
        0 => panic!("undefined instruction in the kernel at {address:#x}"),
        1 => panic!(
            "instruction abort in the kernel at {address:#x}, status {:#x}",
            cp15::instruction_fault_status() & STATUS
        ),
        2 => panic!(
            "data abort in the kernel at {address:#x}, accessing {:#x}, status {:#x}",
            cp15::data_fault_address(),
            cp15::data_fault_status() & STATUS
        ),
        _ => panic!("stray exception at {address:#x}"),
    }
}
