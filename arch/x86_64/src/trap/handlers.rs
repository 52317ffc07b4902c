//! Handlers of exceptions, interrupts and system calls, which call the portable kernel.

use core::ptr::NonNull;

use abi::MessageInfo;
use abi::breakpoint::SOFTWARE;
use abi::config::HARDWARE_DEBUG;
use kernel::Kernel;
use kernel::arch::Irq;
use kernel::cores::Local;
use kernel::fastpath::SystemCall;
use kernel::object::{Fault, Thread};
use kernel::syscall::Interrupt;
use kernel::token::Ptr;
use x86_64::registers::control::Cr2;

use super::entry::{return_to, return_to_user};
use super::vectors::{self, exception};
use crate::context::{Context, Registers};
use crate::{Platform, X86_64, debug};

/// A Call or ReplyRecv: `registers` are part of the context of the current thread. A raw pointer, because a
/// reference would give access to the registers only, and no handle of the thread could be made from it.
#[inline(always)]
pub fn call<P: Platform>(
    cap: usize,
    info: usize,
    number: usize,
    registers: NonNull<Registers>,
) -> ! {
    system_call::<P>(cap, info, number, registers, Kernel::take_fast_path_of_call)
}

/// All other system calls.
#[inline(always)]
pub fn other_system_call<P: Platform>(
    cap: usize,
    info: usize,
    number: usize,
    registers: NonNull<Registers>,
) -> ! {
    system_call::<P>(cap, info, number, registers, Kernel::take_other_fast_path)
}

#[inline(always)]
fn system_call<P: Platform>(
    cap: usize,
    info: usize,
    number: usize,
    registers: NonNull<Registers>,
    take_fast_path: impl FnOnce(
        &mut Kernel<X86_64<P>>,
        &SystemCall<X86_64<P>>,
    ) -> Option<Ptr<Thread<X86_64<P>>>>,
) -> ! {
    let context = Context::of(registers);
    // SAFETY: the registers are part of the current thread's context.
    let thread = unsafe { Thread::of_context(context) };
    // SAFETY: this is the only kernel entry on this core.
    let mut core = unsafe { P::core() };
    let mut kernel = core.enter();
    let call = SystemCall {
        thread,
        number,
        cap,
        info: MessageInfo(info),
    };
    if let Some(next) = kernel.handle_syscall(|kernel| take_fast_path(kernel, &call)) {
        let registers = &raw const kernel[next].context.registers;
        drop(kernel);
        // SAFETY: they are those of the current thread. The handle is not used any more.
        unsafe { return_to(registers) }
    }
    drop(kernel);
    // SAFETY: the core is set up; the handle is not used any more.
    unsafe { return_to_user() }
}

/// An exception of a user, or an interrupt.
pub fn trap<P: Platform>(vector: u64, error: u64) {
    // SAFETY: this is the only kernel entry on this core.
    let mut core = unsafe { P::core() };
    match vector {
        exception::DEBUG if HARDWARE_DEBUG => {
            let status = debug::take_status();
            core.handle_debug_exception(|kernel| debug::exception(kernel, status));
        }
        // After the instruction, which is not executed again (Intel SDM vol. 3, section 7.5, "traps").
        exception::DEBUG | exception::BREAKPOINT => {
            core.handle_debug_exception(|_| Some(fault(vector, error)));
        }
        0..vectors::FIRST_INTERRUPT => core.handle_exception(|kernel| {
            if vector == exception::GENERAL_PROTECTION
                && let Some(thread) = kernel.core.current
            {
                kernel.objects[thread].context.make_returnable();
            }
            Some(fault(vector, error))
        }),
        vectors::FIRST_SOFTWARE..=vectors::LAST_SOFTWARE => {
            core.handle_exception(|kernel| software_interrupt(kernel, vector));
        }
        _ => interrupt(&mut core.enter(), vector),
    }
}

/// Handles an interrupt.
#[inline(always)]
fn interrupt<P: Platform>(kernel: &mut Local<'_, X86_64<P>>, vector: u64) {
    match vector {
        vectors::FIRST_USER..=vectors::LAST_USER => {
            let irq = Irq((vector - vectors::IRQ_BASE) as usize);
            kernel.handle_interrupt(Interrupt::Line(irq));
            // Not before the line is masked: a level-triggered interrupt would be raised again.
            kernel.arch.local_apic.end_of_interrupt();
        }
        vectors::TIMER => {
            kernel.arch.local_apic.end_of_interrupt();
            kernel.handle_interrupt(Interrupt::Timer);
        }
        #[cfg(feature = "smp")]
        vectors::CORE => {
            kernel.arch.local_apic.end_of_interrupt();
            kernel.handle_interrupt(Interrupt::Core);
        }
        _ => kernel.handle_interrupt(Interrupt::Spurious),
    }
}

fn fault(vector: u64, error: u64) -> Fault {
    /// Bit of the error code of a page fault (Intel SDM vol. 3, figure 5-12).
    const INSTRUCTION_FETCH: u64 = 1 << 4;
    /// The bits of it that the ABI reports.
    const STATUS: u64 = 0x1f;
    match vector {
        exception::PAGE_FAULT => Fault::Vm {
            address: Cr2::read_raw() as usize,
            status: (error & STATUS) as usize,
            instruction: error & INSTRUCTION_FETCH != 0,
        },
        exception::BREAKPOINT if HARDWARE_DEBUG => Fault::Debug {
            reason: SOFTWARE,
            address: 0,
            number: 0,
        },
        _ => Fault::UserException {
            number: vector as usize,
            code: error as usize,
        },
    }
}

/// The `int` instruction is not a system call: it is handled as one that does not exist, with the vector in its
/// number.
fn software_interrupt<P: Platform>(kernel: &mut Kernel<X86_64<P>>, vector: u64) -> Option<Fault> {
    const INT_BYTES: u64 = 2;
    const RAX: usize = 0;
    let thread = kernel.core.current?;
    let registers = &mut kernel[thread].context.registers;
    registers.restart = registers.rip - INT_BYTES;
    let number = vector << 24 | registers.general[RAX] & 0xff_ffff;
    Some(Fault::UnknownSyscall {
        number: number as usize,
    })
}
