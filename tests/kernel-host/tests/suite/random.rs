//! Random histories: the invariants hold, whatever programs do.
//!
//! A few tasks share endpoints, notifications, reply objects and scheduling contexts. The running
//! task acts, the root task operates on the others, devices interrupt, time passes, and objects are
//! deleted and created again. The machine checks its invariants after every kernel entry.

use abi::config::DOMAINS;
use abi::{Method, ObjectType, Rights, Syscall, WORD_BITS, endpoint_flags, slots};
use host_machine::{Budget, CPtr, Machine, Message, Spec, State, Task};
use kernel::arch::Irq;
use kernel::object::Fault;
use kernel::time::Ticks;
use proptest::prelude::*;

const FAULT: Fault = Fault::UserException {
    number: 13,
    code: 0,
};

/// Selects one of the objects of a kind.
pub(super) type Pick = u8;

fn pick<T: Copy>(list: &[T], pick: Pick) -> T {
    list[usize::from(pick) % list.len()]
}

/// An action of the running task.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Endpoint(Syscall, Pick, Pick, bool),
    Notification(Syscall, Pick),
    Reply(Pick),
    Combined(Syscall, Pick, Pick, Pick),
    /// A call, send or reply with a capability. The task is ready to receive one, too, in the last of these.
    Transfer(Syscall, Pick, Pick, Pick, Pick),
    YieldTo(Pick),
    YieldToTimeout(Pick, u64, Pick),
    /// The same by `NBSendRecv`: a turn of a scheduler.
    Turn(Pick, u64, Pick, Pick),
    YieldUntil(u64),
    Yield,
    /// A task that is about to restart its system call does something else first.
    Divert(Pick),
    /// A fault, or with `true` a debug exception.
    Fault(bool),
}

/// An action of the root task.
#[derive(Clone, Debug)]
pub(super) enum Order {
    Thread(Method, Pick),
    Priority(Pick, u8),
    Criticality(Pick, u8),
    Level(u8),
    Configure(Pick, Budget),
    Context(Method, Pick, Pick),
    BindNotification(Pick, Pick),
    TimeoutHandler(Pick, Pick),
    SchedParams(Pick, u8, Pick, Pick),
    CancelBadgedSends(Pick),
    Threshold(Pick, usize, usize),
    Domain(Pick, Pick),
    Delete(Pick),
    Create(Pick),
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Act(Act),
    Order(Order),
    Time(u64),
    /// Time passes, and the timer interrupt is late.
    Late(u64),
    Interrupt(u8),
}

fn any_pick() -> impl Strategy<Value = Pick> {
    0..60u8
}

fn act() -> impl Strategy<Value = Act> {
    use Syscall::*;
    let endpoint_calls =
        prop::sample::select(vec![Call, Call, Send, NBSend, Recv, Recv, NBRecv, Wait]);
    let notification_calls = prop::sample::select(vec![Send, Send, Wait, NBWait, Recv]);
    let combined = prop::sample::select(vec![ReplyRecv, ReplyRecv, NBSendRecv, NBSendWait]);
    let transfers = prop::sample::select(vec![Call, Call, ReplyRecv, ReplyRecv, Send]);
    prop_oneof![
        6 => (endpoint_calls, any_pick(), any_pick(), any::<bool>())
            .prop_map(|(call, endpoint, reply, badged)| Act::Endpoint(call, endpoint, reply, badged)),
        3 => (notification_calls, any_pick()).prop_map(|(call, index)| Act::Notification(call, index)),
        2 => any_pick().prop_map(Act::Reply),
        4 => (combined, any_pick(), any_pick(), any_pick())
            .prop_map(|(call, target, source, reply)| Act::Combined(call, target, source, reply)),
        2 => (transfers, any_pick(), any_pick(), any_pick(), any_pick()).prop_map(
            |(call, endpoint, reply, gift, slot)| Act::Transfer(call, endpoint, reply, gift, slot)),
        1 => any_pick().prop_map(Act::YieldTo),
        1 => (any_pick(), 0..200u64, any_pick())
            .prop_map(|(context, time, reply)| Act::YieldToTimeout(context, time, reply)),
        2 => (any_pick(), 0..200u64, any_pick(), any_pick())
            .prop_map(|(context, time, reply, endpoint)| Act::Turn(context, time, reply, endpoint)),
        1 => (0..120u64).prop_map(Act::YieldUntil),
        1 => Just(Act::Yield),
        1 => any_pick().prop_map(Act::Divert),
        2 => any::<bool>().prop_map(Act::Fault),
    ]
}

