//! Tasks: threads of a test.

use abi::{Method, ObjectType, Syscall, sched_context_flags, slots};
use kernel::object::Thread;
use kernel::token::Ptr;

use super::entry::Operands;
use super::root::Answer;
use super::{Machine, Message};
use crate::CPtr;
use crate::arch::Host;

/// A thread, and the capabilities to its objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// The capability to the thread.
    pub tcb: CPtr,
    /// The scheduling context made for it; 0 for a passive task.
    pub context: CPtr,
    /// The frame of its IPC buffer; 0 if it has none.
    pub buffer: CPtr,
    /// The thread object.
    pub thread: Ptr<Thread<Host>>,
}

impl Task {
    /// The root task.
    pub(super) const fn initial(thread: Ptr<Thread<Host>>) -> Self {
        Self {
            tcb: slots::INIT_THREAD_TCB,
            context: slots::INIT_THREAD_SC,
            buffer: slots::INIT_THREAD_IPC_BUFFER,
            thread,
        }
    }
}

/// The parameters of a scheduling context, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The budget.
    pub budget: u64,
    /// The period.
    pub period: u64,
    /// Replenishments beyond the two that every context has.
    pub extra_refills: usize,
    /// The badge that timeout handlers receive.
    pub badge: usize,
    /// Sporadic server instead of constant bandwidth.
    pub sporadic: bool,
    /// An idling context: charged while its thread waits at an endpoint.
    pub idling: bool,
}

impl Budget {
    /// A budget per period, with room for many replenishments.
    pub const fn new(budget: u64, period: u64) -> Self {
        Self {
            budget,
            period,
            extra_refills: 8,
            badge: 0,
            sporadic: false,
            idling: false,
        }
    }

    /// A timeslice for round robin.
    pub const fn slice(slice: u64) -> Self {
        Self {
            extra_refills: 0,
            ..Self::new(slice, slice)
        }
    }

    /// The same with this total number of replenishments.
    #[must_use]
    pub const fn refills(self, count: usize) -> Self {
        Self {
            extra_refills: count - 2,
            ..self
        }
    }

    /// The same as a sporadic server.
    #[must_use]
    pub const fn sporadic(self) -> Self {
        Self {
            sporadic: true,
            ..self
        }
    }

    /// The same as an idling context.
    #[must_use]
    pub const fn idling(self) -> Self {
        Self {
            idling: true,
            ..self
        }
    }

    /// The same with a badge for timeout handlers.
    #[must_use]
    pub const fn badge(self, badge: usize) -> Self {
        Self { badge, ..self }
    }

    fn words(self) -> [usize; 5] {
        let flags = [
            (self.sporadic, sched_context_flags::SPORADIC),
            (self.idling, sched_context_flags::IDLING),
        ];
        let flags = flags.into_iter().filter(|(set, _)| *set);
        let flags = flags.fold(0, |flags, (_, flag)| flags | flag);
        [
            self.budget as usize,
            self.period as usize,
            self.extra_refills,
            self.badge,
            flags,
        ]
    }
}

/// The parameters of a new task.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    name: &'static str,
    priority: u8,
    pub(super) budget: Option<Budget>,
    buffer: bool,
    fault_handler: CPtr,
    timeout_handler: CPtr,
    suspended: bool,
}

impl Spec {
    /// A passive task with an IPC buffer and without handlers, which is resumed at once.
    pub const fn new(name: &'static str, priority: u8) -> Self {
        Self {
            name,
            priority,
            budget: None,
            buffer: true,
            fault_handler: 0,
            timeout_handler: 0,
            suspended: false,
        }
    }

    /// The same with a budget.
    #[must_use]
    pub const fn budget(self, budget: Budget) -> Self {
        Self {
            budget: Some(budget),
            ..self
        }
    }

    /// The same with a long timeslice.
    #[must_use]
    pub const fn active(self) -> Self {
        self.budget(Budget::slice(10_000))
    }

    /// The same without IPC buffer.
    #[must_use]
    pub const fn without_buffer(self) -> Self {
        Self {
            buffer: false,
            ..self
        }
    }

    /// The same with a fault handler.
    #[must_use]
    pub const fn fault_handler(self, endpoint: CPtr) -> Self {
        Self {
            fault_handler: endpoint,
            ..self
        }
    }

