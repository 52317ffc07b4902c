//! Random histories.

use abi::registers::MR;
use abi::{Method, ObjectType, Rights, Syscall, slots};
use host_machine::arch::Host;
use host_machine::{Budget, CPtr, Machine, Message, Operands, Spec, State, Task};
use kernel::Kernel;
use kernel::arch::{Irq, UserContext};
use kernel::object::Fault;
use kernel::time::Ticks;
use proptest::prelude::*;
use proptest::test_runner::{TestError, TestRunner};

use crate::pair::Pair;

/// Selects one of the objects of a kind.
type Pick = u8;

fn pick<T: Copy>(list: &[T], pick: Pick) -> T {
    list[usize::from(pick) % list.len()]
}

#[derive(Clone, Debug)]
enum Step {
    /// The running task makes a system call: number, capability, reply, destination, long message.
    Call(Syscall, Pick, Pick, Pick, bool),
    YieldTo(Pick),
    YieldUntil(u64),
    Fault,
    /// The root task invokes a thread, a context, or a CNode.
    Thread(Method, Pick, Pick, u8),
    SchedParams(Pick, u8, Pick, Pick),
    Level(usize),
    Threshold(Pick, usize, usize),
    Configure(Pick, Budget),
    Context(Method, Pick, Pick),
    Slot(Method, Pick, Pick, u8, Pick),
    Ack(Pick),
    Create(Pick),
    Time(u64),
    Interrupt(u8),
}

fn step() -> impl Strategy<Value = Step> {
    use Method::*;
    use Syscall::*;
    let p = || 0..60u8;
    let calls = vec![
        Call, Call, Call, Call, Send, NBSend, Recv, Recv, Recv, NBRecv, Wait, NBWait, ReplyRecv,
        ReplyRecv, NBSendRecv, NBSendWait, Yield,
    ];
    let thread = vec![
        TcbSuspend,
        TcbResume,
        TcbResume,
        TcbSetPriority,
        TcbSetPriority,
        TcbSetCriticality,
        TcbSetCriticality,
        TcbSetTimeoutEndpoint,
        TcbBindNotification,
        TcbUnbindNotification,
    ];
    let context = vec![
        SchedContextBind,
        SchedContextBind,
        SchedContextUnbind,
        SchedContextUnbindObject,
        SchedContextConsumed,
    ];
    let slot = vec![
        CNodeDelete,
        CNodeDelete,
        CNodeRevoke,
        CNodeCancelBadgedSends,
        CNodeCopy,
        CNodeMint,
        CNodeMove,
    ];
    prop_oneof![
        16 => (prop::sample::select(calls), p(), p(), p(), any::<bool>())
            .prop_map(|(call, cap, reply, target, long)| Step::Call(call, cap, reply, target, long)),
        1 => p().prop_map(Step::YieldTo),
        1 => (0..120u64).prop_map(Step::YieldUntil),
        1 => Just(Step::Fault),
        4 => (prop::sample::select(thread), p(), p(), 0..6u8)
            .prop_map(|(method, task, object, value)| Step::Thread(method, task, object, value)),
        1 => (p(), 0..6u8, p(), p())
            .prop_map(|(task, priority, context, handler)| Step::SchedParams(task, priority, context, handler)),
        1 => (0..6usize).prop_map(Step::Level),
        2 => (p(), budget()).prop_map(|(context, budget)| Step::Configure(context, budget)),
        2 => (p(), 1..150usize, 0..4usize)
            .prop_map(|(endpoint, budget, flags)| Step::Threshold(endpoint, budget, flags)),
        3 => (prop::sample::select(context), p(), p())
            .prop_map(|(method, context, object)| Step::Context(method, context, object)),
        3 => (prop::sample::select(slot), p(), p(), 0..16u8, 0..3u8)
            .prop_map(|(method, target, source, rights, badge)| Step::Slot(method, target, source, rights, badge)),
        1 => p().prop_map(Step::Ack),
        2 => p().prop_map(Step::Create),
        6 => prop_oneof![1..50u64, 50..1000u64].prop_map(Step::Time),
        1 => (1..3u8).prop_map(Step::Interrupt),
    ]
}

fn budget() -> impl Strategy<Value = Budget> {
    prop_oneof![
        (40u64..300).prop_map(Budget::slice),
        (40u64..200, 1u64..1000, 2usize..10, any::<bool>()).prop_map(
            |(budget, rest, refills, sporadic)| {
                let budget = Budget::new(budget, budget + rest).refills(refills).badge(7);
                if sporadic { budget.sporadic() } else { budget }
            }
        ),
    ]
}

