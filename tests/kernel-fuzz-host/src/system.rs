//! A program that holds a capability of every kind, and other threads as its targets.

use abi::{GuardData, Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::machine::Snapshot;
use host_machine::{Budget, CPtr, Machine, Spec, Task};
use kernel::arch::Irq;

/// log2 of the number of slots in the program's CSpace.
pub const RADIX: usize = 6;

/// The slots of the program's CSpace. All other slots are empty.
#[allow(missing_docs, reason = "each is the capability that its name says")]
pub mod at {
    pub const SELF: usize = 1;
    pub const SPACE: usize = 2;
    pub const ADDRESS_SPACE: usize = 3;
    pub const IRQ_CONTROL: usize = 4;
    pub const ASID_CONTROL: usize = 5;
    pub const ASID_POOL: usize = 6;
    pub const DOMAIN: usize = 7;
    pub const SCHED_CONTROL: usize = 8;
    pub const CONTEXT: usize = 9;
    pub const BUFFER: usize = 10;
    /// 16 KiB of memory.
    pub const UNTYPED: usize = 11;
    /// 1 KiB of memory.
    pub const SMALL: usize = 12;
    /// An endpoint with an empty wait queue.
    pub const ENDPOINT: usize = 13;
    /// The same endpoint, with a badge.
    pub const BADGED: usize = 14;
    /// An endpoint at which a passive server waits.
    pub const SERVICE: usize = 15;
    /// The same endpoint, without the right to grant.
    pub const NO_GRANT: usize = 16;
    pub const NOTIFICATION: usize = 17;
    /// Another notification, with a badge.
    pub const SIGNAL: usize = 18;
    pub const REPLY: usize = 19;
    pub const OTHER_REPLY: usize = 20;
    pub const CNODE: usize = 21;
    /// A CNode with a guard.
    pub const GUARDED: usize = 22;
    /// A thread that runs when no higher-priority thread is ready.
    pub const PEER: usize = 23;
    /// A suspended thread.
    pub const STOPPED: usize = 24;
    pub const PEER_CONTEXT: usize = 25;
    /// A configured context without a thread.
    pub const SPARE: usize = 26;
    /// A context that is not configured.
    pub const UNCONFIGURED: usize = 27;
    pub const FRAME: usize = 28;
    /// An address space without an ASID.
    pub const NEW_SPACE: usize = 29;
    pub const IRQ_HANDLER: usize = 30;
    /// A notification that an interrupt line signals.
    pub const INTERRUPT: usize = 31;
    /// The endpoint at which the program's fault handler waits.
    pub const FAULTS: usize = 32;
    pub const SERVER: usize = 33;
    /// The first of many empty slots.
    pub const EMPTY: usize = 40;
}

/// The interrupt line to which the program has the handler capability.
pub const LINE: Irq = Irq(1);

/// A machine in which the program runs, and a snapshot of its initial state.
pub struct TestSystem {
    /// The machine.
    pub machine: Machine,
    /// The program's threads, the server, and the fault handler.
    pub tasks: [Task; 5],
    begin: Snapshot,
}

impl TestSystem {
    /// Creates the machine in its initial state.
    pub fn new() -> Self {
        let mut machine = Machine::with_memory(19);
        let space = machine.cnode(RADIX);
        let [endpoint, service, faults] = [(); 3].map(|()| machine.endpoint());
        let [notification, signal, interrupt] = [(); 3].map(|()| machine.notification());
        let [reply, other_reply, service_reply, fault_reply] = [(); 4].map(|()| machine.reply());
        let line = machine.issue_irq(LINE.0).expect("the line is free");
        machine
            .invoke(line, Method::IrqSetIrqHandler, &[], &[interrupt])
            .expect("a notification can be signalled");

        let server = waiting(&mut machine, "server", 20, service, service_reply);
        let unbind = Method::SchedContextUnbindObject;
        machine
            .invoke(server.context, unbind, &[], &[server.tcb])
            .expect("it has a context");
        let handler = waiting(&mut machine, "handler", 30, faults, fault_reply);

        let hostile = Spec::new("hostile", 10)
            .budget(Budget::new(5_000, 10_000))
            .fault_handler(faults);
        let hostile = machine.spawn(hostile);
        let peer = machine.spawn(Spec::new("peer", 5).budget(Budget::slice(1_000)));
        let stopped = machine.spawn(Spec::new("stopped", 15).active().suspended());
        let untyped = machine.untyped(14);
        let small = machine.untyped(10);
        let cnode = machine.cnode(3);
        let other = machine.cnode(2);
        let frame = machine.create(ObjectType::X86Page4K, 0);
        let new_space = machine.create(ObjectType::X86Pml4, 0);
        let unconfigured = machine.create(ObjectType::SchedContext, 8);
        let spare = machine.new_context(Budget::new(200, 1_000));

        let whole = GuardData {
            guard: 0,
            size: WORD_BITS - RADIX,
        };
        let own_space = machine.mint(space, Rights::ALL, whole.word());
        let guard = GuardData { guard: 5, size: 3 };
        let guarded = machine.mint(other, Rights::ALL, guard.word());
        let badged = machine.mint(endpoint, Rights::ALL, 5);
        let no_grant = machine.mint(service, Rights::READ_WRITE, 6);
        let bell = machine.mint(signal, Rights::ALL, 8);
        for task in [hostile, peer, stopped] {
            let caps = [faults, own_space, slots::INIT_THREAD_VSPACE];
            machine
                .tcb(task, Method::TcbSetSpace, &[0, 0], &caps)
                .expect("it is a space");
        }
        for (slot, cap) in [
            (at::SELF, hostile.tcb),
            (at::SPACE, own_space),
            (at::ADDRESS_SPACE, slots::INIT_THREAD_VSPACE),
            (at::ASID_CONTROL, slots::ASID_CONTROL),
            (at::ASID_POOL, slots::INIT_THREAD_ASID_POOL),
            (at::DOMAIN, slots::DOMAIN),
            (at::SCHED_CONTROL, machine.boot_info.sched_control.start),
            (at::CONTEXT, hostile.context),
            (at::BUFFER, hostile.buffer),
            (at::NO_GRANT, no_grant),
            (at::NOTIFICATION, notification),
            (at::SIGNAL, bell),
            (at::REPLY, reply),
            (at::OTHER_REPLY, other_reply),
            (at::CNODE, cnode),
            (at::GUARDED, guarded),
            (at::PEER, peer.tcb),
            (at::STOPPED, stopped.tcb),
            (at::PEER_CONTEXT, peer.context),
            (at::SPARE, spare),
            (at::UNCONFIGURED, unconfigured),
            (at::FRAME, frame),
            (at::IRQ_HANDLER, line),
            (at::INTERRUPT, interrupt),
            (at::FAULTS, faults),
            (at::SERVER, server.tcb),
        ] {
            machine
                .copy_into(cap, space, slot, RADIX)
                .expect("the slot is empty");
        }
        // Capabilities that are unique or can't be copied, and originals, which some methods require.
        for (slot, cap) in [
            (at::IRQ_CONTROL, slots::IRQ_CONTROL),
            (at::UNTYPED, untyped),
            (at::SMALL, small),
            (at::NEW_SPACE, new_space),
            (at::ENDPOINT, endpoint),
            (at::BADGED, badged),
            (at::SERVICE, service),
        ] {
            machine
                .move_into(cap, space, slot, RADIX)
                .expect("the slot is empty");
        }
        assert!(machine.runs(hostile));
        let begin = machine.snapshot();
        let tasks = [hostile, peer, stopped, server, handler];
        Self {
            machine,
            tasks,
            begin,
        }
    }

    /// Restores the initial state.
    pub fn restart(&mut self) {
        self.machine.restore(&self.begin);
        self.machine.entries = 0;
    }
}

impl Default for TestSystem {
    fn default() -> Self {
        Self::new()
    }
}

/// A thread that waits at an endpoint with a reply object. It starts at a priority above all others
/// but the root task, to get there.
fn waiting(
    machine: &mut Machine,
    name: &'static str,
    priority: u8,
    endpoint: CPtr,
    reply: CPtr,
) -> Task {
    let task = machine.spawn(Spec::new(name, 250).active());
    if machine.runs(machine.root) {
        machine.rest();
    }
    machine.recv(task, endpoint, reply);
    machine.set_priority(task, priority);
    task
}
