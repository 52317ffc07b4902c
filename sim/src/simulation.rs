//! The machine that runs programs: it simulates the processor, the devices and the passage of time.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use abi::Syscall;
use abi::registers::{CAP, DESTINATION, INFO, MR, PC, REPLY, SYSCALL};
use host_machine::Machine;
use kernel::Kernel;
use kernel::arch::{Arch, Irq, UserContext};
use kernel::cap::Cap;
use kernel::cores::CoreHandle;
use kernel::object::{Fault, SchedContext, Thread, ThreadState};
use kernel::syscall::Interrupt;
use kernel::time::Ticks;
use kernel::token::Ptr;
use trace::{Answer, File};
use trace_format::{Detail, HEADER_BYTES, Kinds, Mode, ObjectId, RingReader, Settings};
use userlib::arch::Registers;
use userlib::{Capability, boot};

use crate::history::{Actor, History, Mark, Status};
use crate::program::{Program, Request, START};
use crate::setup::{NewThread, Setup};
use crate::stage::{self, Stage};

type Host = host_machine::arch::Host;

/// How to run a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of all random numbers.
    pub seed: u64,
    /// The cost of a kernel entry, in microseconds. At least 1, so that time advances even if a
    /// thread only makes system calls.
    pub kernel_time: u64,
    /// Whether to check the invariants after every kernel entry, which is slow.
    pub check: bool,
    /// The number of events that the trace has room for; zero: none are written.
    pub trace: usize,
    /// Whether the kernel takes its fast paths. While it writes a trace, it takes none.
    pub fast_paths: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            kernel_time: 1,
            check: false,
            trace: 0,
            fast_paths: true,
        }
    }
}

/// A scenario in progress.
pub struct Simulation {
    // Before the machine, so that values on the programs' stacks are dropped first.
    programs: Vec<Program>,
    threads: Vec<Ptr<Thread<Host>>>,
    numbers: HashMap<usize, usize>,
    contexts: HashMap<usize, usize>,
    /// The contexts of the threads.
    bound: Vec<Ptr<SchedContext<Host>>>,
    stage: Rc<Stage>,
    machine: Machine,
    options: Options,
    history: History,
    /// Whether the root task is done. Its actions are not recorded.
    started: bool,
}

/// Memory of the machine: log2 of the bytes.
const MEMORY_BITS: usize = 24;

impl Simulation {
    /// Boots a machine with `scenario` as its root task, and runs until that is done.
    ///
    /// # Panics
    /// If the scenario panics.
    pub fn new(scenario: impl FnOnce(&mut Setup) + 'static, options: Options) -> Self {
        let mut machine = Machine::with_memory(MEMORY_BITS);
        machine.kernel.arch.fast_paths = options.fast_paths;
        if options.trace > 0 {
            start_tracing(&mut machine, options.trace);
        }
        let root = machine.root;
        let buffer: *const abi::IpcBuffer = machine.buffer_mut(root).expect("it has one");
        let boot_info = Rc::new(machine.boot_info.clone());
        let scenario = Cell::new(Some(scenario));
        let body = move || {
            let mut setup = Setup::new(&boot_info, options.seed);
            let scenario = scenario.take().expect("the root task starts once");
            scenario(&mut setup);
            // It is never resumed.
            boot::TCB.suspend().expect("a thread can suspend itself");
        };
        machine.kernel[root.thread].context.set(PC, START);
        let mut simulation = Self {
            programs: Vec::new(),
            threads: Vec::new(),
            numbers: HashMap::new(),
            contexts: HashMap::new(),
            bound: Vec::new(),
            stage: Rc::default(),
            machine,
            options,
            history: History::default(),
            started: false,
        };
        stage::enter(&simulation.stage);
        let program = Program::new(Rc::new(body), buffer as usize, 0);
        simulation.cast(root.thread, program);
        while !simulation.started {
            simulation.step(u64::MAX);
            let state = &simulation.machine.kernel[root.thread].state;
            simulation.started = matches!(state, ThreadState::Inactive);
        }
        simulation.machine.kernel.arch.time_per_look = Ticks(options.kernel_time.max(1));
        simulation.observe();
        simulation
    }

    /// Runs until a time, in microseconds.
    ///
    /// # Panics
    /// If a program of the scenario panics, or an invariant is violated.
    pub fn run_until(&mut self, end: u64) {
        stage::enter(&self.stage);
        while self.now() < end {
            self.step(end);
        }
        self.history.end = self.now();
    }

    /// Changes the state of the kernel, of which the scenario's threads are given in their order: a negative control of
    /// what watches it. From then on, the kernel does not check its invariants.
    pub fn tamper(&mut self, change: impl FnOnce(&mut Kernel<Host>, &[Ptr<Thread<Host>>])) {
        self.machine.kernel.instruments.watch.is_ignored = true;
        change(self.machine.kernel, &self.threads[1..]);
    }