    /// The same with a timeout handler.
    #[must_use]
    pub const fn timeout_handler(self, endpoint: CPtr) -> Self {
        Self {
            timeout_handler: endpoint,
            ..self
        }
    }

    /// The same, but not resumed.
    #[must_use]
    pub const fn suspended(self) -> Self {
        Self {
            suspended: true,
            ..self
        }
    }
}

/// Virtual address of the IPC buffer of all tasks but the root task.
const BUFFER: usize = 0x50_0000;
/// Entry point of tasks.
const ENTRY: usize = 0x1_0000;

pub(super) fn name(text: &str) -> [u8; 16] {
    let mut name = [0; 16];
    name[..text.len()].copy_from_slice(text.as_bytes());
    name
}

impl Machine {
    /// Makes a task.
    ///
    /// # Panics
    /// If memory is exhausted.
    pub fn spawn(&mut self, spec: Spec) -> Task {
        let tcb = self.create(ObjectType::Tcb, 0);
        let buffer = if spec.buffer {
            self.create(ObjectType::X86Page4K, 0)
        } else {
            0
        };
        let context = spec.budget.map_or(0, |budget| self.new_context(budget));
        let kernel::cap::Cap::Thread(thread) = self.cap(tcb) else {
            panic!("a thread was made");
        };
        self.kernel[thread].name = name(spec.name);
        let address = if spec.buffer { BUFFER } else { 0 };
        let spaces = [slots::INIT_THREAD_CNODE, slots::INIT_THREAD_VSPACE, buffer];
        let priority = [255, spec.priority.into()];
        let handlers = [slots::INIT_THREAD_TCB, context, spec.fault_handler];
        let timeout = [spec.timeout_handler];
        let start = [(!spec.suspended).into(), 1, ENTRY];
        for (method, words, caps) in [
            (Method::TcbConfigure, &[0, 0, address][..], &spaces[..]),
            (Method::TcbSetSchedParams, &priority, &handlers),
            (Method::TcbSetTimeoutEndpoint, &[], &timeout),
            (Method::TcbWriteRegisters, &start, &[]),
        ] {
            let answer = self.invoke(tcb, method, words, caps);
            assert_eq!(answer, Ok(vec![]), "{method:?}");
        }
        Task {
            tcb,
            context,
            buffer,
            thread,
        }
    }

    /// A scheduling context with a budget.
    ///
    /// # Panics
    /// If the budget is impossible.
    pub fn new_context(&mut self, budget: Budget) -> CPtr {
        let context = self.create(ObjectType::SchedContext, 8);
        self.configure(context, budget)
            .unwrap_or_else(|error| panic!("{budget:?}: {error:?}"));
        context
    }

    /// Gives a scheduling context a budget.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn configure(&mut self, context: CPtr, budget: Budget) -> Answer {
        let control = self.boot_info.sched_control.start;
        self.configure_by(control, context, budget)
    }

    /// The same with a given `SchedControl` capability.
    pub fn configure_by(&mut self, control: CPtr, context: CPtr, budget: Budget) -> Answer {
        self.invoke(
            control,
            Method::SchedControlConfigureFlags,
            &budget.words(),
            &[context],
        )
    }

    /// Invokes a method of a task's thread.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn tcb(&mut self, task: Task, method: Method, words: &[usize], caps: &[CPtr]) -> Answer {
        self.invoke(task.tcb, method, words, caps)
    }

    /// Suspends a task.
    pub fn suspend(&mut self, task: Task) {
        assert_eq!(self.tcb(task, Method::TcbSuspend, &[], &[]), Ok(vec![]));
    }

    /// Suspends a task, unless it was deleted.
    pub fn suspend_if_there(&mut self, task: Task) {
        if self.state(task) != super::State::Gone {
            self.suspend(task);
        }
    }

    /// Resumes a task.
    pub fn resume(&mut self, task: Task) {
        assert_eq!(self.tcb(task, Method::TcbResume, &[], &[]), Ok(vec![]));
    }

    /// Sets the priority of a task.
    pub fn set_priority(&mut self, task: Task, priority: u8) {
        let authority = [slots::INIT_THREAD_TCB];
        let answer = self.tcb(task, Method::TcbSetPriority, &[priority.into()], &authority);
        assert_eq!(answer, Ok(vec![]));
    }

    /// Sets the criticality of a task.
    pub fn set_criticality(&mut self, task: Task, criticality: u8) {
        let words = [criticality.into()];
        let authority = [slots::INIT_THREAD_TCB];
        let answer = self.tcb(task, Method::TcbSetCriticality, &words, &authority);
        assert_eq!(answer, Ok(vec![]));
    }

    /// Sets the criticality level.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn set_level(&mut self, level: usize) -> Answer {
        let control = self.boot_info.sched_control.start;
        let method = Method::SchedControlSetCriticalityLevel;
        self.invoke(control, method, &[level], &[])
    }

    /// Binds a scheduling context to a thread or notification.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn bind(&mut self, context: CPtr, object: CPtr) -> Answer {
        self.invoke(context, Method::SchedContextBind, &[], &[object])
    }
}

