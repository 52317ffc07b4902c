//! Breakpoints, watchpoints and single stepping (ABI option `hwdebug`): what the debugger of a thread has set,
//! and the values of the debug registers with which the thread runs. Both execution states have the same
//! formats (Arm ARM, chapters D2 and G2; ARM DDI 0406, part C).
//!
//! All registers are restricted to user mode, so the kernel never stops.
//!
//! An instruction with a breakpoint has not been executed when the thread stops, nor has the access at a
//! watchpoint been made. So that the thread can continue, the next instruction executes without what has
//! stopped the thread: it is single-stepped, and then all breakpoints are loaded again.

#[cfg(test)]
mod tests;

use core::mem::offset_of;

use abi::breakpoint::{SINGLE_STEP, SOFTWARE};
use abi::config::HARDWARE_DEBUG;
use kernel::invoke::Error;
use kernel::object::{Access, Breakpoint, BreakpointNumbers, Fault};

/// Breakpoints for instructions: the first numbers.
pub const INSTRUCTIONS: usize = 6;
/// Breakpoints for data: the following numbers.
pub const DATA: usize = 4;
/// All breakpoints of a thread. The ABI's numbers, which are also those of Cortex-A9, A53, A57 and A72.
pub const COUNT: usize = INSTRUCTIONS + DATA;

/// How the processor stops after an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepping {
    /// By a flag of the thread's program status (Arm ARM, section D2.11).
    Flag,
    /// By a breakpoint that stops at all instructions but one (ARM DDI 0406, section C3.3.1): it takes the
    /// register of a breakpoint.
    Mismatch,
}

/// The values of the debug registers of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    /// Addresses (DBGBVR, DBGWVR).
    pub addresses: [usize; COUNT],
    /// Conditions (DBGBCR, DBGWCR).
    pub controls: [u32; COUNT],
    /// Whether the program status stops after an instruction (MDSCR.SS).
    pub steps: bool,
}

impl Registers {
    /// Nothing stops.
    pub const NONE: Self = Self {
        addresses: [0; COUNT],
        controls: [0; COUNT],
        steps: false,
    };

    fn set(&mut self, number: usize, (address, control): (usize, u32)) {
        self.addresses[number] = address;
        self.controls[number] = control;
    }
}

/// DBGBCR.E and DBGWCR.E: the register is in use.
const ENABLED: u32 = 1 << 0;
/// DBGBCR.PMC and DBGWCR.PAC: only in user mode.
const USERS: u32 = 0b10 << 1;
/// DBGWCR.LSC: reads.
const READS: u32 = 0b01 << 3;
/// DBGWCR.LSC: writes.
const WRITES: u32 = 0b10 << 3;
/// The position of BAS, the bytes that a register covers.
const BYTES_SHIFT: u32 = 5;
/// DBGBCR.BT: stops at all instructions but one.
const MISMATCH: u32 = 0b0100 << 20;
/// BAS: all bytes of an instruction, or the first or second half of a word.
const WORD: u32 = 0b1111;
const FIRST_HALF: u32 = 0b0011;
const SECOND_HALF: u32 = 0b1100;

/// Address and condition of a breakpoint.
const fn encode(breakpoint: &Breakpoint) -> (usize, u32) {
    let Breakpoint {
        address,
        size,
        access,
    } = *breakpoint;
    let direction = match access {
        Access::Execute => {
            let bytes = if address & 2 == 0 { WORD } else { SECOND_HALF };
            return (address & !3, ENABLED | USERS | bytes << BYTES_SHIFT);
        }
        Access::Read => READS,
        Access::Write => WRITES,
        Access::ReadWrite => READS | WRITES,
    };
    let bytes: u32 = ((1 << size) - 1) << (address & 7);
    let control = ENABLED | USERS | direction | bytes << BYTES_SHIFT;
    (address & !7, control)
}

/// Whether a breakpoint stops at the instruction at `pc`.
const fn is_at(breakpoint: &Breakpoint, pc: usize) -> bool {
    if breakpoint.address & 2 == 0 {
        breakpoint.address == pc & !3
    } else {
        breakpoint.address == pc
    }
}

