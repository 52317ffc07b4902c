//! Kernel entries, and the passage of time.

use abi::registers::{CAP, DESTINATION, INFO, MESSAGE_REGISTERS, MR, REPLY, SYSCALL};
use abi::{IpcBuffer, MessageInfo, Syscall};
use kernel::Kernel;
use kernel::arch::{Irq, UserContext};
use kernel::cores::CoreHandle;
use kernel::object::{Fault, Thread};
use kernel::syscall::Interrupt;
use kernel::time::Ticks;
use kernel::token::Ptr;

use super::{BELL, Cause, Entry, Machine, Message, Slice, Task};
use crate::CPtr;
use crate::arch::Host;

/// The capability registers of a system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operands {
    /// The capability register.
    pub cap: CPtr,
    /// The reply register.
    pub reply: CPtr,
    /// The destination register of `NBSendRecv`.
    pub destination: CPtr,
}

impl Machine {
    /// The running task makes a system call. On return, all automatic consequences have happened.
    ///
    /// # Panics
    /// If the task does not run, or an invariant is violated.
    pub fn syscall(&mut self, task: Task, call: Syscall, operands: Operands, message: &Message) {
        self.prepare(task, operands, message);
        self.trap(task, call.number());
    }

    /// The running task makes a system call of any number, with its registers as they are.
    ///
    /// # Panics
    /// As [`Machine::syscall`].
    pub fn trap(&mut self, task: Task, number: usize) {
        self.expect_running(task);
        let context = &mut self.kernel[task.thread].context;
        context.set_result(SYSCALL, number);
        context.advance_to_syscall();
        self.settle();
    }

    /// The running task causes a fault.
    ///
    /// # Panics
    /// As [`Machine::syscall`].
    pub fn fault(&mut self, task: Task, fault: Fault) {
        self.expect_running(task);
        self.kernel[task.thread].context.enter_otherwise();
        self.note_entry(Cause::Fault);
        self.enter(|core| core.handle_fault(fault));
        self.settle();
    }

    /// The running task causes a fault that it will not cause again.
    ///
    /// # Panics
    /// As [`Machine::syscall`].
    pub fn debug_exception(&mut self, task: Task, fault: Fault) {
        self.expect_running(task);
        self.kernel[task.thread].context.enter_otherwise();
        self.note_entry(Cause::Fault);
        self.enter(|core| core.handle_debug_exception(|_| Some(fault)));
        self.settle();
    }

    /// If a task is about to restart its system call, another thread of its program overwrites that
    /// instruction, so that the task does something else first.
    pub fn divert(&mut self, task: Task) {
        let context = &mut self.kernel[task.thread].context;
        if context.is_at_syscall() {
            context.divert();
        }
    }

    /// A device raises its interrupt line.
    pub fn raise(&mut self, line: Irq) {
        self.kernel.arch.lines[line.0].raised = true;
        self.settle();
    }

    /// Lets time pass; the timer fires at its deadline.
    pub fn advance(&mut self, ticks: u64) {
        let target = self.kernel.arch.time.get() + Ticks(ticks);
        self.settle();
        while self.kernel.arch.time.get() < target {
            let now = self.kernel.arch.time.get();
            let next = self.next_deadline().max(now).min(target);
            self.note_slice(now, next);
            self.kernel.arch.time.set(next);
            self.settle();
        }
    }

    /// Lets time pass without a timer interrupt: the interrupt is late, and a fault or another interrupt comes first. For
    /// a system call see [`Machine::stall_before_call`].
    pub fn stall(&mut self, ticks: u64) {
        let now = self.kernel.arch.time.get();
        let end = now + Ticks(ticks);
        self.note_slice(now, end);
        self.kernel.arch.time.set(end);
    }

    /// Lets time pass before the next system call: the timer interrupt is late, and the call comes first.
    pub fn stall_before_call(&mut self, ticks: u64) {
        let mut left = ticks;
        self.before_calls = Some(Box::new(move |machine| {
            machine.stall(std::mem::take(&mut left));
        }));
    }

    /// Lets time pass until `done` holds.
    ///
    /// # Panics
    /// If it does not within ten million ticks.
    pub fn advance_until(&mut self, done: impl Fn(&Self) -> bool) {
        let end = self.now() + 10_000_000;
        while !done(self) {
            let now = self.now();
            let deadline = self.next_deadline().0;
            assert!(now < end && deadline < end, "the condition never holds");
            self.advance(deadline.saturating_sub(now).max(1));
        }
    }

