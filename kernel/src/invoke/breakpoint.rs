//! Methods of threads for debuggers, in builds with the option `hwdebug`: breakpoints, single stepping.

use abi::breakpoint::{DATA, INSTRUCTION, READ, READ_WRITE, WRITE};
use abi::{Method, config};

use super::thread::reload_if_current;
use super::{Answer, Error, Invocation, Outcome, ensure};
use crate::arch::Arch;
use crate::object::{Access, Breakpoint, BreakpointNumbers, Thread};
use crate::token::Ptr;
use crate::{ExclusiveKernel, Kernel};

/// Mask: the interface passes breakpoint numbers in 16 bits.
const NUMBER: usize = 0xffff;

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_breakpoint(
        &self,
        kernel: &mut ExclusiveKernel<A>,
        thread: Ptr<Thread<A>>,
    ) -> Outcome {
        let numbers = if config::HARDWARE_DEBUG {
            kernel.arch.breakpoint_numbers()
        } else {
            None
        };
        let hardware = numbers.ok_or(Error::IllegalOperation)?;
        match self.method {
            Method::TcbSetBreakpoint => {
                let (number, breakpoint) = self.decode_breakpoint(kernel, &hardware)?;
                A::set_breakpoint(kernel, thread, number, Some(breakpoint))?;
            }
            Method::TcbGetBreakpoint => {
                let number = self.breakpoint_number(kernel, &hardware)?;
                let found = A::breakpoint(kernel, thread, number);
                let enabled = found.is_some() as usize;
                let found = found.unwrap_or_default();
                let (kind, direction) = found.access.words();
                let words = [found.address, kind, found.size, direction, enabled, 0, 0, 0];
                return Ok(Answer::Words(words, 5));
            }
            Method::TcbUnsetBreakpoint => {
                let number = self.breakpoint_number(kernel, &hardware)?;
                A::set_breakpoint(kernel, thread, number, None)?;
            }
            Method::TcbConfigureSingleStepping => {
                self.require(2, 0)?;
                let number = self.word(kernel, 0) & NUMBER;
                let instructions = self.word(kernel, 1);
                let consumed = A::step(kernel, thread, Some(number), instructions)?;
                reload_if_current(kernel, thread);
                return Ok(Answer::word(consumed as usize));
            }
            _ => return Err(Error::IllegalOperation.into()),
        }
        reload_if_current(kernel, thread);
        Ok(Answer::Nothing)
    }

    /// The breakpoint number in message word 0.
    fn breakpoint_number(
        &self,
        kernel: &Kernel<A>,
        hardware: &BreakpointNumbers,
    ) -> Result<usize, Error> {
        self.require(1, 0)?;
        check_number(self.word(kernel, 0) & NUMBER, hardware)
    }

    /// The breakpoint that a message describes. The checks are in the ABI's order.
    fn decode_breakpoint(
        &self,
        kernel: &Kernel<A>,
        hardware: &BreakpointNumbers,
    ) -> Result<(usize, Breakpoint), Error> {
        self.require(5, 0)?;
        let [number, address, kind, size, direction] =
            [0, 1, 2, 3, 4].map(|index| self.word(kernel, index));
        let number = number & NUMBER;
        let is_data_only = number >= hardware.data.start;
        let shared = hardware.data.start == hardware.instruction.start;
        ensure(address < hardware.address_end, Error::InvalidArgument(1))?;
        let access = match kind {
            INSTRUCTION if size != 0 => return Err(Error::InvalidArgument(3)),
            INSTRUCTION if direction != READ => return Err(Error::InvalidArgument(4)),
            INSTRUCTION if is_data_only && !shared => return Err(Error::InvalidArgument(2)),
            INSTRUCTION => Access::Execute,
            DATA if size == 0 => return Err(Error::InvalidArgument(3)),
            DATA if !is_data_only && !shared => return Err(Error::InvalidArgument(2)),
            DATA => match direction {
                READ => Access::Read,
                WRITE => Access::Write,
                READ_WRITE => Access::ReadWrite,
                _ => return Err(Error::InvalidArgument(3)),
            },
            _ => return Err(Error::InvalidArgument(2)),
        };
        ensure([0, 1, 2, 4, 8].contains(&size), Error::InvalidArgument(3))?;
        ensure(size == 0 || address.is_multiple_of(size), Error::Alignment)?;
        let number = check_number(number, hardware)?;
        let breakpoint = Breakpoint {
            address,
            size,
            access,
        };
        Ok((number, breakpoint))
    }
}

fn check_number(number: usize, hardware: &BreakpointNumbers) -> Result<usize, Error> {
    let maximum = hardware.instruction.end.max(hardware.data.end) - 1;
    ensure(number <= maximum, Error::range(0, maximum))?;
    Ok(number)
}