/// The distance in bytes of an address from the range of a watchpoint; 0 within it. The processor may report
/// any address that the instruction has accessed (Arm ARM, section D2.9.4).
const fn distance(breakpoint: &Breakpoint, address: usize) -> usize {
    let last = breakpoint.address + breakpoint.size - 1;
    let before = breakpoint.address.saturating_sub(address);
    before + address.saturating_sub(last)
}

/// What the processor reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An instruction is about to be executed.
    Instruction,
    /// Data is about to be accessed.
    Data {
        /// The address.
        address: usize,
        /// Whether it is a write.
        write: bool,
    },
    /// An instruction has been executed, by [`Stepping::Flag`].
    Step,
    /// A software breakpoint instruction: `brk` or `bkpt`.
    Software,
}

/// The state that the debugger of a thread has set.
#[derive(Clone, Debug)]
pub struct Debug {
    breakpoints: [Option<Breakpoint>; COUNT],
    /// Instructions to be executed before the next stop, 0 for no stop.
    remaining: usize,
    /// The breakpoint that single stepping uses.
    step_number: Option<usize>,
    /// A bit for each breakpoint that has stopped the thread: the next instruction executes without them.
    passed: u16,
    /// The instruction to be executed before the processor stops, and which bytes of the word it has.
    origin: (usize, u32),
    /// Whether a watchpoint was set or cleared beside others since the last watchpoint event. If another core
    /// does so while an event waits to be reported, the event's address may be nearer to the changed one.
    moved: bool,
    /// Whether the thread uses any of this: if not, switches to it have nothing to load.
    active: bool,
}

/// The part of a thread's context that has it.
pub type InContext = [Debug; HARDWARE_DEBUG as usize];

impl Debug {
    /// No breakpoints and no stepping.
    pub const NONE: Self = Self {
        breakpoints: [None; COUNT],
        remaining: 0,
        step_number: None,
        passed: 0,
        origin: (0, WORD),
        moved: false,
        active: false,
    };

    /// Offset of the byte that indicates whether it is in use, for fast paths in assembly.
    pub const ACTIVE: usize = offset_of!(Self, active);

    /// Whether the thread uses debug registers.
    #[inline(always)]
    pub const fn is_active(&self) -> bool {
        self.active
    }

    /// Whether the processor has to stop after the next instruction.
    pub const fn is_stepping(&self) -> bool {
        self.remaining != 0 || self.passed != 0
    }

    /// A breakpoint, if it is set.
    pub const fn breakpoint(&self, number: usize) -> Option<Breakpoint> {
        self.breakpoints[number]
    }

    fn update(&mut self) {
        self.active = self.is_stepping() || self.breakpoints.iter().any(Option::is_some);
    }

    /// Sets or clears a breakpoint.
    ///
    /// # Errors
    /// [`Error::IllegalOperation`] if single stepping uses it.
    pub fn set(&mut self, number: usize, breakpoint: Option<Breakpoint>) -> Result<(), Error> {
        if self.step_number == Some(number) {
            return Err(Error::IllegalOperation);
        }
        let has_data = self.breakpoints[INSTRUCTIONS..].iter().any(Option::is_some);
        self.moved |= has_data && number >= INSTRUCTIONS;
        self.breakpoints[number] = breakpoint;
        self.passed &= !(1 << number);
        self.update();
        Ok(())
    }

    /// Makes the thread stop after some instructions; with 0 it runs freely. Returns whether that uses the
    /// breakpoint `number`, by default the one in use.
    ///
    /// # Errors
    /// With [`Stepping::Mismatch`]: [`Error::Range`] if it is no breakpoint for instructions,
    /// [`Error::IllegalOperation`] if it is set, or if none is in use.
    pub fn step(
        &mut self,
        stepping: Stepping,
        number: Option<usize>,
        instructions: usize,
    ) -> Result<bool, Error> {
        let mut used = None;
        if stepping == Stepping::Mismatch {
            if number.is_some_and(|number| number >= INSTRUCTIONS) {
                return Err(Error::range(0, INSTRUCTIONS - 1));
            }
            if instructions != 0 {
                let number = number.or(self.step_number);
                let is_free = |&number: &usize| self.breakpoints[number].is_none();
                let number = number.filter(is_free).ok_or(Error::IllegalOperation)?;
                used = Some(number);
            }
        }
        self.step_number = used;
        self.remaining = instructions;
        self.update();
        Ok(used.is_some())
    }