    /// The time in ticks, which are microseconds.
    pub fn now(&self) -> u64 {
        self.kernel.arch.time.get().0
    }

    /// Does what happens without the test: interrupts are taken, and threads that were set back to a
    /// system call execute it again. Programs that write each other's `PC` may repeat this forever;
    /// so after a number of repetitions such a thread is left at its call.
    ///
    /// # Panics
    /// If the kernel itself never comes to rest.
    #[cfg(feature = "smp")]
    pub(super) fn settle(&mut self) {
        let (acting, mut sent) = (self.kernel.core.id, 0);
        loop {
            self.spread_time();
            let entries = self.entries;
            for core in 0..self.kernel.cores() {
                if core == acting || !self.others_are_late {
                    self.turn_to(core);
                    self.settle_core(&mut sent);
                }
            }
            self.turn_to(acting);
            if self.entries == entries {
                return;
            }
        }
    }

    /// The earliest timer deadline of all cores.
    #[cfg(feature = "smp")]
    fn next_deadline(&mut self) -> Ticks {
        if self.others_are_late {
            return self.kernel.arch.deadline;
        }
        let cores = 0..self.kernel.cores();
        let deadlines = cores.map(|core| self.kernel_of(core).arch.deadline);
        deadlines.min().unwrap_or(Ticks::NEVER)
    }

    #[cfg(not(feature = "smp"))]
    fn next_deadline(&self) -> Ticks {
        self.kernel.arch.deadline
    }

    #[cfg(not(feature = "smp"))]
    pub(super) fn settle(&mut self) {
        self.settle_core(&mut 0);
    }

    /// The same for the acting core. `sent` counts system calls at addresses that a program wrote.
    fn settle_core(&mut self, sent: &mut usize) {
        const MOST_SENT: usize = 16;
        for _ in 0..20_000 {
            if let Some(line) = self.kernel.arch.pending_line() {
                self.kernel.arch.lines[line.0].raised = false;
                self.interrupt(Interrupt::Line(line));
            } else if self.kernel.arch.timer_fires() {
                self.kernel.arch.deadline = Ticks::NEVER;
                self.interrupt(Interrupt::Timer);
            } else if !self.calls_are_slow && self.take_call() {
                continue;
            } else if let Some(thread) = self.kernel.core.current
                && self.kernel[thread].context.is_at_syscall()
            {
                *sent += usize::from(self.kernel[thread].context.was_sent());
                if *sent > MOST_SENT {
                    return;
                }
                if let Some(mut work) = self.before_calls.take() {
                    work(self);
                    self.before_calls = Some(work);
                    let context = &self.kernel[thread].context;
                    if self.kernel.core.current != Some(thread) || !context.is_at_syscall() {
                        continue;
                    }
                }
                self.kernel[thread].context.enter_syscall();
                if self.log.is_some() {
                    self.note_entry(self.call_of(thread));
                }
                self.enter(|core| {
                    core.enter().handle_syscall(Kernel::take_fast_path);
                });
            } else if self.take_call() {
                continue;
            } else {
                return;
            }
        }
        panic!("the machine does not come to rest");
    }

    pub(super) fn interrupt(&mut self, interrupt: Interrupt) {
        if let Some(thread) = self.kernel.core.current {
            self.kernel[thread].context.enter_otherwise();
        }
        self.note_entry(match interrupt {
            Interrupt::Line(line) => Cause::Line(line.0),
            _ => Cause::Timer,
        });
        self.enter(|core| core.enter().handle_interrupt(interrupt));
    }

    fn enter(&mut self, entry: impl FnOnce(&mut CoreHandle<Host>)) {
        let before = self.kernel.arch.time.get();
        let context = self.kernel.core.current_context;
        self.with_core(entry);
        self.entries += 1;
        let charged = self.kernel.core.consumed == Ticks::ZERO;
        if let Some(entry) = self.log.as_mut().and_then(|log| log.last_mut()) {
            entry.charged = charged;
        }
        // The kernel's own execution is charged to the context that was current at entry.
        if let (Some(context), Some(history)) = (context, &mut self.history) {
            let end = self.kernel.arch.time.get();
            add_slice(history, context.address(), before, end);
        }
        // Takes most of the time in Miri, which checks something else.
        if cfg!(not(miri)) {
            self.check();
        }
    }