/// Budgets above the smallest: a thread with exactly the smallest budget has too little left for a
/// system call once the kernel has been entered.
fn budget() -> impl Strategy<Value = Budget> {
    prop_oneof![
        (40u64..300).prop_map(Budget::slice),
        (
            40u64..200,
            1u64..1000,
            2usize..10,
            any::<bool>(),
            any::<bool>()
        )
            .prop_map(|(budget, rest, refills, sporadic, idling)| {
                let budget = Budget::new(budget, budget + rest).refills(refills).badge(7);
                Budget {
                    sporadic,
                    idling,
                    ..budget
                }
            }),
    ]
}

fn order() -> impl Strategy<Value = Order> {
    use Method::*;
    let thread = prop::sample::select(vec![
        TcbSuspend,
        TcbResume,
        TcbResume,
        TcbResume,
        TcbUnbindNotification,
    ]);
    let context = prop::sample::select(vec![
        SchedContextBind,
        SchedContextBind,
        SchedContextUnbind,
        SchedContextUnbindObject,
        SchedContextConsumed,
    ]);
    prop_oneof![
        5 => (thread, any_pick()).prop_map(|(method, task)| Order::Thread(method, task)),
        2 => (any_pick(), 0u8..6).prop_map(|(task, priority)| Order::Priority(task, priority)),
        2 => (any_pick(), 0u8..4).prop_map(|(task, criticality)| Order::Criticality(task, criticality)),
        1 => (0u8..4).prop_map(Order::Level),
        2 => (any_pick(), budget()).prop_map(|(context, budget)| Order::Configure(context, budget)),
        4 => (context, any_pick(), any_pick())
            .prop_map(|(method, context, object)| Order::Context(method, context, object)),
        1 => (any_pick(), any_pick()).prop_map(|(task, object)| Order::BindNotification(task, object)),
        1 => (any_pick(), any_pick()).prop_map(|(task, object)| Order::TimeoutHandler(task, object)),
        1 => (any_pick(), 0u8..6, any_pick(), any_pick())
            .prop_map(|(task, priority, context, handler)| Order::SchedParams(task, priority, context, handler)),
        1 => any_pick().prop_map(Order::CancelBadgedSends),
        2 => (any_pick(), 0..150usize, 0..=endpoint_flags::MASK)
            .prop_map(|(endpoint, threshold, flags)| Order::Threshold(endpoint, threshold, flags)),
        1 => (any_pick(), any_pick()).prop_map(|(task, domain)| Order::Domain(task, domain)),
        2 => any_pick().prop_map(Order::Delete),
        4 => any_pick().prop_map(Order::Create),
    ]
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => act().prop_map(Step::Act),
        4 => order().prop_map(Step::Order),
        4 => prop_oneof![1u64..50, 50u64..1000].prop_map(Step::Time),
        1 => prop_oneof![1u64..50, 50u64..300].prop_map(Step::Late),
        1 => (1u8..3).prop_map(Step::Interrupt),
    ]
}

/// Steps in which contexts of several criticalities change hands.
fn step_of_ranks() -> impl Strategy<Value = Step> {
    use Method::*;
    let thread = prop::sample::select(vec![TcbSuspend, TcbResume, TcbResume]);
    let context = prop::sample::select(vec![SchedContextBind, SchedContextUnbindObject]);
    let order = prop_oneof![
        2 => (thread, any_pick()).prop_map(|(method, task)| Order::Thread(method, task)),
        1 => (any_pick(), 0u8..6).prop_map(|(task, priority)| Order::Priority(task, priority)),
        2 => (any_pick(), 0u8..3).prop_map(|(task, criticality)| Order::Criticality(task, criticality)),
        1 => (0u8..3).prop_map(Order::Level),
        2 => (context, any_pick(), any_pick())
            .prop_map(|(method, context, object)| Order::Context(method, context, object)),
        1 => any_pick().prop_map(Order::Delete),
        3 => any_pick().prop_map(Order::Create),
    ];
    prop_oneof![
        15 => act().prop_map(Step::Act),
        4 => order.prop_map(Step::Order),
        2 => (1u64..100).prop_map(Step::Time),
        1 => (1u8..3).prop_map(Step::Interrupt),
    ]
}

/// The steps of a history, printed one per line.
pub(super) struct History(pub(super) Vec<Step>);

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (self.0.iter()).try_for_each(|step| write!(f, "\n    {step:?}"))
    }
}