/// The steps of a history, printed one per line.
struct History(Vec<Step>);

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (self.0.iter()).try_for_each(|step| write!(f, "\n    {step:?}"))
    }
}

/// The objects that the programs share.
struct TestSystem {
    pair: Pair,
    tasks: Vec<Task>,
    endpoints: Vec<CPtr>,
    notifications: Vec<CPtr>,
    replies: Vec<CPtr>,
    contexts: Vec<CPtr>,
    handlers: Vec<CPtr>,
    /// Slots for copies, initially empty except for two badged endpoints.
    spare: Vec<CPtr>,
    count: usize,
}

impl TestSystem {
    fn new() -> Result<Self, String> {
        let mut pair = Pair::new();
        let machine = &mut pair.machine;
        // The root task must be able to run at every level.
        machine.set_criticality(machine.root, 7);
        let endpoints: Vec<_> = (0..2).map(|_| machine.endpoint()).collect();
        let mut spare: Vec<_> =
            (endpoints.iter().map(|endpoint| machine.mint(*endpoint, Rights::ALL, 5))).collect();
        spare.extend((0..4).map(|_| machine.slot()));
        let notifications: Vec<_> = (0..2).map(|_| machine.notification()).collect();
        let replies = (0..3).map(|_| machine.reply()).collect();
        let handlers = (1..).zip(&notifications).map(|(line, notification)| {
            let handler = machine.issue_irq(line).unwrap();
            let set = Method::IrqSetIrqHandler;
            machine.invoke(handler, set, &[], &[*notification]).unwrap();
            handler
        });
        let handlers = handlers.collect();
        let handler = endpoints[1];
        let specs = [
            Spec::new("passive", 3).fault_handler(handler),
            Spec::new("idle", 2),
            Spec::new("slice", 2).budget(Budget::slice(50)),
            Spec::new("bandwidth", 3).budget(Budget::new(60, 200)),
            Spec::new("sporadic", 4)
                .budget(Budget::new(40, 300).sporadic().badge(9))
                .timeout_handler(handler),
        ];
        let tasks: Vec<Task> = specs.into_iter().map(|spec| machine.spawn(spec)).collect();
        let mut contexts: Vec<_> =
            (tasks.iter().map(|task| task.context)).filter(|context| *context != 0).collect();
        contexts.push(machine.new_context(Budget::new(100, 400)));
        contexts.push(machine.create(ObjectType::SchedContext, 8));
        machine.rest();
        let mut system = Self {
            tasks: Vec::new(),
            pair,
            endpoints,
            notifications,
            replies,
            contexts,
            handlers,
            spare,
            count: 0,
        };
        for task in tasks {
            system.pair.add(task);
            system.tasks.push(task);
        }
        system.pair.slots = system.mortal();
        system.pair.follow()?;
        Ok(system)
    }

    /// The slots of all objects that may be deleted.
    fn mortal(&self) -> Vec<CPtr> {
        let objects =
            [&self.endpoints, &self.notifications, &self.replies, &self.contexts, &self.spare];
        let objects = objects.into_iter().flatten().copied();
        objects.chain(self.tasks.iter().map(|task| task.tcb)).collect()
    }

    fn machine(&mut self) -> &mut Machine {
        &mut self.pair.machine
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.count += 1;
        let running = (self.tasks.iter().copied()).find(|task| self.pair.machine.runs(*task));
        match (step, running) {
            (Step::Call(..) | Step::YieldTo(_) | Step::YieldUntil(_) | Step::Fault, None) => {
                self.machine().advance(100);
            }
            (Step::Call(call, cap, reply, target, long), Some(task)) => {
                self.call(task, *call, *cap, *reply, *target, *long);
            }
            (Step::YieldTo(context), Some(task)) => {
                let message = Message::new(Method::SchedContextYieldTo.number(), &[]);
                let context = pick(&self.contexts, *context);
                self.machine().call(task, context, &message);
            }
            (Step::YieldUntil(amount), Some(task)) => {
                self.machine().yield_until_budget(task, *amount);
            }
            (Step::Fault, Some(task)) => {
                let (number, code) = (13, 0);
                self.machine().fault(task, Fault::UserException { number, code });
            }
            (Step::Time(ticks), _) => self.machine().advance(*ticks),
            (Step::Interrupt(line), _) => self.machine().raise(Irq((*line).into())),
            (Step::Create(object), _) => self.create(*object),
            _ => self.order(step),
        }
        self.pair.follow()
    }