/// The system calls, by a running task.
impl Machine {
    fn plain(&mut self, task: Task, call: Syscall, cap: CPtr, reply: CPtr, message: &Message) {
        let operands = Operands {
            cap,
            reply,
            destination: 0,
        };
        self.syscall(task, call, operands, message);
    }

    /// `Send`.
    pub fn send(&mut self, task: Task, cap: CPtr, message: &Message) {
        self.plain(task, Syscall::Send, cap, 0, message);
    }

    /// `NBSend`.
    pub fn nb_send(&mut self, task: Task, cap: CPtr, message: &Message) {
        self.plain(task, Syscall::NBSend, cap, 0, message);
    }

    /// `Call`.
    pub fn call(&mut self, task: Task, cap: CPtr, message: &Message) {
        self.plain(task, Syscall::Call, cap, 0, message);
    }

    /// `Recv`.
    pub fn recv(&mut self, task: Task, cap: CPtr, reply: CPtr) {
        self.plain(task, Syscall::Recv, cap, reply, &Message::default());
    }

    /// `NBRecv`.
    pub fn nb_recv(&mut self, task: Task, cap: CPtr, reply: CPtr) {
        self.plain(task, Syscall::NBRecv, cap, reply, &Message::default());
    }

    /// `Wait`.
    pub fn wait(&mut self, task: Task, cap: CPtr) {
        self.plain(task, Syscall::Wait, cap, 0, &Message::default());
    }

    /// `NBWait`.
    pub fn nb_wait(&mut self, task: Task, cap: CPtr) {
        self.plain(task, Syscall::NBWait, cap, 0, &Message::default());
    }

    /// `ReplyRecv`.
    pub fn reply_recv(&mut self, task: Task, cap: CPtr, reply: CPtr, message: &Message) {
        self.plain(task, Syscall::ReplyRecv, cap, reply, message);
    }

    /// `NBSendWait`: sends to `target`, then waits for `source`.
    pub fn nb_send_wait(&mut self, task: Task, target: CPtr, message: &Message, source: CPtr) {
        self.plain(task, Syscall::NBSendWait, source, target, message);
    }

    /// `NBSendRecv`: sends to `target`, then receives from `source` with `reply`.
    pub fn nb_send_recv(
        &mut self,
        task: Task,
        target: CPtr,
        message: &Message,
        source: CPtr,
        reply: CPtr,
    ) {
        let operands = Operands {
            cap: source,
            reply,
            destination: target,
        };
        self.syscall(task, Syscall::NBSendRecv, operands, message);
    }

    /// Signals a notification, or sends an empty message.
    pub fn signal(&mut self, task: Task, notification: CPtr) {
        self.send(task, notification, &Message::default());
    }

    /// `SchedContext_YieldToTimeout`; with `reply`, after answering the timeout message of that reply
    /// object.
    pub fn yield_to_timeout(&mut self, task: Task, context: CPtr, time: u64, reply: Option<CPtr>) {
        let label = Method::SchedContextYieldToTimeout.number();
        let message = Message::new(label, &[time as usize]);
        let caps = reply.map_or(vec![], |reply| vec![reply]);
        self.call(task, context, &message.with_caps(&caps));
    }

    /// `YieldUntilBudget`, in microseconds.
    pub fn yield_until_budget(&mut self, task: Task, amount: u64) {
        let message = Message::new(0, &[amount as usize]);
        self.plain(task, Syscall::YieldUntilBudget, 0, 0, &message);
    }

    /// `Yield`.
    pub fn yield_now(&mut self, task: Task) {
        self.plain(task, Syscall::Yield, 0, 0, &Message::default());
    }
}