    /// Lets this core enter the kernel, and does nothing else.
    pub fn with_core(&mut self, entry: impl FnOnce(&mut CoreHandle<Host>)) {
        let core = self.kernel.core.id;
        // SAFETY: the machine's reference to the kernel is not used during the entry, and is replaced after it.
        unsafe {
            entry(&mut self.place.kernels().handle(core));
            self.kernel = self.place.kernels().get(core);
        }
    }

    fn note_entry(&mut self, cause: Cause) {
        let (time, thread) = (self.now(), self.kernel.core.current);
        if let Some(log) = &mut self.log {
            log.push(Entry {
                time,
                thread,
                cause,
                charged: false,
            });
        }
    }

    /// The system call in a thread's registers and buffer.
    fn call_of(&self, thread: Ptr<Thread<Host>>) -> Cause {
        let register = |index| self.kernel[thread].context.get(index);
        let info = MessageInfo(register(INFO));
        let buffer = self.thread_buffer(thread);
        let words = (0..info.length()).map(|index| match (MR.get(index), buffer) {
            (Some(index), _) => register(*index),
            (None, Some(buffer)) => buffer.message[index],
            (None, None) => 0,
        });
        let caps = buffer.map_or(&[][..], |buffer| &buffer.caps_or_badges);
        let message = Message {
            label: info.label(),
            words: words.collect(),
            caps: caps.iter().copied().take(info.extra_caps()).collect(),
        };
        let operands = Operands {
            cap: register(CAP),
            reply: register(REPLY),
            destination: register(DESTINATION),
        };
        Cause::Call(register(SYSCALL), operands, message)
    }

    fn note_slice(&mut self, start: Ticks, end: Ticks) {
        if let (Some(context), Some(history)) =
            (self.kernel.core.current_context, &mut self.history)
        {
            add_slice(history, context.address(), start, end);
        }
    }

    /// Raises the bell line, which wakes the root task.
    pub(super) fn ring(&mut self) {
        self.raise(BELL);
    }

    pub(super) fn expect_running(&self, task: Task) {
        assert!(
            self.kernel.core.current == Some(task.thread),
            "{} can't act while {} runs",
            self.name(task),
            self.running(),
        );
    }

    /// Puts the operands of a system call into a task's registers and buffer.
    ///
    /// # Panics
    /// If the task was deleted.
    pub fn prepare(&mut self, task: Task, operands: Operands, message: &Message) {
        let Message { label, words, caps } = message;
        let info = MessageInfo::new(*label, caps.len(), words.len());
        let context = &mut self.kernel[task.thread].context;
        for (register, value) in [
            (CAP, operands.cap),
            (REPLY, operands.reply),
            (DESTINATION, operands.destination),
            (INFO, info.0),
        ] {
            context.set_result(register, value);
        }
        for (register, word) in MR.iter().zip(words) {
            context.set_result(*register, *word);
        }
        if let Some(buffer) = self.buffer_mut(task) {
            let in_buffer = words.len().max(MESSAGE_REGISTERS);
            buffer.message[MESSAGE_REGISTERS..in_buffer]
                .copy_from_slice(words.get(MESSAGE_REGISTERS..).unwrap_or_default());
            buffer.caps_or_badges[..caps.len()].copy_from_slice(caps);
        }
    }

    /// The IPC buffer of a task, as user memory.
    pub fn buffer_mut(&mut self, task: Task) -> Option<&mut IpcBuffer> {
        let address = self.buffer_address(task)?;
        // SAFETY: the buffer lies in a frame of the machine's memory, aligned to its size, and the
        // kernel does not run while the machine is borrowed.
        Some(unsafe { &mut *(address as *mut IpcBuffer) })
    }
}

fn add_slice(history: &mut Vec<Slice>, context: usize, start: Ticks, end: Ticks) {
    if start == end {
        return;
    }
    match history.last_mut() {
        Some(last) if last.context == context && last.end == start => last.end = end,
        _ => history.push(Slice {
            context,
            start,
            end,
        }),
    }
}
