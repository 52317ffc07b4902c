//! Methods of threads for debuggers, in builds with the option `hwdebug`: breakpoints, single stepping.

use abi::breakpoint::{DATA, INSTRUCTION, READ, READ_WRITE, WRITE};
use abi::{Method, config};

use super::thread::reload_if_current;
use super::{Answer, Error, Invocation, Outcome};
use crate::Kernel;
use crate::arch::Arch;
use crate::object::{Access, Breakpoint, BreakpointNumbers, Thread};
use crate::token::Ptr;

/// Mask: the interface passes breakpoint numbers in 16 bits.
const NUMBER: usize = 0xffff;

impl<A: Arch> Invocation<A> {
    pub(super) fn invoke_breakpoint(
        &self,
        kernel: &mut Kernel<A>,
        thread: Ptr<Thread<A>>,
    ) -> Outcome {
        let Some(hardware) = A::BREAKPOINTS.filter(|_| config::HARDWARE_DEBUG) else {
            return Err(Error::IllegalOperation.into());
        };
        match self.method {
            Method::TcbSetBreakpoint => {
                let (number, breakpoint) = self.decode_breakpoint(kernel, &hardware)?;
                A::set_breakpoint(kernel, thread, number, Some(breakpoint))?;
                reload_if_current(kernel, thread);
                Ok(Answer::Nothing)
            }
            Method::TcbGetBreakpoint => {
                let number = self.breakpoint_number(kernel, &hardware)?;
                let breakpoint = A::breakpoint(kernel, thread, number);
                let enabled = breakpoint.is_some() as usize;
                let Breakpoint {
                    address,
                    size,
                    access,
                } = breakpoint.unwrap_or(Breakpoint {
                    address: 0,
                    size: 0,
                    access: Access::Execute,
                });
                let (kind, direction) = access.words();
                let words = [address, kind, size, direction, enabled, 0, 0, 0];
                Ok(Answer::Words(words, 5))
            }
            Method::TcbUnsetBreakpoint => {
                let number = self.breakpoint_number(kernel, &hardware)?;
                A::set_breakpoint(kernel, thread, number, None)?;
                reload_if_current(kernel, thread);
                Ok(Answer::Nothing)
            }
            Method::TcbConfigureSingleStepping => {
                self.require(2, 0)?;
                let number = self.word(kernel, 0) & NUMBER;
                let instructions = self.word(kernel, 1);
                let consumed = A::step(kernel, thread, Some(number), instructions)?;
                reload_if_current(kernel, thread);
                Ok(Answer::word(consumed as usize))
            }
            _ => Err(Error::IllegalOperation.into()),
        }
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
}

fn check_number(number: usize, hardware: &BreakpointNumbers) -> Result<usize, Error> {
    let maximum = hardware.instruction.end.max(hardware.data.end) - 1;
    if number > maximum {
        return Err(Error::range(0, maximum));
    }
    Ok(number)
}

impl<A: Arch> Invocation<A> {
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
        if address >= hardware.address_end {
            return Err(Error::InvalidArgument(1));
        }
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
        if ![0, 1, 2, 4, 8].contains(&size) {
            return Err(Error::InvalidArgument(3));
        }
        if size != 0 && !address.is_multiple_of(size) {
            return Err(Error::Alignment);
        }
        let number = check_number(number, hardware)?;
        let breakpoint = Breakpoint {
            address,
            size,
            access,
        };
        Ok((number, breakpoint))
    }
}
