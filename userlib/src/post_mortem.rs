//! Fault reports in plain language.
//!
//! A report is one line of a fixed form, so that the tool can add the names of functions to its addresses:
//! `post-mortem PROGRAM: WORDS, pc 0x…, address 0x…`.

use crate::cap::{Endpoint, Reply, SchedParameters};
use crate::environment::PAGE;
use crate::thread::ThreadParameters;
use crate::{Environment, Fault, Microseconds, Result, arch, println, runtime};
use core::fmt;
use core::ops::Range;

/// Below a stack is at least one unmapped page. The frame of a function may be larger, so an access up to
/// this many bytes below the stack counts as an overflow, too.
const GUARD: usize = 4 * PAGE;

/// The failure of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostMortem<'a> {
    /// The name of the program.
    pub program: &'a str,
    /// The fault of one of its threads.
    pub fault: Fault,
    /// The stack of that thread; empty if it is not known.
    pub stack: Range<usize>,
}

impl PostMortem<'_> {
    fn is_overflow(&self, address: usize) -> bool {
        (self.stack.start.saturating_sub(GUARD)..self.stack.start).contains(&address)
    }

    /// Description of the access of the thread to the memory at `address`.
    fn access(&self, address: usize, instruction: bool, status: usize) -> &'static str {
        let access = arch::memory_access(status);
        match (instruction, access.forbidden, access.write) {
            (true, ..) if address < PAGE => "call of a null pointer",
            (true, true, _) => "jump to memory that is no code",
            (true, false, _) => "jump to memory that is not mapped",
            _ if self.is_overflow(address) => "stack overflow",
            (false, _, true) if address < PAGE => "write through a null pointer",
            (false, _, false) if address < PAGE => "read through a null pointer",
            (false, true, true) => "write to read-only memory",
            (false, true, false) => "read of memory that it may not read",
            (false, false, true) => "write to memory that is not mapped",
            (false, false, false) => "read of memory that is not mapped",
        }
    }

    /// Description of the fault.
    pub fn words(&self) -> &'static str {
        match self.fault {
            Fault::Memory {
                address,
                instruction,
                status,
                ..
            } => self.access(address, instruction, status),
            Fault::UserException { number, .. } => arch::exception(number),
            Fault::UnknownSyscall { .. } => "unknown system call",
            Fault::Capability { .. } => "no capability to receive from",
            Fault::Debug { .. } => "breakpoint",
            Fault::Timeout { .. } => "its budget is used up",
            Fault::Other(_) => "unknown fault",
        }
    }
}

impl fmt::Display for PostMortem<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "post-mortem {}: {}", self.program, self.words())?;
        match self.fault {
            Fault::Memory { pc, address, .. } => {
                write!(out, ", pc {pc:#x}, address {address:#x}")
            }
            Fault::UserException {
                pc,
                sp,
                number,
                code,
                ..
            } => write!(
                out,
                ", pc {pc:#x}, sp {sp:#x}, number {number:#x}, code {code:#x}"
            ),
            Fault::UnknownSyscall { pc, number, .. } => {
                write!(out, " {}, pc {pc:#x}", number.cast_signed())
            }
            Fault::Capability { pc, address, .. } => {
                write!(out, ", pc {pc:#x}, slot {address:#x}")
            }
            Fault::Debug { pc, trigger, .. } => {
                write!(out, ", pc {pc:#x}, address {trigger:#x}")
            }
            Fault::Timeout { consumed, .. } => write!(out, " after {consumed}"),
            Fault::Other(label) => write!(out, ", label {label}"),
        }
    }
}

/// Scheduling parameters of the thread that waits for a fault of the root task: enough to print a line.
const TIME: SchedParameters =
    SchedParameters::new(Microseconds::from_millis(5), Microseconds::from_millis(50));

