//! Hardware breakpoints and single stepping (Intel SDM vol. 3, chapter 19).
//!
//! Four registers hold addresses, DR7 the condition of each, and DR6 the events. They are loaded at a switch
//! to a thread with breakpoints, and cleared at the next switch to a thread without; switches among threads
//! without breakpoints do nothing. The kernel itself is not affected: breakpoints have user addresses, and
//! the kernel accesses users' memory by addresses of its own.

use core::arch::asm;

use abi::breakpoint::SINGLE_STEP;
use kernel::invoke::{Error, ensure};
use kernel::object::{Access, Breakpoint, Fault, Thread};
use kernel::sched::Scheduler;
use kernel::token::Ptr;

use crate::trap::vectors::exception;
use crate::{Platform, X86_64};

/// Breakpoints of a thread.
pub const COUNT: usize = 4;

/// RFLAGS.TF: raises an exception after the next instruction.
pub const TRAP: u64 = 1 << 8;
/// RFLAGS.RF: the next instruction does not trigger a breakpoint.
const RESUME: u64 = 1 << 16;
/// The value to which DR6 is reset after reading (Intel SDM vol. 3, section 19.2.3: the processor only sets
/// bits).
const STATUS_CLEAR: u64 = 0xffff_0ff0;
/// DR6.BS: single step.
const STATUS_STEP: u64 = 1 << 14;
/// DR6.B0 to B3: the breakpoints.
const STATUS_BREAKPOINTS: u64 = (1 << COUNT) - 1;
/// DR7: bits that are always set.
const CONTROL_FIXED: u64 = 1 << 10;

/// A thread's values of the debug registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    address: [u64; COUNT],
    /// DR7.
    control: u64,
}

impl Registers {
    /// No breakpoints.
    pub const NONE: Self = Self {
        address: [0; COUNT],
        control: CONTROL_FIXED,
    };

    const fn is_enabled(&self, number: usize) -> bool {
        self.control >> (2 * number) & 1 != 0
    }

    /// The four bits of DR7 for a breakpoint's kind (low two) and length (high two).
    const fn kind(&self, number: usize) -> u64 {
        self.control >> (16 + 4 * number) & 0xf
    }

    /// Whether a breakpoint is the same here and there.
    const fn is_same(&self, other: &Self, number: usize) -> bool {
        self.is_enabled(number) == other.is_enabled(number)
            && self.kind(number) == other.kind(number)
            && self.address[number] == other.address[number]
    }

    fn set(&mut self, number: usize, breakpoint: Option<(u64, u64)>) {
        let (enable, kind) = (1 << (2 * number), 16 + 4 * number);
        self.control &= !(enable | 0xf << kind);
        self.address[number] = 0;
        if let Some((address, bits)) = breakpoint {
            self.address[number] = address;
            self.control |= enable | bits << kind;
        }
    }

    fn load(&self) {
        let [zero, one, two, three] = self.address;
        // SAFETY: breakpoints have user addresses, so the kernel does not trigger them.
        unsafe {
            asm!(
                "mov dr7, {off}", "mov dr0, {}", "mov dr1, {}", "mov dr2, {}", "mov dr3, {}",
                "mov dr7, {control}",
                in(reg) zero, in(reg) one, in(reg) two, in(reg) three,
                off = in(reg) CONTROL_FIXED, control = in(reg) self.control,
                options(nostack, preserves_flags)
            );
        }
    }
}

/// The state that the debugger of a thread has set.
#[derive(Clone, Debug)]
pub struct Debug {
    registers: Registers,
    stepping: bool,
    /// Instructions to be executed before the next stop.
    remaining: usize,
}

impl Debug {
    /// No breakpoints and no stepping.
    pub const NONE: Self = Self {
        registers: Registers::NONE,
        stepping: false,
        remaining: 0,
    };

    /// The value of TF with which the thread runs, regardless of the flags that are set for it.
    pub const fn trap_flag(&self) -> u64 {
        if self.stepping { TRAP } else { 0 }
    }
}

/// The bits of DR7 for the condition of a breakpoint; `None` for reads only, which the processor cannot
/// distinguish from other accesses.
fn bits(breakpoint: Breakpoint) -> Option<u64> {
    let kind = match breakpoint.access {
        Access::Execute => 0,
        Access::Write => 1,
        Access::ReadWrite => 3,
        Access::Read => return None,
    };
    let length = match breakpoint.size {
        2 => 1,
        8 => 2,
        4 => 3,
        _ => 0,
    };
    Some(kind | length << 2)
}