/// The objects that the programs share.
pub(super) struct TestSystem {
    pub(super) machine: Machine,
    pub(super) tasks: Vec<Task>,
    pub(super) endpoints: Vec<CPtr>,
    /// Badged capabilities to the endpoints.
    badged: Vec<CPtr>,
    pub(super) notifications: Vec<CPtr>,
    replies: Vec<CPtr>,
    pub(super) contexts: Vec<CPtr>,
    /// Slots that receive capabilities, empty at first.
    pub(super) received: Vec<CPtr>,
}

impl TestSystem {
    pub(super) fn new() -> Self {
        Self::of(Machine::new())
    }

    pub(super) fn of(mut machine: Machine) -> Self {
        // The root task must be able to run at every level.
        machine.set_criticality(machine.root, 7);
        let endpoints: Vec<_> = (0..2).map(|_| machine.endpoint()).collect();
        let badged = (endpoints.iter())
            .map(|endpoint| machine.mint(*endpoint, Rights::ALL, 5))
            .collect();
        let notifications: Vec<_> = (0..2).map(|_| machine.notification()).collect();
        let replies = (0..3).map(|_| machine.reply()).collect();
        for (line, notification) in (1..).zip(&notifications) {
            let handler = machine.issue_irq(line).unwrap();
            machine
                .invoke(handler, Method::IrqSetIrqHandler, &[], &[*notification])
                .unwrap();
        }
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
        let mut contexts: Vec<_> = (tasks.iter().map(|task| task.context))
            .filter(|context| *context != 0)
            .collect();
        contexts.push(machine.new_context(Budget::new(100, 400)));
        contexts.push(machine.create(ObjectType::SchedContext, 8));
        // Domains other than the first get short slots, if there are any.
        for index in (1..DOMAINS).take(2) {
            let words = [index, index, 100 * index];
            let configure = Method::DomainScheduleConfigure;
            machine
                .invoke(slots::DOMAIN, configure, &words, &[])
                .unwrap();
        }
        if DOMAINS > 1 {
            let configure = Method::DomainScheduleConfigure;
            machine
                .invoke(slots::DOMAIN, configure, &[0, 0, 500], &[])
                .unwrap();
            let start = Method::DomainScheduleSetStart;
            machine.invoke(slots::DOMAIN, start, &[0], &[]).unwrap();
        }
        let received = (0..3).map(|_| machine.slot()).collect();
        machine.rest();
        Self {
            machine,
            tasks,
            endpoints,
            badged,
            notifications,
            replies,
            contexts,
            received,
        }
    }

    /// All calls have a limit from the start, so that limits are combined with every other end of a
    /// call.
    pub(super) fn limit_calls(&mut self) {
        for endpoint in self.endpoints.clone() {
            let method = Method::CNodeEndpointSetThreshold;
            let words = [15, endpoint_flags::LIMIT];
            self.machine.in_root(method, endpoint, &words).unwrap();
        }
    }

    fn running(&self) -> Option<Task> {
        let runs = |task: &&Task| self.machine.runs(**task);
        self.tasks.iter().find(runs).copied()
    }

    /// The slots of all objects that may be deleted.
    fn mortal(&self) -> Vec<CPtr> {
        let objects = [
            &self.endpoints,
            &self.notifications,
            &self.replies,
            &self.contexts,
            &self.badged,
            &self.received,
        ];
        let objects = objects.into_iter().flatten().copied();
        objects
            .chain(self.tasks.iter().map(|task| task.tcb))
            .collect()
    }

    pub(super) fn step(&mut self, step: &Step) {
        match step {
            Step::Act(act) => match self.running() {
                Some(task) => self.act(task, act),
                None => self.machine.advance(100),
            },
            Step::Order(order) => self.order(order),
            Step::Time(ticks) => self.machine.advance(*ticks),
            Step::Late(ticks) => self.machine.stall(*ticks),
            Step::Interrupt(line) => self.machine.raise(Irq((*line).into())),
        }
    }

