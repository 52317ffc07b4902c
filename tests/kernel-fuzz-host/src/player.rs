//! Plays a history and checks the kernel's behaviour.

use std::cell::RefCell;

use abi::registers::{CAP, DESTINATION, INFO, MR, REPLY};
use abi::{ErrorCode, Method, Syscall, WORD_BITS};
use host_machine::arch::Host;
use host_machine::machine::Operands;
use host_machine::{Machine, Message, Task, answer, census};
use kernel::arch::{Irq, UserContext};
use kernel::cap::{Cap, RawCap};
use kernel::object::{Fault, ThreadSlot};
use kernel::time::Ticks;

use crate::input::{Bytes, Call, Step};
use crate::ledger::Ledger;
use crate::system::TestSystem;

/// The maximum number of steps played; more would only take time.
const MAX_STEPS: usize = 200;
/// The longest time that passes in one step, in microseconds.
const LONGEST: u64 = 20_000;

/// A negative control: a deliberate fault, made in the kernel's state, that the checks must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Defect {
    /// The unmodified kernel.
    None,
    /// A method that fails leaves a capability behind.
    KeepsCopy,
    /// A method that fails has changed the caller's maximum controlled priority.
    KeepsPriority,
    /// An error has a number that the interface does not define.
    UnknownError,
    /// Binding a context to a thread does not update the thread.
    ForgetsBinding,
}

/// Plays the history that `input` encodes.
///
/// # Panics
/// If the kernel violates an invariant or its interface.
pub fn play(input: &[u8]) -> Ledger {
    play_with(input, Defect::None)
}

/// The same with a negative control.
///
/// # Panics
/// As [`play`].
pub fn play_with(input: &[u8], defect: Defect) -> Ledger {
    thread_local! {
        static SYSTEM: RefCell<Option<TestSystem>> = const { RefCell::new(None) };
    }
    SYSTEM.with_borrow_mut(|kept| {
        // Taken out, so that a machine in which a check failed is not used again.
        let mut system = kept.take().unwrap_or_default();
        system.restart();
        let ledger = Player::new(&mut system, defect).play(Bytes(input));
        *kept = Some(system);
        ledger
    })
}

/// The interrupt line that a number in the input stands for.
const fn line(number: usize) -> Irq {
    Irq(1 + number % 3)
}

struct Player<'a> {
    machine: &'a mut Machine,
    tasks: [Task; 5],
    defect: Defect,
    ledger: Ledger,
}

impl<'a> Player<'a> {
    fn new(system: &'a mut TestSystem, defect: Defect) -> Self {
        let ledger = Ledger::default();
        Self {
            machine: &mut system.machine,
            tasks: system.tasks,
            defect,
            ledger,
        }
    }

    fn play(mut self, mut bytes: Bytes<'_>) -> Ledger {
        let setting = bytes.byte().unwrap_or_default();
        let arch = &mut self.machine.kernel.arch;
        arch.time_per_look = Ticks((setting & 3).into());
        arch.fast_paths = setting & 4 == 0;
        arch.reads_clock_in_fast_paths = setting & 8 == 0;
        for _ in 0..MAX_STEPS {
            let Some(step) = bytes.step() else { break };
            if self.machine.current().is_none() {
                self.machine.advance(1_000);
            }
            match self.machine.current() {
                // The root task is not under the input's control. It runs only if the program took
                // over its bell.
                Some(task) if task.thread == self.machine.root.thread => break,
                Some(task) => self.step(task, &step),
                // Only an interrupt can wake a thread.
                None => {
                    if let Step::Interrupt(number) = step {
                        self.machine.raise(line(number));
                    }
                }
            }
            for task in self.tasks {
                let kernel = &*self.machine.kernel;
                self.ledger.limits.look(kernel, task.thread);
            }
        }
        self.ledger.entries = self.machine.entries;
        self.ledger
    }

    fn step(&mut self, task: Task, step: &Step) {
        let machine = &mut *self.machine;
        let time = |time: usize| (time as u64).min(LONGEST);
        match step {
            Step::Call(call) => self.call(task, call),
            Step::Registers(registers) => {
                let [number, operands @ ..] = *registers;
                let places = [CAP, REPLY, DESTINATION, INFO].iter().chain(&MR);
                let context = &mut machine.kernel[task.thread].context;
                for (place, value) in places.zip(operands) {
                    context.set_result(*place, value);
                }
                self.ledger.note_call(number);
                machine.trap(task, number);
            }
            Step::Receive(place) => {
                if let Some(buffer) = machine.buffer_mut(task) {
                    let [cnode, index, depth] = *place;
                    buffer.receive_cnode = cnode;
                    buffer.receive_index = index;
                    buffer.receive_depth = depth;
                }
            }
            Step::Fault => machine.fault(
                task,
                Fault::UserException {
                    number: 13,
                    code: 0,
                },
            ),
            Step::Time(ticks) => machine.advance(time(*ticks)),
            Step::Late(ticks) => machine.stall(time(*ticks)),
            Step::Interrupt(number) => machine.raise(line(*number)),
            Step::Ambush(looks, number) => {
                machine.kernel.arch.ambush = Some((*looks % 64, line(*number)));
            }
        }
    }