/// Sets or clears a breakpoint.
///
/// # Errors
/// [`Error::InvalidArgument`] if the processor does not support its kind.
pub fn set<P: Platform>(
    kernel: &mut Scheduler<X86_64<P>>,
    thread: Ptr<Thread<X86_64<P>>>,
    number: usize,
    breakpoint: Option<Breakpoint>,
) -> Result<(), Error> {
    /// Index of the argument that distinguishes reads from writes.
    const DIRECTION: usize = 4;
    let words = breakpoint.map(|it| Some((it.address as u64, bits(it)?)));
    ensure(words != Some(None), Error::InvalidArgument(DIRECTION))?;
    let registers = &mut kernel[thread].context.debug.registers;
    registers.set(number, words.flatten());
    Ok(())
}

/// A breakpoint, if it is set.
pub fn get(debug: &Debug, number: usize) -> Option<Breakpoint> {
    let registers = &debug.registers;
    let kind = registers.kind(number);
    let access = match kind & 3 {
        0 => Access::Execute,
        1 => Access::Write,
        _ => Access::ReadWrite,
    };
    let size = match (access, kind >> 2) {
        (Access::Execute, _) => 0,
        (_, 0) => 1,
        (_, 1) => 2,
        (_, 2) => 8,
        _ => 4,
    };
    registers.is_enabled(number).then_some(Breakpoint {
        address: registers.address[number] as usize,
        size,
        access,
    })
}

/// Makes a thread stop after some instructions; with 0 it runs freely.
pub fn step<P: Platform>(
    kernel: &mut Scheduler<X86_64<P>>,
    thread: Ptr<Thread<X86_64<P>>>,
    instructions: usize,
) {
    let context = &mut kernel[thread].context;
    context.debug.stepping = instructions != 0;
    context.debug.remaining = instructions;
    context.registers.rflags = context.registers.rflags & !TRAP | context.debug.trap_flag();
}

/// Loads the breakpoints of `next`, which runs next.
pub fn switch_to<P: Platform>(kernel: &mut Scheduler<X86_64<P>>, next: Ptr<Thread<X86_64<P>>>) {
    let wanted = kernel[next].context.debug.registers;
    let loaded = kernel.arch.breakpoints;
    if (wanted.control | loaded.control) != CONTROL_FIXED && wanted != loaded {
        wanted.load();
        kernel.arch.breakpoints = wanted;
    }
}

/// What this debug exception reports (DR6). It is read before the kernel waits for anything: the processor
/// accumulates events, and the next may be another thread's.
pub fn take_status() -> u64 {
    let status;
    // SAFETY: the register only reports events.
    unsafe {
        asm!("mov {}, dr6", "mov dr6, {}", out(reg) status, in(reg) STATUS_CLEAR, options(nostack, preserves_flags));
    }
    status
}

/// Handles a debug exception of the current thread: returns its fault, or `None` if the thread continues,
/// because it has instructions left to execute, or because another core has meanwhile removed the cause.
///
/// The trap of a single step has a higher priority than a breakpoint for the next instruction (Intel SDM vol.
/// 3, section 7.9), so that a step always counts; QEMU reports both together.
pub fn exception<P: Platform>(kernel: &mut Scheduler<X86_64<P>>, status: u64) -> Option<Fault> {
    let thread = kernel.core.current?;
    let loaded = kernel.arch.breakpoints;
    let context = &mut kernel[thread].context;
    let hit = (0..COUNT)
        .filter(|number| status >> number & 1 != 0)
        .filter(|number| context.debug.registers.is_same(&loaded, *number))
        .find_map(|number| Some((number, get(&context.debug, number)?)));
    let steps = status & STATUS_STEP != 0 && context.debug.stepping;
    if steps {
        let left = context.debug.remaining.saturating_sub(1);
        let is_at_data = hit.is_some_and(|(_, it)| it.access != Access::Execute);
        // One exception makes one report: if the instruction has also accessed watched data, the last step ends an
        // instruction later. A breakpoint for the next instruction is not lost: it stops the thread when it continues.
        context.debug.remaining = if is_at_data { left.max(1) } else { left };
        if context.debug.remaining == 0 {
            return Some(Fault::Debug {
                reason: SINGLE_STEP,
                address: 0,
                number: 0,
            });
        }
    }
    if let Some((number, breakpoint)) = hit {
        let (reason, _) = breakpoint.access.words();
        if breakpoint.access == Access::Execute {
            // The instruction has not been executed yet; it must not trigger again when it is.
            context.registers.rflags |= RESUME;
        }
        return Some(Fault::Debug {
            reason,
            address: breakpoint.address,
            number,
        });
    }
    // The thread has set the flag itself, or executed `int1`, which DR6 does not report. The flag of steps that
    // another core has ended is gone.
    let is_own = match status & STATUS_STEP {
        0 => status & STATUS_BREAKPOINTS == 0,
        _ => !steps && context.registers.rflags & TRAP != 0,
    };
    is_own.then_some(Fault::UserException {
        number: exception::DEBUG as usize,
        code: 0,
    })
}
