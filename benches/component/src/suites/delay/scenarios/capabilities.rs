//! Capabilities: many copies, deep lookups.

use crate::bench::Bench;
use crate::suites::delay::attackers::{Attackers, Call};
use userlib::abi::{IpcBuffer, MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH, Method, Syscall, WORD_BITS};
use userlib::abi::{MessageInfo, sizes::PAGE_BITS};
use userlib::cap::{CNode, Endpoint, Frame, Reply, SchedParameters, Slot};
use userlib::{CPtr, Capability, Microseconds, Result, Rights};

/// Revokes a capability with `count` copies.
pub fn copies_revoked(bench: &mut Bench, count: usize) -> Result {
    let mut attackers = Attackers::new(bench, count)?;
    let allocator = &mut attackers.arena.allocator;
    let endpoint: Endpoint = allocator.create()?;
    for badge in 0..count {
        allocator.mint(endpoint, Rights::ALL, badge + 1)?;
    }
    bench.allocator.slot(endpoint).revoke()?;
    attackers.delete(bench)
}

/// A CNode of two slots: the first leads back to itself, the second to a CNode of 16. Addresses of
/// capabilities in the latter begin with as many zeros as there is space for, and each zero takes one level.
struct Maze {
    entry: CNode,
    end: CNode,
}

const END_BITS: usize = 4;

impl Maze {
    fn new(bench: &Bench, attackers: &mut Attackers) -> Result<Self> {
        let entry = attackers.arena.allocator.create_cnode(1)?;
        let end = attackers.arena.allocator.create_cnode(END_BITS)?;
        for (index, table) in [entry, end].into_iter().enumerate() {
            let slot = bench.allocator.slot(table);
            entry.slot_of_table(index, 1).copy_from(slot, Rights::ALL)?;
        }
        Ok(Self { entry, end })
    }

    /// The address of a capability.
    fn address(index: usize) -> CPtr {
        CPtr(1 << END_BITS | index)
    }

    /// The slot of a capability, with a lookup of so many bits.
    fn slot(&self, index: usize, bits: usize) -> Slot {
        let CPtr(index) = Self::address(index);
        Slot {
            root: self.entry,
            index,
            depth: bits.clamp(END_BITS + 1, WORD_BITS),
        }
    }

    /// The same slot with the shortest lookup.
    fn near(&self, index: usize) -> Slot {
        self.end.slot_of_table(index, END_BITS)
    }
}

/// Performs `count` operations with the deepest lookups: one level for each bit of a word.
pub fn deep_lookups(bench: &mut Bench, count: usize) -> Result {
    let mut attackers = Attackers::new(bench, 1)?;
    let maze = Maze::new(bench, &mut attackers)?;
    let table = bench.allocator.slot(maze.end);
    maze.near(0).copy_from(table, Rights::ALL)?;
    let slot = |index| maze.slot(index, WORD_BITS);
    for _ in 0..count {
        slot(1).copy_from(slot(0), Rights::ALL)?;
        slot(2).move_from(slot(1))?;
        slot(2).delete()?;
    }
    attackers.delete(bench)
}

/// Contents of the maze for two threads that transfer capabilities.
const ENDPOINT: usize = 1;
const REPLY: usize = 2;
const ENTRY: usize = 3;
const OTHER: usize = 4;
const RECEIVED: usize = 8;

/// One attacker sends another `count` messages of maximum length, each with three capabilities, two of which
/// are unwrapped to badges. All addresses have the deepest lookups.
pub fn transfer(bench: &mut Bench, count: usize) -> Result {
    let mut attackers = Attackers::new(bench, count)?;
    let maze = Maze::new(bench, &mut attackers)?;
    let allocator = &mut attackers.arena.allocator;
    let (endpoint, other): (Endpoint, Endpoint) = (allocator.create()?, allocator.create()?);
    let reply: Reply = allocator.create()?;
    for (index, address) in [
        (ENDPOINT, endpoint.cptr()),
        (REPLY, reply.cptr()),
        (ENTRY, maze.entry.cptr()),
        (OTHER, other.cptr()),
    ] {
        let slot = bench.allocator.slot(address);
        maze.near(index).copy_from(slot, Rights::ALL)?;
    }
    let received = maze.slot(RECEIVED, WORD_BITS);
    let place = [received.index, received.depth];
    let full = MessageInfo::new(0, MAX_EXTRA_CAPS, MAX_MESSAGE_LENGTH);
    let send = Call::new(Syscall::Send, Maze::address(ENDPOINT)).with_message(full);
    // The message has the arguments with which the receiver deletes the received capability.
    let delete = MessageInfo::new(Method::CNodeDelete.number(), 0, place.len());
    let receiver = [
        Call::new(Syscall::Recv, Maze::address(ENDPOINT)).with_reply(Maze::address(REPLY)),
        Call::new(Syscall::Call, Maze::address(ENTRY)).with_message(delete),
    ];
    let budget = Microseconds(20 * (count as u64 + 2));
    let time = SchedParameters::new(budget, Microseconds::from_millis(1000));
    for (calls, priority) in [(receiver, 60), ([send; 2], 50)] {
        let context = attackers.context(bench, &time)?;
        let tcb = attackers.add(bench, context, calls, place)?;
        tcb.set_space(CPtr::NULL, maze.entry, 0, bench.vspace)?;
        let frame: Frame = attackers.arena.allocator.create()?;
        let address = bench.reserve(1);
        bench.map_at(frame, address)?;
        write_buffer(address, received);
        tcb.set_ipc_buffer(address, frame)?;
        tcb.set_priority(bench.tcb, priority)?;
        tcb.resume()?;
    }
    bench.let_others_run()?;
    attackers.delete(bench)
}

/// Writes an IPC buffer for both threads.
fn write_buffer(address: usize, received: Slot) {
    assert_eq!(address % (1 << PAGE_BITS), 0);
    let buffer = address as *mut IpcBuffer;
    // SAFETY: a page was mapped there, and nothing else accesses it yet.
    let buffer = unsafe { &mut *buffer };
    buffer.caps_or_badges = [ENDPOINT, ENDPOINT, OTHER].map(|index| Maze::address(index).0);
    buffer.receive_cnode = Maze::address(ENTRY).0;
    buffer.receive_index = received.index;
    buffer.receive_depth = received.depth;
}
