//! The machine that runs programs: it simulates the cores, the devices and the passage of time.
//!
//! Each core runs its program or is in the kernel. Entries of the cores into the kernel happen one after the other, while
//! the programs of the other cores continue; so all cores agree about the time, and a run is reproducible.

mod events;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use abi::Syscall;
use abi::registers::{CAP, DESTINATION, INFO, MR, PC, REPLY, SYSCALL};
use host_machine::Machine;
use kernel::Kernel;
use kernel::arch::{Irq, UserContext};
use kernel::cap::Cap;
use kernel::cores::CoreHandle;
use kernel::object::{Fault, SchedContext, Thread, ThreadState};
use kernel::syscall::Interrupt;
use kernel::time::Ticks;
use kernel::token::Ptr;
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
    /// The number of cores, up to that for which the kernel was built: one, or with the feature `smp` four.
    pub cores: usize,
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
            cores: 1,
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
/// The core that takes the interrupts of devices, and runs the root task.
const FIRST: usize = 0;

impl Simulation {
    /// Boots a machine with `scenario` as its root task, and runs until that is done.
    ///
    /// # Panics
    /// If the scenario panics, or the kernel was built for fewer cores.
    pub fn new(scenario: impl FnOnce(&mut Setup) + 'static, options: Options) -> Self {
        let mut machine = Machine::with_memory_and_cores(MEMORY_BITS, options.cores);
        for core in 0..options.cores {
            machine.kernel_of(core).arch.fast_paths = options.fast_paths;
        }
        if options.trace > 0 {
            events::start(&mut machine, options.trace);
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
            history: History {
                cores: options.cores,
                ..History::default()
            },
            started: false,
        };
        simulation.machine.share();
        stage::enter(&simulation.stage);
        let program = Program::new(Rc::new(body), buffer as usize, 0);
        simulation.cast(root.thread, program);
        while !simulation.started {
            simulation.step(u64::MAX);
            let state = &simulation.machine.kernel[root.thread].state;
            simulation.started = matches!(state, ThreadState::Inactive);
        }
        for core in 0..options.cores {
            let arch = &mut simulation.machine.kernel_of(core).arch;
            arch.time_per_look = Ticks(options.kernel_time.max(1));
        }
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

    /// Simulates the next event, but none after `end`. Cores that have something to do take turns; until the root task is
    /// done, only its core does anything.
    fn step(&mut self, end: u64) {
        let now = self.now();
        let stage = self.stage.clone();
        while let Some(line) = stage.devices.borrow_mut().take_due(now) {
            self.machine.kernel_of(FIRST).arch.lines[line].raised = true;
            self.mark(None, format!("interrupt {line}"));
        }
        let (last, cores) = (self.machine.kernel.core.id, self.options.cores);
        for turn in 1..=cores {
            self.machine.turn_to(match self.started {
                true => (last + turn) % cores,
                false => FIRST,
            });
            if self.act() {
                return;
            }
        }
        let next = self.next_event(end);
        assert!(next < u64::MAX, "nothing will ever happen");
        self.pass(next);
    }

    /// Lets this core do what takes no time but the kernel's. Returns whether there was something: otherwise its program
    /// works, or it is idle.
    fn act(&mut self) -> bool {
        let host = &mut self.machine.kernel.arch;
        if let Some(line) = host.pending_line() {
            host.lines[line.0].raised = false;
            self.interrupt(Interrupt::Line(Irq(line.0)));
        } else if host.timer_fires() {
            host.deadline = Ticks::NEVER;
            self.interrupt(Interrupt::Timer);
        } else if self.started && self.machine.accept_call() {
            self.interrupt(Interrupt::Core);
        } else if let Some(thread) = self.machine.kernel.core.current {
            return self.go_on(thread);
        } else {
            return false;
        }
        true
    }

    /// Lets the current thread of this core do what takes no time but the kernel's. Returns whether there was something.
    fn go_on(&mut self, thread: Ptr<Thread<Host>>) -> bool {
        let number = self.numbers[&thread.address()];
        let now = self.now();
        let context = &mut self.machine.kernel[thread].context;
        let program = &mut self.programs[number];
        if context.is_at_syscall() {
            let call = Syscall::from_number(context.get(SYSCALL));
            context.enter_syscall();
            self.end_job(number, call);
            self.enter(|core| {
                core.enter().handle_syscall(Kernel::take_fast_path);
            });
            return true;
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
            return false;
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
        true
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
        let before = self.now();
        let own = self.machine.kernel.core.current;
        let own = own.map(|thread| self.numbers[&thread.address()]);
        let others: Vec<_> = self
            .working()
            .filter(|number| Some(*number) != own)
            .collect();
        self.machine.with_core(entry);
        self.machine.share();
        self.advance(&others, self.now() - before);
        self.history.entries += 1;
        if self.options.check {
            self.machine.check();
        }
        if self.started {
            self.observe();
        }
    }

    /// The time of the next event that no kernel entry causes: the end of a program's work, or an interrupt.
    fn next_event(&self, end: u64) -> u64 {
        let now = self.now();
        let timers = self.machine.kernels().map(|kernel| kernel.arch.deadline.0);
        let works = self
            .working()
            .map(|number| now + self.programs[number].work);
        let device = self.stage.devices.borrow().next();
        timers.chain(works).fold(device.min(end), u64::min).max(now)
    }

    /// Lets time pass, in which programs work.
    fn pass(&mut self, time: u64) {
        let working: Vec<_> = self.working().collect();
        self.advance(&working, time - self.now());
        self.machine.kernel.arch.time.set(Ticks(time));
        self.machine.share();
    }

    /// Takes a time off the work of programs.
    fn advance(&mut self, programs: &[usize], time: u64) {
        for number in programs {
            let work = &mut self.programs[*number].work;
            *work = work.saturating_sub(time);
        }
    }

    /// The programs that work.
    fn working(&self) -> impl Iterator<Item = usize> + '_ {
        let threads = self
            .machine
            .kernels()
            .filter_map(|kernel| kernel.core.current);
        let programs = threads.map(|thread| self.numbers[&thread.address()]);
        programs.filter(|number| self.programs[*number].work > 0)
    }

    fn mark(&mut self, actor: Option<usize>, text: String) {
        let time = self.now();
        self.history.marks.push(Mark { time, actor, text });
    }

    /// Records the current status of all threads.
    fn observe(&mut self) {
        let now = self.now();
        let running = self
            .machine
            .kernels()
            .filter_map(|kernel| kernel.core.current);
        let running: Vec<_> = running.collect();
        let kernel = &self.machine.kernel;
        for (number, thread) in self.threads.iter().skip(1).enumerate() {
            let status = status(kernel, &self.contexts, &running, *thread, now);
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
    running: &[Ptr<Thread<Host>>],
    thread: Ptr<Thread<Host>>,
    now: u64,
) -> Status {
    let running = running.contains(&thread);
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