    fn act(&mut self, task: Task, act: &Act) {
        let machine = &mut self.machine;
        let message = Message::new(3, &[1, 2, 3, 4, 5, 6]);
        let operands = |cap, reply, destination| host_machine::machine::Operands {
            cap,
            reply,
            destination,
        };
        match act {
            Act::Endpoint(call, endpoint, reply, badged) => {
                let endpoints = if *badged {
                    &self.badged
                } else {
                    &self.endpoints
                };
                let operands = operands(pick(endpoints, *endpoint), pick(&self.replies, *reply), 0);
                machine.syscall(task, *call, operands, &message);
            }
            Act::Notification(call, notification) => {
                let operands = operands(pick(&self.notifications, *notification), 0, 0);
                machine.syscall(task, *call, operands, &message);
            }
            Act::Reply(reply) => machine.send(task, pick(&self.replies, *reply), &message),
            Act::Combined(call, target, source, reply) => {
                let reply = pick(&self.replies, *reply);
                let targets = [&*self.endpoints, &self.notifications, &self.replies].concat();
                let sources = [&*self.endpoints, &self.notifications].concat();
                let target = pick(&targets, *target);
                let reply = if *call == Syscall::NBSendWait {
                    target
                } else {
                    reply
                };
                let operands = operands(pick(&sources, *source), reply, target);
                machine.syscall(task, *call, operands, &message);
            }
            Act::Transfer(call, endpoint, reply, gift, slot) => {
                let gifts = [&*self.endpoints, &self.badged, &self.notifications].concat();
                let gifts = [&gifts, &*self.received, &[slots::INIT_THREAD_CNODE]].concat();
                let message = message.with_caps(&[pick(&gifts, *gift)]);
                receive_in(machine, task, pick(&self.received, *slot));
                let operands = operands(
                    pick(&self.endpoints, *endpoint),
                    pick(&self.replies, *reply),
                    0,
                );
                machine.syscall(task, *call, operands, &message);
            }
            Act::YieldTo(context) => {
                let message = Message::new(Method::SchedContextYieldTo.number(), &[]);
                machine.call(task, pick(&self.contexts, *context), &message);
            }
            Act::YieldToTimeout(context, time, reply) => {
                let (context, instant) = (pick(&self.contexts, *context), machine.now() + time);
                let replies = [&self.replies[..], &[0]].concat();
                machine.yield_to_timeout(task, context, instant, Some(pick(&replies, *reply)));
            }
            Act::Turn(context, time, reply, endpoint) => {
                let instant = (machine.now() + time) as usize;
                let reply = pick(&self.replies, *reply);
                let label = Method::SchedContextYieldToTimeout.number();
                let message = Message::new(label, &[instant]).with_caps(&[reply]);
                let endpoint = pick(&self.endpoints, *endpoint);
                let operands = operands(endpoint, reply, pick(&self.contexts, *context));
                machine.syscall(task, Syscall::NBSendRecv, operands, &message);
            }
            Act::YieldUntil(amount) => machine.yield_until_budget(task, *amount),
            Act::Yield => machine.yield_now(task),
            Act::Divert(other) => {
                let other = pick(&self.tasks, *other);
                if machine.state(other) != State::Gone {
                    machine.divert(other);
                }
            }
            Act::Fault(true) => machine.debug_exception(task, FAULT),
            Act::Fault(false) => machine.fault(task, FAULT),
        }
    }

    /// The invariants hold, whatever the result.
    fn order(&mut self, order: &Order) {
        let mortal = self.mortal();
        let machine = &mut self.machine;
        let root = slots::INIT_THREAD_TCB;
        let _ = match order {
            Order::Thread(method, task) => {
                machine.invoke(pick(&self.tasks, *task).tcb, *method, &[], &[])
            }
            Order::Priority(task, priority) => {
                let words = [usize::from(*priority)];
                machine.invoke(
                    pick(&self.tasks, *task).tcb,
                    Method::TcbSetPriority,
                    &words,
                    &[root],
                )
            }
            Order::Configure(context, budget) => {
                let controls = machine.boot_info.sched_control;
                let control = controls.start + usize::from(*context / 7) % controls.len();
                machine.configure_by(control, pick(&self.contexts, *context), *budget)
            }
            Order::Context(method, context, object) => {
                let tasks: Vec<_> = self.tasks.iter().map(|task| task.tcb).collect();
                let objects = [tasks, self.notifications.clone()].concat();
                let object = [pick(&objects, *object)];
                machine.invoke(pick(&self.contexts, *context), *method, &[], &object)
            }
            Order::BindNotification(task, object) => {
                let object = [pick(&self.notifications, *object)];
                machine.invoke(
                    pick(&self.tasks, *task).tcb,
                    Method::TcbBindNotification,
                    &[],
                    &object,
                )
            }
            Order::TimeoutHandler(task, object) => {
                let object = [pick(&self.endpoints, *object)];
                machine.invoke(
                    pick(&self.tasks, *task).tcb,
                    Method::TcbSetTimeoutEndpoint,
                    &[],
                    &object,
                )
            }
            Order::SchedParams(task, priority, context, handler) => {
                let contexts = [&self.contexts[..], &[0]].concat();
                let handlers = [&self.endpoints[..], &[0]].concat();
                let caps = [root, pick(&contexts, *context), pick(&handlers, *handler)];
                let words = [255, usize::from(*priority)];
                machine.invoke(
                    pick(&self.tasks, *task).tcb,
                    Method::TcbSetSchedParams,
                    &words,
                    &caps,
                )
            }
            Order::CancelBadgedSends(endpoint) => machine.in_root(
                Method::CNodeCancelBadgedSends,
                pick(&self.badged, *endpoint),
                &[],
            ),
            Order::Threshold(endpoint, threshold, flags) => machine.in_root(
                Method::CNodeEndpointSetThreshold,
                pick(&self.endpoints, *endpoint),
                &[*threshold, *flags],
            ),
            Order::Criticality(task, criticality) => {
                let words = [usize::from(*criticality)];
                machine.invoke(
                    pick(&self.tasks, *task).tcb,
                    Method::TcbSetCriticality,
                    &words,
                    &[root],
                )
            }
            Order::Level(level) => {
                let controls = machine.boot_info.sched_control;
                let control = controls.start + usize::from(*level) % controls.len();
                let method = Method::SchedControlSetCriticalityLevel;
                machine.invoke(control, method, &[usize::from(*level)], &[])
            }
            Order::Domain(task, domain) => {
                let thread = [pick(&self.tasks, *task).tcb];
                let words = [usize::from(*domain).rem_euclid(DOMAINS)];
                machine.invoke(slots::DOMAIN, Method::DomainSetSet, &words, &thread)
            }
            Order::Delete(object) => {
                let slot = pick(&mortal, *object);
                machine.in_root(Method::CNodeDelete, slot, &[])
            }
            Order::Create(object) => {
                self.create(*object);
                return;
            }
        };
    }

