//! Small systems, and the steps that are tried in them.

use abi::{Method, ObjectType, Syscall, endpoint_flags};
use host_machine::{Budget, CPtr, Message, Operands, Spec, State, Task};
use kernel::object::Fault;

use crate::pair::Pair;

#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// By the running thread: system call, source or target, reply object, destination.
    Call(Syscall, usize, usize, usize),
    Reply(usize),
    YieldUntil(u64),
    Fault,
    /// By the root task.
    Suspend(usize),
    Resume(usize),
    Bind(usize, usize),
    Unbind(usize),
    UnbindThread(usize, usize),
    Configure(usize, u64),
    /// A limit; 0 removes it.
    Limit(usize, usize),
    DeleteReply(usize),
    CreateReply(usize),
    DeleteThread(usize),
    Time(u64),
}

pub struct System {
    pub pair: Pair,
    tasks: Vec<Task>,
    endpoints: Vec<CPtr>,
    replies: Vec<CPtr>,
    contexts: Vec<CPtr>,
    /// Those of the running thread come first.
    pub steps: Vec<Step>,
    /// The number of steps of the running thread.
    pub own_steps: usize,
}

impl System {
    /// Three threads, two scheduling contexts, two endpoints, two reply objects: a passive server that
    /// waits, a client of constant bandwidth, and one that is a sporadic server.
    pub fn plain() -> Self {
        let mut pair = Pair::with_memory(18);
        let machine = &mut pair.machine;
        let endpoints = vec![machine.endpoint(), machine.endpoint()];
        let replies = vec![machine.reply(), machine.reply()];
        let server = machine.spawn(Spec::new("server", 4).budget(Budget::new(50, 120)));
        machine.rest();
        machine.recv(server, endpoints[0], replies[0]);
        let unbind = Method::SchedContextUnbind;
        machine.invoke(server.context, unbind, &[], &[]).unwrap();
        let one = machine.spawn(Spec::new("one", 3));
        machine.bind(server.context, one.tcb).unwrap();
        let sporadic = Budget::new(60, 200).refills(3).sporadic();
        let two = machine.spawn(Spec::new("two", 2).budget(sporadic));
        let contexts = vec![server.context, two.context];
        Self::begin(pair, [server, one, two].into(), endpoints, replies, contexts)
            .with_steps(plain_steps())
    }

    /// A client has called the first of three passive servers, and each of them the next one; with these
    /// limits, 0 for none. The last server runs. Besides, there are another thread, which is suspended,
    /// and a spare context.
    pub fn chain(limits: [usize; 3]) -> Self {
        let mut pair = Pair::with_memory(18);
        let machine = &mut pair.machine;
        let endpoints: Vec<_> = (0..4).map(|_| machine.endpoint()).collect();
        let replies: Vec<_> = (0..3).map(|_| machine.reply()).collect();
        let spare = machine.new_context(Budget::new(100, 300));
        let sporadic = Budget::new(200, 1000).refills(4).sporadic().badge(9);
        let mut tasks = vec![machine.spawn(Spec::new("client", 2).budget(sporadic).suspended())];
        machine.rest();
        for (index, name) in ["first", "second", "third"].into_iter().enumerate() {
            let spec = Spec::new(name, 3 + index as u8).fault_handler(endpoints[2]);
            let spec = if index > 0 { spec.timeout_handler(endpoints[3]) } else { spec };
            let server = machine.spawn(spec);
            machine.bind(spare, server.tcb).unwrap();
            machine.recv(server, endpoints[index], replies[index]);
            machine.invoke(spare, Method::SchedContextUnbind, &[], &[]).unwrap();
            tasks.push(server);
        }
        let other = Spec::new("other", 7).budget(Budget::slice(80)).suspended();
        tasks.push(machine.spawn(other));
        let contexts = vec![tasks[0].context, spare];
        let mut system = Self::begin(pair, tasks, endpoints, replies, contexts);
        for (index, limit) in limits.into_iter().enumerate() {
            assert!(limit == 0 || system.perform(Step::Limit(index, limit)));
        }
        assert!(system.perform(Step::Resume(0)));
        for index in 0..3 {
            assert!(system.perform(Step::Call(Syscall::Call, index, 0, 0)));
        }
        assert!(system.pair.machine.runs(system.tasks[3]));
        system.pair.follow().unwrap();
        system.with_steps(chain_steps())
    }

    fn begin(
        mut pair: Pair,
        tasks: Vec<Task>,
        endpoints: Vec<CPtr>,
        replies: Vec<CPtr>,
        contexts: Vec<CPtr>,
    ) -> Self {
        tasks.iter().for_each(|task| pair.add(*task));
        pair.slots.clone_from(&replies);
        pair.follow().unwrap();
        Self { pair, tasks, endpoints, replies, contexts, steps: Vec::new(), own_steps: 0 }
    }

