//! System calls for debugging and benchmarks, which kernels of kind `release` do not have.

use abi::Syscall;
use abi::registers::{CAP, MESSAGE_REGISTERS};

use crate::Kernel;
use crate::arch::{Arch, Exit, UserContext};
use crate::cap::Cap;
use crate::console::debug_line;
use crate::object::Thread;
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Handles a debug or benchmark call; returns whether this kernel has it. The current thread continues.
    pub(super) fn handle_debug_syscall(&mut self, call: Syscall) -> bool {
        if !cfg!(any(feature = "debug", feature = "bench"))
            || call.number() >= Syscall::Yield.number()
        {
            return false;
        }
        let Some(thread) = self.core.current else {
            return false;
        };
        let argument = self[thread].context.get(CAP);
        match call {
            Syscall::DebugPutChar => A::put_byte(argument as u8),
            Syscall::DebugExit => {
                A::exit(if argument == 0 {
                    Exit::Success
                } else {
                    Exit::Failure
                });
            }
            Syscall::DebugHalt if cfg!(feature = "debug") => {
                debug_line::<A>(format_args!("kernel: halted by user level"));
                A::exit(Exit::Success);
            }
            Syscall::DebugCapIdentify if cfg!(feature = "debug") => {
                let tag = self.cap_at(thread, argument).tag();
                self[thread].context.set_result(CAP, tag.into());
            }
            Syscall::DebugNameThread => self.name(thread, argument),
            #[cfg(feature = "smp")]
            Syscall::DebugGetThreadAffinity if cfg!(feature = "debug") => {
                let found = self.lookup_thread(thread, argument);
                let core = found.map_or(usize::MAX, |found| self[found].core.into());
                self[thread].context.set_result(CAP, core);
            }
            #[cfg(feature = "debug")]
            Syscall::DebugDumpScheduler => self.print_threads(false),
            #[cfg(feature = "debug")]
            Syscall::DebugSnapshot => self.print_threads(true),
            _ if cfg!(feature = "bench")
                && self.handle_benchmark_syscall(thread, call, argument) => {}
            _ => return A::optional_syscall(self, call),
        }
        true
    }

    fn lookup_thread(&self, caller: Ptr<Thread<A>>, address: usize) -> Option<Ptr<Thread<A>>> {
        match Cap::decode(self.cap_at(caller, address)) {
            Cap::Thread(thread) => Some(thread),
            _ => None,
        }
    }

    /// Sets the name of a thread to the text at the start of the caller's message buffer.
    fn name(&mut self, caller: Ptr<Thread<A>>, address: usize) {
        let (Some(named), Some(buffer)) = (
            self.lookup_thread(caller, address),
            self.send_buffer(caller),
        ) else {
            return;
        };
        const _: () = assert!(MESSAGE_REGISTERS > 0);
        let mut name = self[named].name;
        let width = size_of::<usize>();
        let last = name.len() - 1;
        for (index, byte) in name.iter_mut().enumerate() {
            *byte = buffer.message(index / width).to_ne_bytes()[index % width];
        }
        name[last] = 0;
        self[named].name = name;
        self.trace_named(named);
    }

    /// Handles a benchmark call; returns whether it is one.
    fn handle_benchmark_syscall(
        &mut self,
        thread: Ptr<Thread<A>>,
        call: Syscall,
        argument: usize,
    ) -> bool {
        match call {
            Syscall::BenchmarkNullSyscall => {}
            Syscall::BenchmarkReadClock => {
                core::hint::black_box(self.arch.now());
            }
            Syscall::BenchmarkSetTimer => {
                let deadline = self.core.timer_deadline.time();
                self.arch.set_deadline(deadline);
            }
            Syscall::BenchmarkResetLog => {
                self.start_measuring();
                self[thread].context.set_result(CAP, 0);
            }
            Syscall::BenchmarkFinalizeLog => {
                let entries = self.stop_measuring();
                self[thread].context.set_result(CAP, entries);
            }
            Syscall::BenchmarkSetLogBuffer => {
                let result = match self.set_log(thread, argument) {
                    true => 0,
                    false => abi::ErrorCode::IllegalOperation as usize,
                };
                self[thread].context.set_result(CAP, result);
            }
            Syscall::BenchmarkGetThreadUtilisation => self.report_usage(thread, argument),
            Syscall::BenchmarkResetThreadUtilisation => {
                if let Some(measured) = self.lookup_thread(thread, argument) {
                    self.reset_usage(measured);
                }
            }
            _ => return false,
        }
        true
    }

    /// Writes the counters of a thread to the start of the caller's message buffer.
    fn report_usage(&mut self, caller: Ptr<Thread<A>>, address: usize) {
        let (Some(measured), Some(buffer)) = (
            self.lookup_thread(caller, address),
            self.receive_buffer(caller),
        ) else {
            return;
        };
        let words_per_counter = size_of::<u64>() / size_of::<usize>();
        for (index, counter) in self.usage_words(measured).into_iter().enumerate() {
            for part in 0..words_per_counter {
                let word = (counter >> (part * usize::BITS as usize)) as usize;
                buffer.set_message(index * words_per_counter + part, word);
            }
        }
    }
}
