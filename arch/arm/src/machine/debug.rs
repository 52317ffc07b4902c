//! The debug registers of a core: those of a thread with breakpoints are loaded when it runs, and cleared at
//! the next switch to a thread without. Switches among threads without breakpoints do nothing. Only in builds
//! with the option `hwdebug`.

use core::mem::offset_of;

use abi::config::HARDWARE_DEBUG;
use kernel::arch::UserContext;
use kernel::invoke::Error;
use kernel::object::{Access, Breakpoint, BreakpointNumbers, Fault, Thread};
use kernel::sched::Scheduler;
use kernel::token::Ptr;

use super::{ExecutionState, Machine};
use crate::breakpoints::{self, Event, Registers};
use crate::platform::Platform;

/// The registers of this core.
#[derive(Debug)]
pub struct Unit {
    /// Whether they have the ABI's numbers, and the kernel can enable them.
    usable: bool,
    /// Whether any is in use.
    active: bool,
    loaded: Registers,
}

/// The part of a core's state that has it.
pub type InMachine = [Unit; HARDWARE_DEBUG as usize];

impl Unit {
    /// Offset of the byte that indicates whether a register is in use, for fast paths in assembly.
    pub const ACTIVE: usize = offset_of!(Self, active);

    /// Sets up the registers of this core, none in use.
    pub(super) fn start<V: ExecutionState>() -> InMachine {
        core::array::from_fn(|_| Self {
            usable: V::start_breakpoints(),
            active: false,
            loaded: Registers::NONE,
        })
    }
}

/// The numbers of breakpoints, if the core has them.
pub(super) fn numbers<V: ExecutionState, P: Platform>(
    machine: &Machine<V, P>,
) -> Option<BreakpointNumbers> {
    let usable = machine.debug.first().is_some_and(|unit| unit.usable);
    usable.then_some(breakpoints::numbers(V::USER_TOP))
}

/// Loads the debug registers of `next`, which runs next, if they differ.
#[inline(always)]
pub(super) fn switch_to<V: ExecutionState, P: Platform>(
    kernel: &mut Scheduler<Machine<V, P>>,
    next: Ptr<Thread<Machine<V, P>>>,
) {
    if HARDWARE_DEBUG
        && (kernel.arch.debug.iter().any(|unit| unit.active)
            || V::debug(&kernel[next].context)
                .iter()
                .any(|it| it.is_active()))
    {
        load(kernel, next);
    }
}

#[cold]
fn load<V: ExecutionState, P: Platform>(
    kernel: &mut Scheduler<Machine<V, P>>,
    thread: Ptr<Thread<Machine<V, P>>>,
) {
    for index in 0..HARDWARE_DEBUG as usize {
        let wanted = V::debug(&kernel[thread].context)[index].registers(V::STEPPING);
        let unit = &mut kernel.arch.debug[index];
        if unit.loaded != wanted {
            V::load_breakpoints(&unit.loaded, &wanted);
            unit.loaded = wanted;
            unit.active = wanted != Registers::NONE;
        }
    }
}

/// Sets or clears a breakpoint.
///
/// # Errors
/// [`Error::Alignment`] if no instruction begins at the address; [`Error::IllegalOperation`] if single stepping
/// uses the breakpoint.
pub(super) fn set<V: ExecutionState, P: Platform>(
    kernel: &mut Scheduler<Machine<V, P>>,
    thread: Ptr<Thread<Machine<V, P>>>,
    number: usize,
    breakpoint: Option<Breakpoint>,
) -> Result<(), Error> {
    if breakpoint.is_some_and(|it| {
        it.access == Access::Execute && !it.address.is_multiple_of(V::INSTRUCTION_ALIGNMENT)
    }) {
        return Err(Error::Alignment);
    }
    V::debug_mut(&mut kernel[thread].context)
        .iter_mut()
        .try_for_each(|debug| debug.set(number, breakpoint))
}

/// A breakpoint, if it is set.
pub(super) fn get<V: ExecutionState, P: Platform>(
    kernel: &Scheduler<Machine<V, P>>,
    thread: Ptr<Thread<Machine<V, P>>>,
    number: usize,
) -> Option<Breakpoint> {
    let debug = V::debug(&kernel[thread].context).first()?;
    debug.breakpoint(number)
}

/// Makes a thread stop after some instructions.
///
/// # Errors
/// Those of [`breakpoints::Debug::step`].
pub(super) fn step<V: ExecutionState, P: Platform>(
    kernel: &mut Scheduler<Machine<V, P>>,
    thread: Ptr<Thread<Machine<V, P>>>,
    number: Option<usize>,
    instructions: usize,
) -> Result<bool, Error> {
    let context = &mut kernel[thread].context;
    let debug = V::debug_mut(context)
        .first_mut()
        .ok_or(Error::IllegalOperation)?;
    let used = debug.step(V::STEPPING, number, instructions)?;
    V::begin_step(context);
    Ok(used)
}

/// Handles a debug event of the current thread: returns its fault, or `None` if it continues.
pub fn handle<V: ExecutionState, P: Platform>(
    kernel: &mut Scheduler<Machine<V, P>>,
    event: Event,
) -> Option<Fault> {
    let thread = kernel.core.current?;
    let context = &mut kernel[thread].context;
    let pc = context.next_pc();
    let fault = V::debug_mut(context)
        .first_mut()?
        .handle(V::STEPPING, event, pc);
    V::begin_step(context);
    load(kernel, thread);
    fault
}
