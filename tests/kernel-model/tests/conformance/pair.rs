//! A machine with the kernel, in lockstep with the model.
//!
//! The machine logs every kernel entry, and the model makes the same entries. After each step of a
//! history, all state visible to user level must be equal.

use host_machine::machine::{Cause, Entry};
use host_machine::{CPtr, Machine, State as Doing, Task};
use kernel::object::Thread;
use kernel::token::Ptr;
use kernel_model::caps::{Cap, Place};
use kernel_model::entry::{Call, Event};
use kernel_model::state::{Id, Model, State};

type Host = host_machine::arch::Host;

pub struct Pair {
    pub machine: Machine,
    pub model: Model,
    /// The known threads of the machine, by their index in the model.
    threads: Vec<(Task, Ptr<Thread<Host>>)>,
    /// The slots that are compared.
    pub slots: Vec<CPtr>,
}

impl Pair {
    pub fn new() -> Self {
        Self::with_memory(20)
    }

    /// With a machine of `2^bits` bytes.
    pub fn with_memory(bits: usize) -> Self {
        let mut machine = Machine::with_memory(bits);
        machine.log = Some(Vec::new());
        let slice = machine.refills(abi::slots::INIT_THREAD_SC)[0].1;
        let model = Model::boot(slice, machine.pool(), machine.boot_info.sched_control.start);
        let root = machine.root;
        let mut pair =
            Self { machine, model, threads: vec![(root, root.thread)], slots: Vec::new() };
        // As on every board, no thread runs at time 0, which in a ready queue means "in front".
        pair.machine.advance(1);
        pair
    }

    /// Adds a task that was made since the last [`Pair::follow`].
    pub fn add(&mut self, task: Task) {
        self.threads.push((task, task.thread));
    }

    fn number(&self, thread: Ptr<Thread<Host>>) -> Option<Id> {
        self.threads.iter().position(|(_, one)| *one == thread)
    }

    /// Makes the machine's kernel entries in the model.
    pub fn follow(&mut self) -> Result<(), String> {
        for Entry { time, thread, cause, charged } in self.machine.log.replace(Vec::new()).unwrap()
        {
            let thread = thread.map(|thread| self.number(thread).expect("it was added"));
            if thread != self.model.current {
                return Err(format!("at {time}: {thread:?} enters, not {:?}", self.model.current));
            }
            let event = match cause {
                Cause::Call(number, operands, message) => Event::Call(Call {
                    number,
                    cap: operands.cap,
                    reply: operands.reply,
                    destination: operands.destination,
                    label: message.label,
                    words: message.words,
                    caps: message.caps,
                }),
                Cause::Fault => Event::Exception,
                Cause::Line(line) => Event::Line(line),
                Cause::Timer => Event::Timer,
            };
            self.model.enter(time, event, charged);
        }
        self.compare()
    }

    fn compare(&self) -> Result<(), String> {
        let (machine, model) = (&self.machine, &self.model);
        let same = |what: String, kernel: String, model: String| {
            if kernel == model {
                Ok(())
            } else {
                Err(format!("at {}: {what}: kernel {kernel}, model {model}", machine.now()))
            }
        };
        let running = machine.kernel.core.current.and_then(|thread| self.number(thread));
        same("running".into(), format!("{running:?}"), format!("{:?}", model.current))?;
        if machine.kernel.arch.deadline.0 > model.latest_entry() {
            return Err(format!("the timer fires after {}", model.latest_entry()));
        }
        for (id, (task, _)) in self.threads.iter().enumerate() {
            let doing = machine.state(*task);
            if doing == Doing::Gone {
                continue;
            }
            let thread = &model.threads[id];
            let expected = match thread.state {
                State::Inactive => Doing::Inactive,
                State::Running | State::Restart => Doing::Runnable,
                State::Sending { .. } => Doing::Sending,
                State::Receiving { .. } => Doing::Receiving,
                State::Calling { .. } | State::AwaitingReturn { .. } => Doing::Calling,
                State::Waiting { .. } => Doing::Waiting,
            };
            let name = format!("thread {id} ({})", machine.name(*task));
            same(format!("{name} state"), format!("{doing:?}"), format!("{expected:?}"))?;
            let context = machine.thread(*task).sched_context.map(|one| one.address());
            let expected = thread.context.map(|id| self.address_of(id));
            same(format!("{name} context"), format!("{context:x?}"), format!("{expected:x?}"))?;
            if !thread.obscure {
                self.compare_registers(&name, *task, id)?;
            }
        }
        for slot in &model.slots {
            if let (Place::Address(address), Cap::Context { id }) = (slot.place, slot.cap) {
                self.compare_context(address, id)?;
            }
        }
        for slot in &self.slots {
            let null = model.cap(Place::Address(*slot)) == Cap::Null;
            same(format!("slot {slot}"), machine.is_empty(*slot).to_string(), null.to_string())?;
        }
        Ok(())
    }

    /// The kernel's address of a context.
    fn address_of(&self, id: Id) -> usize {
        let holds = |slot: &&kernel_model::caps::Slot| slot.cap == Cap::Context { id };
        let slot = self.model.slots.iter().find(holds);
        match slot.map(|slot| slot.place) {
            Some(Place::Address(address)) => self.machine.context(address).address(),
            _ => 0,
        }
    }

    fn compare_registers(&self, name: &str, task: Task, id: Id) -> Result<(), String> {
        let (seen, thread) = (self.machine.received(task), &self.model.threads[id]);
        let words = seen.words.len() == thread.words.len()
            && (seen.words.iter().zip(&thread.words))
                .all(|(seen, word)| word.is_none_or(|word| word == *seen));
        if (seen.badge, seen.label) != (thread.badge, thread.label) || !words {
            return Err(format!(
                "at {}: {name} sees {seen:?}, not badge {} label {} words {:?}",
                self.machine.now(),
                thread.badge,
                thread.label,
                thread.words
            ));
        }
        Ok(())
    }

    fn compare_context(&self, address: CPtr, id: Id) -> Result<(), String> {
        let used = self.machine.kernel.core.consumed.0;
        if used != self.model.used {
            return Err(format!("not charged yet: kernel {used}, model {}", self.model.used));
        }
        let context = &self.machine.kernel[self.machine.context(address)];
        let total = context.total_consumed();
        // Past the end the difference is negative.
        let left = context.limit.map(|end| (end.get().wrapping_sub(total) as i64).max(0) as u64);
        if left != self.model.limit(id) {
            let expected = self.model.limit(id);
            return Err(format!("context {id}: kernel limit {left:?}, model {expected:?}"));
        }
        let kernel = self.machine.refills(address);
        let model: Vec<_> = (self.model.contexts[id].refills.iter())
            .flat_map(|refills| refills.list.iter().copied())
            .collect();
        if kernel != model {
            return Err(format!(
                "at {}: context {id}: kernel {kernel:?}, model {model:?}",
                self.machine.now()
            ));
        }
        Ok(())
    }
}