    /// The processor stops after the instruction at `pc`; `short`: a Thumb instruction.
    pub const fn begin_step(&mut self, pc: usize, short: bool) {
        let bytes = match (short, pc & 2) {
            (false, _) => WORD,
            (true, 0) => FIRST_HALF,
            (true, _) => SECOND_HALF,
        };
        self.origin = (pc, bytes);
    }

    /// The values with which the thread runs.
    pub fn registers(&self, stepping: Stepping) -> Registers {
        let mut registers = Registers::NONE;
        for (number, breakpoint) in self.breakpoints.iter().enumerate() {
            if let Some(breakpoint) = breakpoint
                && self.passed >> number & 1 == 0
            {
                registers.set(number, encode(breakpoint));
            }
        }
        match stepping {
            _ if !self.is_stepping() => {}
            Stepping::Flag => registers.steps = true,
            Stepping::Mismatch => {
                // A breakpoint that is not loaded meanwhile is loaded again before the next instruction.
                let free = registers.controls[..INSTRUCTIONS]
                    .iter()
                    .rposition(|&control| control == 0);
                let number = self.step_number.or(free).unwrap_or(0);
                let (pc, bytes) = self.origin;
                let control = ENABLED | USERS | MISMATCH | bytes << BYTES_SHIFT;
                registers.set(number, (pc & !3, control));
            }
        }
        registers
    }

    /// Handles an event of the thread at `pc`. Returns the fault, or `None` if the thread continues.
    pub fn handle(&mut self, stepping: Stepping, event: Event, pc: usize) -> Option<Fault> {
        let hit = match event {
            Event::Software => {
                return Some(Fault::Debug {
                    reason: SOFTWARE,
                    address: 0,
                    number: 0,
                });
            }
            Event::Step => return self.stepped(),
            Event::Instruction
                if stepping == Stepping::Mismatch && self.is_stepping() && pc != self.origin.0 =>
            {
                // If there is a breakpoint too, the thread stops there next.
                return self.stepped();
            }
            Event::Instruction => self
                .loaded(0..INSTRUCTIONS)
                .find(|(_, breakpoint)| is_at(breakpoint, pc)),
            // The access is repeated, and stops again if a current watchpoint covers it.
            Event::Data { .. } if core::mem::take(&mut self.moved) => None,
            Event::Data { address, write } => {
                self.loaded(INSTRUCTIONS..COUNT).min_by_key(|(_, it)| {
                    let fits = match it.access {
                        Access::Read => !write,
                        Access::Write => write,
                        Access::ReadWrite | Access::Execute => true,
                    };
                    (distance(it, address), !fits)
                })
            }
        };
        // There is none if another core has cleared it since.
        let (number, breakpoint) = hit?;
        self.passed |= 1 << number;
        self.update();
        let (reason, _) = breakpoint.access.words();
        Some(Fault::Debug {
            reason,
            address: breakpoint.address,
            number,
        })
    }

    /// The breakpoints of a range that stop the thread at its next instruction.
    fn loaded(&self, range: core::ops::Range<usize>) -> impl Iterator<Item = (usize, Breakpoint)> {
        range
            .filter(move |number| self.passed >> number & 1 == 0)
            .filter_map(move |number| Some((number, self.breakpoints[number]?)))
    }

    /// An instruction has been executed.
    fn stepped(&mut self) -> Option<Fault> {
        self.passed = 0;
        let counts = self.remaining != 0;
        self.remaining = self.remaining.saturating_sub(1);
        self.update();
        (counts && self.remaining == 0).then_some(Fault::Debug {
            reason: SINGLE_STEP,
            address: 0,
            number: 0,
        })
    }
}

/// The numbers of the ABI, with the end of the user addresses.
pub const fn numbers(address_end: usize) -> BreakpointNumbers {
    BreakpointNumbers {
        instruction: 0..INSTRUCTIONS,
        data: INSTRUCTIONS..COUNT,
        address_end,
    }
}