    /// Creates a deleted object again.
    fn create(&mut self, object: Pick) {
        let machine = &mut self.machine;
        if let Some(task) = self
            .tasks
            .iter_mut()
            .find(|task| machine.state(**task) == State::Gone)
        {
            *task = machine.spawn(Spec::new("reborn", 3));
            return;
        }
        let slot = pick(&self.mortal(), object);
        let machine = &mut self.machine;
        if !machine.is_empty(slot) {
            return;
        }
        if let Some(index) = self.badged.iter().position(|badged| *badged == slot) {
            let _ = machine.mint_to(self.endpoints[index], slot, Rights::ALL, 5);
            return;
        }
        if self.received.contains(&slot) {
            return;
        }
        let (kind, bits) = if self.endpoints.contains(&slot) {
            (ObjectType::Endpoint, 0)
        } else if self.notifications.contains(&slot) {
            (ObjectType::Notification, 0)
        } else if self.replies.contains(&slot) {
            (ObjectType::Reply, 0)
        } else {
            (ObjectType::SchedContext, 8)
        };
        machine.create_in(kind, bits, slot);
    }
}

/// Sets the receive slot of a task, by an address of full width.
pub(super) fn receive_in(machine: &mut Machine, task: Task, slot: CPtr) {
    let buffer = machine.buffer_mut(task).expect("the task has a buffer");
    buffer.receive_cnode = slots::INIT_THREAD_CNODE;
    buffer.receive_index = slot;
    buffer.receive_depth = WORD_BITS;
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn invariants_hold(
        kernel_time in 0..4u64,
        limited in any::<bool>(),
        history in prop::collection::vec(step(), 1..150).prop_map(History),
    ) {
        let mut system = TestSystem::new();
        if limited {
            system.limit_calls();
        }
        system.machine.kernel.arch.time_per_look = Ticks(kernel_time);
        for step in &history.0 {
            system.step(step);
        }
    }

    /// At a raised criticality level, the rank of a thread changes with its context.
    #[test]
    fn the_highest_rank_runs_at_raised_levels(
        level in 1u8..3,
        criticalities in prop::collection::vec(0u8..3, 5),
        thresholds in prop::collection::vec((0usize..40, 0..=endpoint_flags::MASK), 2),
        lends in any::<bool>(),
        history in prop::collection::vec(step_of_ranks(), 1..150).prop_map(History),
    ) {
        let mut system = TestSystem::new();
        let mut orders: Vec<_> = (0..).zip(criticalities).map(|(task, it)| Order::Criticality(task, it)).collect();
        orders.push(Order::Level(level));
        orders.extend((0..).zip(thresholds).map(|(at, (time, flags))| Order::Threshold(at, time, flags)));
        // The context without a thread is that of the first notification.
        orders.extend(lends.then_some(Order::Context(Method::SchedContextBind, 3, 5)));
        orders.iter().for_each(|order| system.order(order));
        for step in &history.0 {
            system.step(step);
        }
    }
}