impl Environment {
    /// Makes a fault of the root task's first thread print a report and end the run as failed. Without this,
    /// its other threads and components would continue.
    pub fn end_with_root_task(&mut self, program: &'static str) -> Result {
        let faults: Endpoint = self.allocator.create()?;
        let reply: Reply = self.allocator.create()?;
        let parameters = ThreadParameters {
            priority: u8::MAX,
            time: Some(TIME),
            fault_endpoint: crate::CPtr::NULL,
        };
        let thread = self.spawn(&parameters, move || {
            if let Some(message) = faults.recv(reply).message {
                let post_mortem = PostMortem {
                    program,
                    fault: Fault::from_message(&message),
                    stack: runtime::stack(),
                };
                println!("{post_mortem}");
            }
            runtime::exit(1)
        })?;
        thread.set_name("post-mortem");
        let cnode = self.allocator.cnode();
        self.tcb.set_space(faults, cnode, 0, self.vspace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: Range<usize> = 0x40_0000..0x41_0000;
    /// Error code bits: user access; page present; write access.
    const USER: usize = 4;
    const PRESENT: usize = 1;
    const WRITE: usize = 2;

    fn told(fault: Fault) -> String {
        let post_mortem = PostMortem {
            program: "demo",
            fault,
            stack: STACK,
        };
        post_mortem.to_string()
    }

    fn access(address: usize, instruction: bool, status: usize) -> String {
        let line = told(Fault::Memory {
            pc: 0x4a_b123,
            address,
            instruction,
            status: USER | status,
        });
        let end = format!(", pc 0x4ab123, address {address:#x}");
        let words = line.strip_prefix("post-mortem demo: ").unwrap();
        words.strip_suffix(&end).expect(&line).to_string()
    }

    #[test]
    fn accesses_have_words() {
        for (address, instruction, status, words) in [
            (0x3f_fff8, false, WRITE, "stack overflow"),
            (0x3f_c000, false, 0, "stack overflow"),
            (0x3f_bff8, false, 0, "read of memory that is not mapped"),
            (
                0x41_0000,
                false,
                WRITE,
                "write to memory that is not mapped",
            ),
            (0x8, false, 0, "read through a null pointer"),
            (0x8, false, WRITE, "write through a null pointer"),
            (
                0x50_0000,
                false,
                WRITE | PRESENT,
                "write to read-only memory",
            ),
            (
                0x50_0000,
                false,
                PRESENT,
                "read of memory that it may not read",
            ),
            (0, true, 0, "call of a null pointer"),
            (0x50_0000, true, 0, "jump to memory that is not mapped"),
            (0x50_0000, true, PRESENT, "jump to memory that is no code"),
        ] {
            assert_eq!(access(address, instruction, status), words, "{address:#x}");
        }
    }

    #[test]
    fn without_a_stack_there_is_no_overflow() {
        let post_mortem = PostMortem {
            program: "demo",
            fault: Fault::Timeout {
                badge: 1,
                consumed: Microseconds(1_500),
                more: None,
            },
            stack: 0..0,
        };
        assert!(!post_mortem.is_overflow(0) && !post_mortem.is_overflow(usize::MAX));
        let line = "post-mortem demo: its budget is used up after 1.500 ms";
        assert_eq!(post_mortem.to_string(), line);
    }

    #[test]
    fn other_faults_have_words() {
        let line = told(Fault::UserException {
            pc: 0x4a_b123,
            sp: 0x40_ff00,
            flags: 0,
            number: 6,
            code: 0,
        });
        let words = "undefined instruction, pc 0x4ab123, sp 0x40ff00, number 0x6, code 0x0";
        assert_eq!(line, format!("post-mortem demo: {words}"));
        let line = told(Fault::UnknownSyscall {
            pc: 0x4a_b123,
            number: 7usize.wrapping_neg(),
            argument: 0,
        });
        let words = "unknown system call -7, pc 0x4ab123";
        assert_eq!(line, format!("post-mortem demo: {words}"));
    }
}