    fn call(&mut self, task: Task, call: &Call) {
        let number = usize::from(call.number).wrapping_neg();
        let is_method = number == Syscall::Call.number() && self.is_object(task, call.cap);
        let entries = self.machine.entries;
        let holdings = is_method.then(|| self.holdings());
        let message = Message::new(call.label % (1 << (WORD_BITS - 12)), &call.words);
        let operands = Operands {
            cap: call.cap,
            reply: call.reply,
            destination: call.destination,
        };
        self.ledger.note_call(number);
        self.machine
            .prepare(task, operands, &message.with_caps(&call.caps));
        self.machine.trap(task, number);
        if is_method {
            self.judge(task, call, entries, holdings.unwrap_or_default());
        }
    }

    /// Checks the result of a method call.
    fn judge(&mut self, task: Task, call: &Call, entries: usize, before: Holdings) {
        // A thread that does not run any more gets the result later, or never.
        if !self.machine.runs(task) {
            self.ledger.note_method(call.label, false);
            return;
        }
        let label = self.machine.register(task, INFO) >> 12;
        self.spoil(task, call, label != 0);
        let label = self.machine.register(task, INFO) >> 12;
        self.ledger.note_method(call.label, label == 0);
        assert!(
            ErrorCode::from_number(label).is_some(),
            "{label} is no answer to {call:?}"
        );
        if self.machine.buffer_mut(task).is_some() {
            // Checks that an error has the words of its kind.
            let _ = answer(self.machine.received(task));
        }
        // With another kernel entry, more has happened: an interrupt, or the end of a slice.
        if label != 0 && self.machine.entries == entries + 1 {
            assert_eq!(
                before,
                self.holdings(),
                "{call:?} failed with {label}, and something has changed"
            );
        }
    }

    /// Whether a capability address refers to an object with methods, rather than to one that is sent
    /// messages.
    fn is_object(&self, task: Task, address: usize) -> bool {
        let kernel = &self.machine.kernel;
        let space = kernel[task.thread].cap(ThreadSlot::CSpace);
        let slot = kernel.lookup_cap(space, address);
        slot.is_ok_and(|slot| {
            !matches!(
                kernel[slot].cap(),
                Cap::Null
                    | Cap::Endpoint(_)
                    | Cap::Notification(_)
                    | Cap::Reply { .. }
                    | Cap::Zombie(_)
            )
        })
    }

    /// All capabilities with their slots, and the parameters of each thread.
    fn holdings(&self) -> Holdings {
        census::capabilities(self.machine.kernel, &[self.machine.root_space()])
            .into_iter()
            .map(|(place, cap)| (place, cap, parameters(self.machine, cap)))
            .collect()
    }

    /// Makes the fault of the negative control.
    fn spoil(&mut self, task: Task, call: &Call, failed: bool) {
        let kernel = &mut self.machine.kernel;
        match self.defect {
            Defect::KeepsCopy if failed => {
                let space = kernel[task.thread].cap(ThreadSlot::CSpace);
                let Ok(slot) = kernel.lookup_cap(space, crate::system::at::EMPTY + 7) else {
                    return;
                };
                kernel[slot].set_cap(Cap::Domain);
            }
            Defect::KeepsPriority if failed => kernel[task.thread].max_controlled_priority ^= 1,
            Defect::UnknownError if failed => {
                kernel[task.thread].context.set_result(INFO, 99 << 12);
            }
            Defect::ForgetsBinding
                if !failed && call.label == Method::SchedContextBind.number() =>
            {
                let space = kernel[task.thread].cap(ThreadSlot::CSpace);
                let bound = call
                    .caps
                    .first()
                    .and_then(|cap| kernel.lookup_cap(space, *cap).ok());
                if let Some(Cap::Thread(thread)) = bound.map(|slot| kernel[slot].cap()) {
                    kernel[thread].sched_context = None;
                    self.machine.check();
                }
            }
            _ => {}
        }
    }
}

/// Capabilities by slot, and the parameters of the threads they refer to.
type Holdings = Vec<(usize, RawCap, Parameters)>;

/// Of a thread: priority, criticality, their maximum controlled values, and domain.
type Parameters = Option<[u8; 5]>;

fn parameters(machine: &Machine, cap: RawCap) -> Parameters {
    let Cap::<Host>::Thread(thread) = Cap::decode(cap) else {
        return None;
    };
    let thread = &machine.kernel[thread];
    Some([
        thread.priority,
        thread.max_controlled_priority,
        thread.criticality,
        thread.max_controlled_criticality,
        thread.domain,
    ])
}
