//! A kernel with a thread in every state, as the starting point for violations.

use abi::sizes::{REFILL_BYTES, SCHED_CONTEXT_HEADER_BYTES};
use host_machine::arch::Host;
use host_machine::{Budget, CPtr, Machine, Message, Spec, Task};
use kernel::Kernel;
use kernel::budget::Refill;
use kernel::cap::{Cap, Slot};
use kernel::invariants::{Check, Reach, check_thread};
use kernel::object::{Endpoint, Notification, Reply, SchedContext, ThreadSlot};
use kernel::token::Ptr;

use crate::common::{passive_server, sender, server, waiter, word};

/// One thread in every state.
pub struct TestSystem {
    pub machine: Machine,
    /// Waits at an endpoint, with a reply object and a bound notification.
    pub receiver: Task,
    /// Waits to send.
    pub sender: Task,
    /// Waits for a notification that has a scheduling context.
    pub waiter: Task,
    /// Waits for a replenishment.
    pub sleeper: Task,
    /// Waits for the reply of a server that has made a nested call.
    pub client: Task,
    /// Runs on the client's context: the server of the nested call.
    pub current: Task,
    /// Is ready.
    pub ready: Task,
    pub endpoint: CPtr,
    pub signal: CPtr,
    pub bound: CPtr,
    pub lent: CPtr,
    pub inner: CPtr,
    pub outer: CPtr,
    pub waiting: CPtr,
}

impl TestSystem {
    pub fn new() -> Self {
        let mut machine = Machine::new();
        let [endpoint, first, second, queue] = [(); 4].map(|()| machine.endpoint());
        let [outer, inner, waiting] = [(); 3].map(|()| machine.reply());
        let [signal, bound] = [(); 2].map(|()| machine.notification());
        let lent = machine.new_context(Budget::new(50, 100));
        machine.bind(lent, signal).unwrap();
        let receiver = server(&mut machine, "receiver", 50, endpoint, waiting);
        let bind = abi::Method::TcbBindNotification;
        machine.invoke(receiver.tcb, bind, &[], &[bound]).unwrap();
        let waiter = waiter(&mut machine, "waiter", 50, signal);
        let sender = sender(&mut machine, "sender", 50, queue, &word(1));
        let middle = passive_server(&mut machine, "middle", 25, first, outer);
        let current = passive_server(&mut machine, "current", 20, second, inner);
        let sleeper = machine.spawn(Spec::new("sleeper", 40).budget(Budget::new(100, 100_000)));
        let client = machine.spawn(Spec::new("client", 30).budget(Budget::new(5_000, 9_000)));
        let ready = machine.spawn(Spec::new("ready", 10).active());
        machine.yield_now(sleeper);
        machine.call(client, first, &Message::default());
        machine.call(middle, second, &Message::default());
        assert!(machine.runs(current));
        Self {
            machine,
            receiver,
            sender,
            waiter,
            sleeper,
            client,
            current,
            ready,
            endpoint,
            signal,
            bound,
            lent,
            inner,
            outer,
            waiting,
        }
    }

    pub fn kernel(&mut self) -> &mut Kernel<Host> {
        self.machine.kernel
    }

    pub fn context(&self) -> Ptr<SchedContext<Host>> {
        self.machine.context(self.client.context)
    }

    pub fn reply(&self, reply: CPtr) -> Ptr<Reply<Host>> {
        match self.machine.cap(reply) {
            Cap::Reply { object, .. } => object,
            _ => panic!("{reply} is no reply object"),
        }
    }

    pub fn endpoint(&self) -> Ptr<Endpoint<Host>> {
        match self.machine.cap(self.endpoint) {
            Cap::Endpoint(cap) => cap.object,
            _ => panic!("it is no endpoint"),
        }
    }

    pub fn notification(&self, notification: CPtr) -> Ptr<Notification<Host>> {
        match self.machine.cap(notification) {
            Cap::Notification(cap) => cap.object,
            _ => panic!("{notification} is no notification"),
        }
    }

    pub fn slot(&self, address: CPtr) -> Ptr<Slot<Host>> {
        let kernel = &self.machine.kernel;
        let space = kernel[self.machine.root.thread].cap(ThreadSlot::CSpace);
        kernel.lookup_cap(space, address).unwrap()
    }

    pub fn thread(&self, task: Task, reach: Reach) -> Check {
        check_thread(self.machine.kernel, task.thread, reach)
    }

    /// Overwrites a replenishment of the client's context.
    pub fn write_refill(&self, index: usize, refill: Refill) {
        let header = SCHED_CONTEXT_HEADER_BYTES.next_multiple_of(REFILL_BYTES);
        let address = self.context().address() + header + index * REFILL_BYTES;
        // SAFETY: the replenishments follow the header, and the kernel does not run.
        unsafe { (address as *mut Refill).write(refill) };
    }
}
