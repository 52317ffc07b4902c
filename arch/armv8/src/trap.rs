//! Exceptions: from the registers of the core to calls of the portable kernel.

use aarch64_cpu::registers::{ESR_EL1, FAR_EL1, Readable, VBAR_EL1, Writeable};
use abi::config::HARDWARE_DEBUG;
use arch_arm::breakpoints::Event;
use arch_arm::machine::{debug, fpu};
use arch_arm::user_timer;
use kernel::Kernel;
use kernel::arch::{Arch, Exit, UserContext};
use kernel::cores::CoreHandle;
use kernel::object::Fault;

use crate::context::Context;
use crate::core_local::CoreLocal;
use crate::{Armv8, Platform};

/// Classes of exceptions (Arm ARM, `ESR_EL1.EC`).
pub(crate) mod class {
    /// A floating-point instruction while the unit is disabled.
    pub(super) const FLOATING_POINT: u64 = 0x07;
    /// `svc`.
    pub(crate) const SYSTEM_CALL: u64 = 0x15;
    /// A trapped system register access.
    pub(super) const SYSTEM_REGISTER: u64 = 0x18;
    /// A failed instruction fetch of a user.
    pub(super) const INSTRUCTION_ABORT: u64 = 0x20;
    /// A failed memory access of a user.
    pub(super) const DATA_ABORT: u64 = 0x24;
    /// A breakpoint of a user.
    pub(super) const BREAKPOINT: u64 = 0x30;
    /// A user has executed an instruction.
    pub(super) const STEP: u64 = 0x32;
    /// A watchpoint of a user.
    pub(super) const WATCHPOINT: u64 = 0x34;
    /// `brk`.
    pub(super) const SOFTWARE_BREAKPOINT: u64 = 0x3c;
}

core::arch::global_asm!(
    include_str!("registers.s"),
    include_str!("trap.s"),
    next_pc = const Context::NEXT_PC,
    restart_pc = const Context::RESTART_PC,
    stack = const CoreLocal::STACK,
    fatal_stack = const CoreLocal::FATAL_STACK,
);

unsafe extern "C" {
    static trap_vectors: u8;
}

/// Sets the exception vectors of this core.
pub(crate) fn start() {
    VBAR_EL1.set(&raw const trap_vectors as u64);
}

/// The syndrome of the last exception: the part that is reported to users.
fn syndrome() -> usize {
    (ESR_EL1.get() & 0xffff_ffff) as usize
}

/// Whether the syndrome of a system register names one of the physical timer: op0 3, op1 3, CRn 14, CRm 2
/// (Arm ARM, `ESR_EL1`, ISS encoding of trapped `msr` and `mrs`).
const fn names_timer(syndrome: usize) -> bool {
    const REGISTER: usize = 0b11 << 20 | 0b111 << 14 | 0b1111 << 10 | 0b1111 << 1;
    syndrome & REGISTER == 3 << 20 | 3 << 14 | 14 << 10 | 2 << 1
}

/// Handles an exception of the current thread that is not a system call.
pub fn exception<P: Platform>(core: &mut CoreHandle<Armv8<P>>) {
    if HARDWARE_DEBUG && let Some(event) = debug_event() {
        return core.handle_debug_exception(|kernel| debug::handle(kernel, event));
    }
    core.handle_exception(examine);
}

/// The fault of an exception; `None` if the current thread may now use the unit that was disabled for it.
#[inline(always)]
fn examine<P: Platform>(kernel: &mut Kernel<Armv8<P>>) -> Option<Fault> {
    Some(match ESR_EL1.read(ESR_EL1::EC) {
        class::FLOATING_POINT if fpu::acquire(kernel) => return None,
        class::SYSTEM_REGISTER if names_timer(syndrome()) && user_timer::acquire(kernel) => {
            return None;
        }
        class::INSTRUCTION_ABORT => Fault::Vm {
            address: kernel[kernel.core.current?].context.next_pc(),
            status: syndrome(),
            instruction: true,
        },
        class::DATA_ABORT => Fault::Vm {
            address: FAR_EL1.get() as usize,
            status: syndrome(),
            instruction: false,
        },
        _ => Fault::UserException {
            number: syndrome(),
            code: 0,
        },
    })
}

/// The event, if this is a debug exception.
fn debug_event() -> Option<Event> {
    /// `ESR_EL1.WnR`.
    const IS_WRITE: usize = 1 << 6;
    Some(match ESR_EL1.read(ESR_EL1::EC) {
        class::BREAKPOINT => Event::Instruction,
        class::STEP => Event::Step,
        class::WATCHPOINT => Event::Data {
            address: FAR_EL1.get() as usize,
            write: syndrome() & IS_WRITE != 0,
        },
        class::SOFTWARE_BREAKPOINT => Event::Software,
        _ => return None,
    })
}

/// Handles an asynchronous error of memory or a device. The current thread, or one that ran before it, may
/// have caused it.
pub fn error<P: Platform>(core: &mut CoreHandle<Armv8<P>>) {
    core.handle_fault(Fault::UserException {
        number: syndrome(),
        code: 0,
    });
}

/// Handles an exception of the kernel itself. With `panic=immediate-abort` (kernel kind `small`), a panic would
/// be such an exception too, so the run ends without a report.
///
/// # Panics
/// Always, in others.
pub fn fatal<P: Platform>(kind: usize) -> ! {
    if cfg!(panic = "immediate-abort") {
        Armv8::<P>::exit(Exit::Failure);
    }
    let (address, syndrome) = (aarch64_cpu::registers::ELR_EL1.get(), syndrome());
    match kind {
        0 => panic!(
            "exception in the kernel at {address:#x}, syndrome {syndrome:#x}, accessing {:#x}",
            FAR_EL1.get()
        ),
        _ => panic!("stray exception at {address:#x}, syndrome {syndrome:#x}"),
    }
}
