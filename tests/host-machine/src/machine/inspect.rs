//! Inspection of the machine's state.

use abi::registers::{CAP, INFO, MR};
use abi::{MAX_EXTRA_CAPS, MessageInfo};
use kernel::arch::{Arch, ArchCap, Frame, UserContext};
use kernel::cap::Cap;
use kernel::object::{SchedContext, Thread, ThreadSlot, ThreadState};
use kernel::token::Ptr;

use super::{Machine, Received, Task};
use crate::CPtr;
use crate::arch::Host;

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It was deleted.
    Gone,
    /// It is suspended, or has failed.
    Inactive,
    /// It can run, given a budget and enough priority.
    Runnable,
    /// It waits for a receiver.
    Sending,
    /// It waits for a sender.
    Receiving,
    /// It waits for a reply.
    Calling,
    /// It waits for a signal.
    Waiting,
}

/// The frame of a frame capability.
pub(super) fn frame(cap: &Cap<Host>) -> Option<Frame> {
    match cap {
        Cap::Arch(cap) => cap.frame(),
        _ => None,
    }
}

impl Machine {
    /// The CSpace of the root task, from which everything can be reached.
    pub fn root_space(&self) -> Cap<Host> {
        self.root_space
    }

    /// The capability in a slot of the root task's space.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn cap(&self, address: CPtr) -> Cap<Host> {
        let slot = self.kernel.lookup_cap(self.root_space, address);
        self.kernel[slot.expect("the slot exists")].cap()
    }

    /// Whether a slot is empty.
    pub fn is_empty(&self, address: CPtr) -> bool {
        self.cap(address).is_null()
    }

    /// The thread of a task.
    ///
    /// # Panics
    /// If it was deleted.
    pub fn thread(&self, task: Task) -> &Thread<Host> {
        assert!(!self.is_gone(task), "the task was deleted");
        &self.kernel[task.thread]
    }

    fn is_gone(&self, task: Task) -> bool {
        let held = || matches!(self.cap(task.tcb), Cap::Thread(thread) if thread == task.thread);
        !self.runs(task) && !held()
    }

    /// What a task is doing.
    pub fn state(&self, task: Task) -> State {
        if self.is_gone(task) {
            return State::Gone;
        }
        match self.thread(task).state {
            ThreadState::Inactive => State::Inactive,
            ThreadState::Running | ThreadState::Restart => State::Runnable,
            ThreadState::BlockedOnSend { .. } => State::Sending,
            ThreadState::BlockedOnReceive { .. } => State::Receiving,
            ThreadState::BlockedOnReply { .. } | ThreadState::BlockedOnReturn { .. } => {
                State::Calling
            }
            ThreadState::BlockedOnNotification { .. } => State::Waiting,
        }
    }

    /// The thread that runs, as a task without capabilities: the root task may have none to it.
    pub fn current(&self) -> Option<Task> {
        self.kernel.core.current.map(|thread| Task {
            tcb: 0,
            context: 0,
            buffer: 0,
            thread,
        })
    }

    /// The name of the running task; `"none"` when the core is idle.
    pub fn running(&self) -> String {
        self.kernel
            .core
            .current
            .map_or("none".into(), |thread| self.name_of(thread))
    }

    /// Whether a task runs.
    pub fn runs(&self, task: Task) -> bool {
        self.kernel.core.current == Some(task.thread)
    }

    /// The name of a task.
    pub fn name(&self, task: Task) -> String {
        if self.is_gone(task) {
            return "the deleted".into();
        }
        self.name_of(task.thread)
    }

    fn name_of(&self, thread: Ptr<Thread<Host>>) -> String {
        let name = self.kernel[thread].name;
        let end = name.iter().position(|byte| *byte == 0);
        String::from_utf8_lossy(&name[..end.unwrap_or(name.len())]).into_owned()
    }

    /// The scheduling context to which a capability refers.
    ///
    /// # Panics
    /// If the capability is to something else.
    pub fn context(&self, context: CPtr) -> Ptr<SchedContext<Host>> {
        match self.cap(context) {
            Cap::SchedContext { object, .. } => object,
            _ => panic!("{context} is not a scheduling context"),
        }
    }

    /// The name of the task that has a scheduling context; `"none"` if no task has it.
    pub fn holder(&self, context: CPtr) -> String {
        self.kernel[self.context(context)]
            .thread
            .map_or("none".into(), |thread| self.name_of(thread))
    }

    /// How many replenishments a scheduling context may have.
    pub fn refill_capacity(&self, context: CPtr) -> usize {
        self.kernel[self.context(context)].refill_capacity()
    }

    /// The replenishments of a scheduling context, as times and amounts in microseconds.
    pub fn refills(&self, context: CPtr) -> Vec<(u64, u64)> {
        self.kernel[self.context(context)]
            .replenishments()
            .map(|refill| (refill.time.0, refill.amount.0))
            .collect()
    }

    /// Whether a task has no scheduling context.
    pub fn is_passive(&self, task: Task) -> bool {
        self.thread(task).sched_context.is_none()
    }

    /// A register of a task.
    pub fn register(&self, task: Task, register: usize) -> usize {
        self.thread(task).context.get(register)
    }

    /// The badge register, the only one that signals and polling change.
    pub fn badge(&self, task: Task) -> usize {
        self.register(task, CAP)
    }

    /// What a task has received when its system call is complete.
    pub fn received(&self, task: Task) -> Received {
        let info = MessageInfo(self.register(task, INFO));
        let buffer = self.thread_buffer(task.thread);
        let words = (0..info.length()).map(|index| match (MR.get(index), buffer) {
            (Some(register), _) => self.register(task, *register),
            (None, Some(buffer)) => buffer.message[index],
            (None, None) => panic!("a message longer than the registers needs a buffer"),
        });
        let mut badges = [None; MAX_EXTRA_CAPS];
        for (index, badge) in badges.iter_mut().enumerate() {
            if info.unwrapped() >> index & 1 != 0 {
                *badge = buffer.map(|buffer| buffer.caps_or_badges[index]);
            }
        }
        Received {
            badge: self.badge(task),
            label: info.label(),
            words: words.collect(),
            caps: info.extra_caps(),
            badges,
        }
    }

    /// The IPC buffer of an existing thread.
    pub(super) fn thread_buffer(&self, thread: Ptr<Thread<Host>>) -> Option<&abi::IpcBuffer> {
        // SAFETY: the buffer lies in a frame of the machine's memory, aligned to its size, and the
        // kernel does not run while the machine is borrowed.
        self.address_of_buffer(thread)
            .map(|address| unsafe { &*(address as *const abi::IpcBuffer) })
    }

    /// The host address of a task's IPC buffer.
    pub(super) fn buffer_address(&self, task: Task) -> Option<usize> {
        assert!(!self.is_gone(task), "the task was deleted");
        self.address_of_buffer(task.thread)
    }

    fn address_of_buffer(&self, thread: Ptr<Thread<Host>>) -> Option<usize> {
        let thread = &self.kernel[thread];
        let frame = frame(&thread.cap(ThreadSlot::Buffer))?;
        let offset = thread.buffer_address % (1 << frame.bits);
        Some(Host::to_virtual(frame.address) + offset)
    }
}
