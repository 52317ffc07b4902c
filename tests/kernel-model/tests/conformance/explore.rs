//! All histories of a small system: three threads, two scheduling contexts, two endpoints, two reply
//! objects.
//!
//! Every possible action of the running thread and of the root task is tried in every state, in the
//! kernel and in the model. A state that was reached before with at least as many remaining steps is
//! not searched again; states are distinguished by the model, with times relative to now, and without
//! registers and consumed time, on which nothing later depends. `EXPLORE_DEPTH` is the length of a
//! history.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use abi::{Method, Syscall};
use kernel_host::{Budget, CPtr, Message, Operands, Spec, Task};
use kernel_model::Model;

use crate::twin::Twin;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// By the running thread: system call, source or target, reply object, destination.
    Call(Syscall, usize, usize, usize),
    Reply(usize),
    /// By the root task.
    Suspend(usize),
    Resume(usize),
    Bind(usize, usize),
    Unbind(usize),
    DeleteReply(usize),
    Time(u64),
}

fn steps() -> Vec<Step> {
    let mut steps = vec![Step::Call(Syscall::Yield, 0, 0, 0)];
    for endpoint in 0..2 {
        for call in [Syscall::Call, Syscall::Send, Syscall::NBSend, Syscall::Wait] {
            steps.push(Step::Call(call, endpoint, 0, 0));
        }
        for reply in 0..2 {
            for call in [Syscall::Recv, Syscall::ReplyRecv] {
                steps.push(Step::Call(call, endpoint, reply, 0));
            }
        }
        steps.push(Step::Call(Syscall::NBSendRecv, endpoint, 1, 1 - endpoint));
    }
    for index in 0..2 {
        steps.extend([Step::Reply(index), Step::DeleteReply(index), Step::Unbind(index)]);
        steps.extend((0..3).map(|thread| Step::Bind(index, thread)));
    }
    for thread in 0..3 {
        steps.extend([Step::Suspend(thread), Step::Resume(thread)]);
    }
    steps.extend([Step::Time(30), Step::Time(130)]);
    steps
}

struct Search {
    twin: Twin,
    tasks: [Task; 3],
    endpoints: [CPtr; 2],
    replies: [CPtr; 2],
    contexts: [CPtr; 2],
    steps: Vec<Step>,
    /// States, with the number of remaining steps.
    seen: HashMap<u64, usize>,
    histories: u64,
    path: Vec<Step>,
}

impl Search {
    fn new() -> Self {
        let mut twin = Twin::with_memory(18);
        let machine = &mut twin.machine;
        let endpoints = [(); 2].map(|()| machine.endpoint());
        let replies = [(); 2].map(|()| machine.reply());
        let server = machine.spawn(Spec::new("server", 4).budget(Budget::new(50, 120)));
        machine.rest();
        machine.recv(server, endpoints[0], replies[0]);
        let unbind = Method::SchedContextUnbind;
        machine.invoke(server.context, unbind, &[], &[]).unwrap();
        let one = machine.spawn(Spec::new("one", 3));
        machine.bind(server.context, one.tcb).unwrap();
        let sporadic = Budget::new(60, 200).refills(3).sporadic();
        let two = machine.spawn(Spec::new("two", 2).budget(sporadic));
        let tasks = [server, one, two];
        tasks.into_iter().for_each(|task| twin.add(task));
        twin.slots = replies.to_vec();
        twin.follow().unwrap();
        Self {
            twin,
            tasks,
            endpoints,
            replies,
            contexts: [server.context, two.context],
            steps: steps(),
            seen: HashMap::new(),
            histories: 0,
            path: Vec::new(),
        }
    }

    /// Does a step, if it is possible now.
    fn perform(&mut self, step: Step) -> bool {
        let machine = &mut self.twin.machine;
        let running = (self.tasks.iter().copied()).find(|task| machine.runs(*task));
        let message = Message::new(1, &[7]);
        let tcb = |thread: usize| self.tasks[thread].tcb;
        let answer = match (step, running) {
            (Step::Call(..) | Step::Reply(_), None) => return false,
            (Step::Call(call, cap, reply, destination), Some(task)) => {
                let operands = Operands {
                    cap: self.endpoints[cap],
                    reply: self.replies[reply],
                    destination: self.endpoints[destination],
                };
                machine.syscall(task, call, operands, &message);
                return true;
            }
            (Step::Reply(reply), Some(task)) => {
                machine.send(task, self.replies[reply], &message);
                return true;
            }
            (Step::Time(ticks), _) => {
                machine.advance(ticks);
                return true;
            }
            (Step::Suspend(thread), _) => machine.invoke(tcb(thread), Method::TcbSuspend, &[], &[]),
            (Step::Resume(thread), _) => machine.invoke(tcb(thread), Method::TcbResume, &[], &[]),
            (Step::Bind(context, thread), _) => machine.bind(self.contexts[context], tcb(thread)),
            (Step::Unbind(context), _) => {
                machine.invoke(self.contexts[context], Method::SchedContextUnbind, &[], &[])
            }
            (Step::DeleteReply(reply), _) if !machine.is_empty(self.replies[reply]) => {
                machine.in_root(Method::CNodeDelete, self.replies[reply], &[])
            }
            (Step::DeleteReply(_), _) => return false,
        };
        // A refused operation changes nothing, and took no time.
        answer.is_ok()
    }

    fn search(&mut self, depth: usize) {
        let before = (self.twin.machine.snapshot(), self.twin.model.clone());
        for step in self.steps.clone() {
            self.path.push(step);
            if self.perform(step) {
                self.histories += 1;
                if let Err(difference) = self.twin.follow() {
                    panic!("{difference}\nafter {:#?}", self.path);
                }
                let state = state(&self.twin.model);
                let known = self.seen.get(&state).is_some_and(|left| *left >= depth - 1);
                if !known {
                    self.seen.insert(state, depth - 1);
                    if depth > 1 {
                        self.search(depth - 1);
                    }
                }
            } else {
                // The model refuses it as well.
                self.twin.follow().unwrap();
            }
            self.path.pop();
            self.twin.machine.restore(&before.0);
            self.twin.model = before.1.clone();
        }
    }
}

/// A hash of the state.
fn state(model: &Model) -> u64 {
    let mut model = model.clone();
    let now = std::mem::take(&mut model.now);
    for context in &mut model.contexts {
        context.consumed = 0;
        for (time, _) in context.refills.iter_mut().flat_map(|refills| &mut refills.list) {
            *time = time.wrapping_sub(now);
        }
    }
    for (time, _) in &mut model.starved {
        *time = time.wrapping_sub(now);
    }
    for thread in &mut model.threads {
        (thread.badge, thread.label, thread.words) = (0, 0, Vec::new());
        if !thread.calls_next && !thread.called_last {
            thread.call = Default::default();
        }
    }
    let mut hasher = DefaultHasher::new();
    model.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn all_short_histories_agree() {
    let depth = std::env::var("EXPLORE_DEPTH").ok().and_then(|depth| depth.parse().ok());
    let depth = depth.unwrap_or(3);
    let begin = Instant::now();
    let mut search = Search::new();
    search.search(depth);
    println!(
        "depth {depth}, {} steps to choose from: {} histories, {} states, {:.1} s",
        search.steps.len(),
        search.histories,
        search.seen.len(),
        begin.elapsed().as_secs_f64(),
    );
    assert!(search.histories > 10_000);
}