    /// The record so far.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The trace so far, if events are written.
    pub fn trace(&self) -> Option<File> {
        let kernel = &self.machine.kernel;
        let mut ring: Vec<u8> = kernel.trace()?.collect();
        let reader = RingReader::new(&ring).expect("the kernel has written it");
        let events = reader.written.min(reader.capacity) as usize;
        // Memory that was never used is left out.
        ring.truncate(HEADER_BYTES + events * reader.settings.detail.bytes());
        let threads = self.threads.iter().skip(1);
        let threads = threads.map(|thread| ObjectId::of(thread.address()));
        let contexts = self.contexts.iter();
        let contexts = contexts.map(|(address, actor)| (ObjectId::of(*address), *actor));
        let name = |(id, actor): (ObjectId, usize)| (id, self.history.actors[actor].name.clone());
        let mut answers: Vec<_> = self.context_answers().collect();
        answers.sort_by_key(|answer| answer.context);
        let mut names: Vec<_> = threads.zip(0..).chain(contexts).map(name).collect();
        names.sort();
        Some(File {
            platform: "simulator".to_string(),
            rings: vec![ring],
            end: Some(self.now()),
            names,
            answers,
        })
    }

    /// What the kernel would answer if it were asked now how much was consumed from each context.
    fn context_answers(&self) -> impl Iterator<Item = Answer> + '_ {
        let kernel = &self.machine.kernel;
        self.bound.iter().map(|context| {
            let is_current = kernel.core.current_context == Some(*context);
            let uncharged = if is_current {
                kernel.core.consumed
            } else {
                Ticks::ZERO
            };
            Answer {
                context: ObjectId::of(context.address()),
                consumed: (kernel[*context].consumed + uncharged).0,
            }
        })
    }

    fn now(&self) -> u64 {
        self.machine.now()
    }

    /// Adds a program, as the body of a kernel thread.
    fn cast(&mut self, thread: Ptr<Thread<Host>>, program: Program) {
        self.numbers.insert(thread.address(), self.programs.len());
        self.programs.push(program);
        self.threads.push(thread);
    }

    /// Adds the threads that the root task has made.
    fn cast_new(&mut self) {
        for new in self.stage.spawned.take() {
            let NewThread { tcb, context, .. } = new;
            let Cap::Thread(thread) = self.machine.cap(tcb.cptr().0) else {
                panic!("{} was deleted at once", new.name);
            };
            // Random numbers that depend on the seed and the number of the thread.
            let number = self.programs.len() as u128;
            let seed = u128::from(self.options.seed) << 64 | number;
            if let Cap::SchedContext { object, .. } = self.machine.cap(context.cptr().0) {
                self.contexts
                    .insert(object.address(), self.history.actors.len());
                self.bound.push(object);
            }
            self.history.actors.push(Actor {
                name: new.name,
                priority: new.priority,
                time: new.time,
                changes: Vec::new(),
                jobs: Vec::new(),
                used_up: Vec::new(),
                waits: true,
                has_begun: false,
            });
            self.cast(thread, Program::new(new.body, new.buffer, seed));
        }
    }

    /// Simulates the next event, but none after `end`.
    fn step(&mut self, end: u64) {
        let now = self.now();
        let stage = self.stage.clone();
        while let Some(line) = stage.devices.borrow_mut().take_due(now) {
            self.machine.kernel.arch.lines[line].raised = true;
            self.mark(None, format!("interrupt {line}"));
        }
        let host = &mut self.machine.kernel.arch;
        if let Some(line) = host.pending_line() {
            host.lines[line.0].raised = false;
            self.interrupt(Interrupt::Line(Irq(line.0)));
        } else if host.timer_fires() {
            host.deadline = Ticks::NEVER;
            self.interrupt(Interrupt::Timer);
        } else if let Some(thread) = self.machine.kernel.core.current {
            self.go_on(thread, end);
        } else {
            let next = self.next_event(end);
            assert!(next < u64::MAX, "nothing will ever happen");
            self.pass(next);
        }
    }

    /// Runs the current thread to its next event.
    fn go_on(&mut self, thread: Ptr<Thread<Host>>, end: u64) {
        let number = self.numbers[&thread.address()];
        let (now, next) = (self.now(), self.next_event(end));
        let context = &mut self.machine.kernel[thread].context;
        let program = &mut self.programs[number];
        if context.is_at_syscall() {
            let call = Syscall::from_number(context.get(SYSCALL));
            context.enter_syscall();
            self.end_job(number, call);
            return self.enter(CoreHandle::handle_syscall);
        }
        if context.next_pc() == START {
            let starts_again = program.restart();
            context.set(PC, START + 1);
            if let Some(actor) = number.checked_sub(1)
                && starts_again
            {
                self.history.actors[actor].begin_job(now);
            }
        }
        if program.work > 0 {
            let step = program.work.min(next - now);
            program.work -= step;
            return self.pass(now + step);
        }
        let registers = results(context);
        self.stage.now.set(now);
        self.stage.actor.replace(Some(program.actor.clone()));
        let request = program.resume(registers);
        self.stage.actor.replace(None);
        self.cast_new();
        for note in self.stage.notes.take() {
            self.mark(number.checked_sub(1), note);
        }
        self.perform(thread, number, request);
    }

    fn perform(&mut self, thread: Ptr<Thread<Host>>, number: usize, request: Request) {
        let context = &mut self.machine.kernel[thread].context;
        match request {
            Request::Work(time) => self.programs[number].work = time,
            Request::Syscall(Syscall::DebugPutChar, registers) => {
                print!("{}", char::from(registers.cap as u8));
            }
            Request::Syscall(call, registers) => {
                for (register, value) in [
                    (SYSCALL, call.number()),
                    (CAP, registers.cap),
                    (INFO, registers.info),
                    (REPLY, registers.reply),
                    (DESTINATION, registers.destination),
                ] {
                    context.set_result(register, value);
                }
                for (register, word) in MR.iter().zip(registers.words) {
                    context.set_result(*register, word);
                }
                context.advance_to_syscall();
            }
            Request::Unknown(call, argument) => {
                context.set_result(SYSCALL, call);
                context.set_result(CAP, argument);
                context.advance_to_syscall();
            }
            Request::Fault => {
                context.enter_otherwise();
                let fault = Fault::UserException {
                    number: 13,
                    code: 0,
                };
                self.enter(|core| core.handle_fault(fault));
            }
        }
    }

    fn interrupt(&mut self, interrupt: Interrupt) {
        if let Some(thread) = self.machine.kernel.core.current {
            self.machine.kernel[thread].context.enter_otherwise();
        }
        self.enter(|core| core.enter().handle_interrupt(interrupt));
    }

    fn enter(&mut self, entry: impl FnOnce(&mut CoreHandle<Host>)) {
        self.machine.with_core(entry);
        self.history.entries += 1;
        if self.options.check {
            self.machine.check();
        }
        if self.started {
            self.observe();
        }
    }

    /// The time of the next event that no program causes.
    fn next_event(&self, end: u64) -> u64 {
        let timer = self.machine.kernel.arch.deadline.0;
        let device = self.stage.devices.borrow().next();
        timer.min(device).min(end).max(self.now())
    }

    fn pass(&mut self, time: u64) {
        self.machine.kernel.arch.time.set(Ticks(time));
    }

    fn mark(&mut self, actor: Option<usize>, text: String) {
        let time = self.now();
        self.history.marks.push(Mark { time, actor, text });
    }

    /// Records the current status of all threads.
    fn observe(&mut self) {
        let (now, kernel) = (self.now(), &self.machine.kernel);
        for (number, thread) in self.threads.iter().skip(1).enumerate() {
            let status = status(kernel, &self.contexts, *thread, now);
            let actor = &self.history.actors[number];
            if let (Some(Status::Runs(Some(owner))), Status::Starved) = (actor.status(), status)
                && !actor.waits
            {
                self.history.actors[owner].used_up.push(now);
            }
            self.history.actors[number].set(now, status);
        }
    }

    /// Ends the job of a thread that makes a system call, if it is one that ends jobs.
    fn end_job(&mut self, number: usize, call: Option<Syscall>) {
        let yields = match call {
            Some(Syscall::Yield) => true,
            Some(
                Syscall::ReplyRecv
                | Syscall::NBSendRecv
                | Syscall::NBSendWait
                | Syscall::Recv
                | Syscall::Wait,
            ) => false,
            _ => return,
        };
        let now = self.now();
        if let Some(actor) = number.checked_sub(1) {
            self.history.actors[actor].end_job(now, yields);
        }
    }
}