    fn call(
        &mut self,
        task: Task,
        call: Syscall,
        cap: Pick,
        reply: Pick,
        target: Pick,
        long: bool,
    ) {
        let sources = [&*self.endpoints, &self.notifications, &self.spare].concat();
        let all = [&*sources, &self.replies].concat();
        let receives =
            matches!(call, Syscall::Recv | Syscall::NBRecv | Syscall::Wait | Syscall::NBWait);
        let combined =
            matches!(call, Syscall::ReplyRecv | Syscall::NBSendRecv | Syscall::NBSendWait);
        let operands = Operands {
            cap: if receives || combined { pick(&sources, cap) } else { pick(&all, cap) },
            reply: if call == Syscall::NBSendWait {
                pick(&all, reply)
            } else {
                pick(&self.replies, reply)
            },
            destination: pick(&all, target),
        };
        // A long message has a unique label and words, and no valid method; an empty one restarts
        // faulted threads.
        let words: Vec<usize> = (0..6).map(|index| self.count * 10 + index).collect();
        let message =
            if long { Message::new(1000 + self.count, &words) } else { Message::new(0, &[]) };
        self.machine().syscall(task, call, operands, &message);
    }

    /// Whatever the result, the model must give the same.
    fn order(&mut self, step: &Step) {
        let root = slots::INIT_THREAD_TCB;
        let threads: Vec<_> = self.tasks.iter().map(|task| task.tcb).collect();
        let mortal = self.mortal();
        let (method, target, words, caps): (_, _, Vec<usize>, Vec<CPtr>) = match step {
            Step::Thread(method, task, object, value) => {
                let cap = match method {
                    Method::TcbSetPriority | Method::TcbSetCriticality => root,
                    Method::TcbBindNotification => pick(&self.notifications, *object),
                    _ => pick(&self.endpoints, *object),
                };
                (*method, pick(&threads, *task), vec![(*value).into()], vec![cap])
            }
            Step::SchedParams(task, priority, context, handler) => {
                let context = pick(&[&self.contexts[..], &[0]].concat(), *context);
                let handler = pick(&[&self.endpoints[..], &[0]].concat(), *handler);
                let words = vec![255, (*priority).into()];
                (
                    Method::TcbSetSchedParams,
                    pick(&threads, *task),
                    words,
                    vec![root, context, handler],
                )
            }
            Step::Level(level) => {
                let _ = self.machine().set_level(*level);
                return;
            }
            Step::Configure(context, budget) => {
                let context = pick(&self.contexts, *context);
                let _ = self.machine().configure(context, *budget);
                return;
            }
            Step::Threshold(endpoint, budget, flags) => {
                let endpoint = pick(&self.endpoints, *endpoint);
                let words = [*budget, *flags];
                let _ = self.machine().in_root(Method::CNodeEndpointSetThreshold, endpoint, &words);
                return;
            }
            Step::Context(method, context, object) => {
                let object = pick(&[threads, self.notifications.clone()].concat(), *object);
                (*method, pick(&self.contexts, *context), vec![], vec![object])
            }
            Step::Slot(method, target, source, rights, badge) => {
                let copies =
                    matches!(method, Method::CNodeCopy | Method::CNodeMint | Method::CNodeMove);
                let target = pick(if copies { &self.spare } else { &mortal }, *target);
                let source = pick(&self.movable(), *source);
                let (rights, badge) = (usize::from(*rights), usize::from(*badge));
                let words = [source, abi::WORD_BITS, rights, badge];
                let count = match method {
                    Method::CNodeCopy => 3,
                    Method::CNodeMint => 4,
                    Method::CNodeMove => 2,
                    _ => 0,
                };
                let _ = self.machine().in_root(*method, target, &words[..count]);
                return;
            }
            Step::Ack(handler) => {
                (Method::IrqAckIrq, pick(&self.handlers, *handler), vec![], vec![])
            }
            _ => unreachable!("not an order"),
        };
        let _ = self.machine().invoke(target, method, &words, &caps);
    }