    fn with_steps(mut self, steps: Vec<Step>) -> Self {
        let own = |step: &Step| {
            matches!(step, Step::Call(..) | Step::Reply(_) | Step::YieldUntil(_) | Step::Fault)
        };
        let (own, others): (Vec<_>, Vec<_>) = steps.into_iter().partition(own);
        self.own_steps = own.len();
        self.steps = [own, others].concat();
        self
    }

    /// Does a step, if it is possible now. A refused operation changes nothing, and took no time.
    pub fn perform(&mut self, step: Step) -> bool {
        let machine = &mut self.pair.machine;
        let running = (self.tasks.iter().copied()).find(|task| machine.runs(*task));
        let message = Message::new(1, &[7]);
        let tcb = |thread: usize| self.tasks[thread].tcb;
        let answer = match (step, running) {
            (Step::Call(..) | Step::Reply(_) | Step::YieldUntil(_) | Step::Fault, None) => {
                return false;
            }
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
            (Step::YieldUntil(amount), Some(task)) => {
                machine.yield_until_budget(task, amount);
                return true;
            }
            (Step::Fault, Some(task)) => {
                machine.fault(task, Fault::UserException { number: 13, code: 0 });
                return true;
            }
            (Step::Time(ticks), _) => {
                machine.advance(ticks);
                return true;
            }
            (Step::CreateReply(reply), _) if machine.is_empty(self.replies[reply]) => {
                machine.create_in(ObjectType::Reply, 0, self.replies[reply]);
                return true;
            }
            (Step::DeleteReply(reply), _) if !machine.is_empty(self.replies[reply]) => {
                machine.in_root(Method::CNodeDelete, self.replies[reply], &[])
            }
            (Step::DeleteThread(thread), _) if machine.state(self.tasks[thread]) != State::Gone => {
                machine.in_root(Method::CNodeDelete, tcb(thread), &[])
            }
            (Step::CreateReply(_) | Step::DeleteReply(_) | Step::DeleteThread(_), _) => {
                return false;
            }
            (Step::Suspend(thread), _) => machine.invoke(tcb(thread), Method::TcbSuspend, &[], &[]),
            (Step::Resume(thread), _) => machine.invoke(tcb(thread), Method::TcbResume, &[], &[]),
            (Step::Bind(context, thread), _) => machine.bind(self.contexts[context], tcb(thread)),
            (Step::Unbind(context), _) => {
                machine.invoke(self.contexts[context], Method::SchedContextUnbind, &[], &[])
            }
            (Step::UnbindThread(context, thread), _) => {
                let method = Method::SchedContextUnbindObject;
                machine.invoke(self.contexts[context], method, &[], &[tcb(thread)])
            }
            (Step::Configure(context, budget), _) => {
                let budget = Budget::new(budget, 1000).refills(4).sporadic().badge(9);
                machine.configure(self.contexts[context], budget)
            }
            (Step::Limit(endpoint, limit), _) => {
                let flags = if limit > 0 { endpoint_flags::LIMIT } else { 0 };
                let method = Method::CNodeEndpointSetThreshold;
                machine.in_root(method, self.endpoints[endpoint], &[limit, flags])
            }
        };
        answer.is_ok()
    }
}

fn plain_steps() -> Vec<Step> {
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

fn chain_steps() -> Vec<Step> {
    let mut steps = vec![Step::Call(Syscall::Yield, 0, 0, 0), Step::YieldUntil(30), Step::Fault];
    for index in 0..3 {
        steps.extend([
            Step::Call(Syscall::Call, index, 0, 0),
            Step::Call(Syscall::ReplyRecv, index, index, 0),
            Step::Call(Syscall::Recv, index, index, 0),
            // The reply object is used again, also by a thread that does not block.
            Step::Call(Syscall::Recv, 3, index, 0),
            Step::Call(Syscall::NBRecv, 3, index, 0),
            Step::Call(Syscall::NBSendRecv, index, index, (index + 1) % 3),
            Step::Reply(index),
            Step::DeleteReply(index),
            Step::CreateReply(index),
            Step::Limit(index, 0),
            Step::Limit(index, 60),
        ]);
    }
    for thread in 0..5 {
        steps.extend([Step::Suspend(thread), Step::Resume(thread), Step::DeleteThread(thread)]);
        steps.extend([Step::Bind(0, thread), Step::Bind(1, thread)]);
        steps.push(Step::UnbindThread(0, thread));
    }
    steps.extend([Step::Unbind(0), Step::Unbind(1), Step::Configure(0, 40)]);
    steps.extend([Step::Configure(0, 200), Step::Time(30), Step::Time(70), Step::Time(900)]);
    steps
}