/// Lets the kernel write events from now on. Their memory is never freed, like that of a board.
fn start_tracing(machine: &mut Machine, events: usize) {
    let settings = Settings {
        core: 0,
        detail: Detail::Full,
        kinds: Kinds::ALL,
        mode: Mode::Stop,
        frequency: machine.kernel.arch.clock().frequency(),
    };
    let bytes = HEADER_BYTES + events.max(1) * settings.detail.bytes();
    let memory = Box::leak(vec![0; bytes.div_ceil(8)].into_boxed_slice());
    let started = machine.kernel.start_tracing(memory, settings);
    assert!(started, "there is room for an event");
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // Programs are unwound with the stage entered, because destructors may use it.
        stage::enter(&self.stage);
        self.programs.clear();
    }
}

/// The content of a thread's registers after a system call.
fn results(context: &impl UserContext) -> Registers {
    let mut registers = Registers {
        cap: context.get(CAP),
        info: context.get(INFO),
        ..Registers::default()
    };
    for (word, register) in registers.words.iter_mut().zip(MR) {
        *word = context.get(register);
    }
    registers
}

fn status(
    kernel: &Kernel<Host>,
    contexts: &HashMap<usize, usize>,
    thread: Ptr<Thread<Host>>,
    now: u64,
) -> Status {
    let running = kernel.core.current == Some(thread);
    let thread = &kernel[thread];
    match (&thread.state, thread.sched_context) {
        (ThreadState::Inactive, _) => Status::Stopped,
        _ if !thread.is_runnable() => Status::Blocked,
        (_, None) => Status::Timeless,
        (_, Some(context)) if running => Status::Runs(contexts.get(&context.address()).copied()),
        (_, Some(context)) if !kernel[context].is_configured() => Status::Timeless,
        (_, Some(context)) if kernel[context].head().time.0 > now => Status::Starved,
        _ => Status::Ready,
    }
}