    /// Capabilities that may be copied and moved; not those of threads, as a task is identified by
    /// its slot.
    fn movable(&self) -> Vec<CPtr> {
        [&*self.endpoints, &self.notifications, &self.replies, &self.contexts, &self.spare].concat()
    }

    /// Creates a deleted object again.
    fn create(&mut self, object: Pick) {
        let machine = &mut self.pair.machine;
        if let Some(task) =
            (self.tasks.iter_mut()).find(|task| machine.state(**task) == State::Gone)
        {
            *task = machine.spawn(Spec::new("reborn", 3));
            self.pair.add(*task);
            self.pair.slots = self.mortal();
            return;
        }
        let slot = pick(&self.mortal(), object);
        let kind = if self.endpoints.contains(&slot) {
            ObjectType::Endpoint
        } else if self.notifications.contains(&slot) {
            ObjectType::Notification
        } else if self.replies.contains(&slot) {
            ObjectType::Reply
        } else if self.contexts.contains(&slot) {
            ObjectType::SchedContext
        } else {
            return;
        };
        let bits = if kind == ObjectType::SchedContext { 8 } else { 0 };
        if self.pair.machine.is_empty(slot) {
            self.machine().create_in(kind, bits, slot);
        }
    }
}

/// A fault made in the kernel's state after each step, which the comparison must detect.
type Sabotage = fn(&mut Kernel<Host>);

/// Runs a history in both; reports the first difference.
fn compare(history: &[Step], sabotage: Sabotage) -> Result<(), String> {
    let mut system = TestSystem::new()?;
    for (number, step) in history.iter().enumerate() {
        system.step(step).map_err(|difference| format!("step {number}, {step:?}: {difference}"))?;
        sabotage(system.pair.machine.kernel);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn kernel_and_model_agree(
        history in prop::collection::vec(step(), 1..150).prop_map(History),
    ) {
        compare(&history.0, |_| ()).map_err(TestCaseError::fail)?;
    }
}

/// Histories on which kernel and model once differed.
#[test]
fn they_agree_where_they_differed() {
    use Method::*;
    use Syscall::*;
    // Threads of equal priority and different criticality.
    let history = [
        Step::Call(Recv, 2, 0, 0, false),
        Step::Call(Recv, 44, 0, 0, false),
        Step::Call(Wait, 31, 0, 0, false),
        Step::Context(SchedContextBind, 18, 43),
        Step::Thread(TcbSetCriticality, 16, 0, 1),
        Step::Context(SchedContextUnbind, 40, 0),
        Step::Slot(CNodeCopy, 3, 37, 1, 0),
        Step::Configure(0, Budget::slice(40)),
        Step::Call(Send, 13, 0, 0, false),
        Step::Call(NBSendRecv, 0, 0, 18, false),
    ];
    assert_eq!(compare(&history, |_| ()), Ok(()));
    let history = [
        Step::Thread(TcbSetCriticality, 37, 0, 1),
        Step::SchedParams(5, 2, 39, 0),
        Step::Call(Recv, 0, 0, 0, false),
        Step::Call(Recv, 0, 0, 0, false),
        Step::Call(Yield, 0, 0, 0, false),
    ];
    assert_eq!(compare(&history, |_| ()), Ok(()));
}

/// The length of the shortest history that detects the fault.
fn caught(sabotage: Sabotage) -> usize {
    let mut runner = TestRunner::deterministic();
    let histories = prop::collection::vec(step(), 1..150);
    let agree = |history: Vec<Step>| compare(&history, sabotage).map_err(TestCaseError::fail);
    match runner.run(&histories, agree) {
        Err(TestError::Fail(_, history)) => history.len(),
        other => panic!("not detected: {other:?}"),
    }
}

#[test]
fn a_kernel_that_charges_too_little_is_caught() {
    let length = caught(|kernel| {
        kernel.core.now = Ticks(kernel.arch.time.get().0);
    });
    assert!(length <= 4, "{length}");
}

#[test]
fn a_kernel_that_confuses_priorities_is_caught() {
    let length = caught(|kernel| {
        if let Some(thread) = kernel.core.current {
            kernel[thread].priority = kernel[thread].priority.clamp(3, 255);
        }
    });
    assert!(length <= 12, "{length}");
}

#[test]
fn a_kernel_that_garbles_a_register_is_caught() {
    let length = caught(|kernel| {
        if let Some(thread) = kernel.core.current {
            kernel[thread].context.set(MR[3], 99);
        }
    });
    assert!(length <= 12, "{length}");
}
