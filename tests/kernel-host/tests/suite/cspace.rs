//! Capability lookup: from addresses to slots.
#![allow(
    clippy::unusual_byte_groupings,
    reason = "addresses are grouped by the levels that consume them"
)]

use abi::LookupFailure::{self, DepthMismatch, GuardMismatch, InvalidRoot, MissingCapability};
use abi::{GuardData, Method, Rights, WORD_BITS, slots};
use host_machine::{CPtr, Machine, Message, Spec, State};
use kernel::invoke::Error;

const ROOT: CPtr = slots::INIT_THREAD_CNODE;

/// A CNode of 4 slots with the guard 101, and in its slot 01 a CNode of 8 slots.
struct Space {
    machine: Machine,
    outer: CPtr,
    endpoint: CPtr,
}

impl Space {
    fn new() -> Self {
        let mut machine = Machine::new();
        let plain = machine.cnode(2);
        let inner = machine.cnode(3);
        machine.move_into(inner, plain, 0b01, 2).unwrap();
        let guard = GuardData {
            guard: 0b101,
            size: 3,
        };
        let outer = machine.mint(plain, Rights::ALL, guard.word());
        let endpoint = machine.endpoint();
        Self {
            machine,
            outer,
            endpoint,
        }
    }

    fn copy_to(&mut self, index: usize, depth: usize) -> Result<Vec<usize>, Error> {
        self.machine
            .copy_into(self.endpoint, self.outer, index, depth)
    }

    fn copy_from(&mut self, index: usize, depth: usize) -> Result<Vec<usize>, Error> {
        let target = self.machine.slot();
        let words = [target, WORD_BITS, index, depth, Rights::ALL.word()];
        self.machine
            .invoke(ROOT, Method::CNodeCopy, &words, &[self.outer])
    }
}

const fn failed(source: bool, failure: LookupFailure) -> Result<Vec<usize>, Error> {
    Err(Error::Lookup { source, failure })
}

#[test]
fn two_levels_resolve() {
    let mut space = Space::new();
    assert_eq!(space.copy_to(0b101_01_110, 8), Ok(vec![]));
    assert_eq!(space.copy_to(0b101_01_110, 8), Err(Error::DeleteFirst));
    assert_eq!(space.copy_from(0b101_01_110, 8), Ok(vec![]));
    // The high bits of the address do not matter.
    assert_eq!(
        space.copy_from(usize::MAX << 8 | 0b101_01_110, 8),
        Ok(vec![])
    );
    // Depth of one level: the slot that holds the inner CNode, or an empty slot.
    assert_eq!(space.copy_to(0b101_01, 5), Err(Error::DeleteFirst));
    assert_eq!(space.copy_to(0b101_10, 5), Ok(vec![]));
}

#[test]
fn addresses_that_do_not_resolve() {
    let mut space = Space::new();
    let guard_mismatch = |bits_left| GuardMismatch {
        bits_left,
        guard_found: 0b101,
        bits_found: 3,
    };
    let depth_mismatch = |bits_left, bits_found| DepthMismatch {
        bits_left,
        bits_found,
    };
    for (index, depth, failure) in [
        (0b100_01_110, 8, guard_mismatch(8)),
        (0b10, 2, guard_mismatch(2)),
        (0b101_0, 4, depth_mismatch(4, 5)),
        (0b101_01_11, 7, depth_mismatch(2, 3)),
        // A bit is left at a slot that does not hold a CNode, because it is empty.
        (0b101_01_111_0, 9, depth_mismatch(1, 0)),
        (0b101_11_0, 6, depth_mismatch(1, 0)),
    ] {
        assert_eq!(space.copy_to(index, depth), failed(false, failure));
        assert_eq!(space.copy_from(index, depth), failed(true, failure));
    }
    let bad_depth = Err(Error::Range {
        minimum: 1,
        maximum: WORD_BITS,
    });
    for depth in [0, WORD_BITS + 1, usize::MAX] {
        assert_eq!(space.copy_to(0, depth), bad_depth);
        assert_eq!(space.copy_from(0, depth), bad_depth);
    }
}

#[test]
fn a_slot_argument_needs_a_cnode() {
    let mut space = Space::new();
    let target = space.machine.slot();
    let words = [target, WORD_BITS, 0, 1, Rights::ALL.word()];
    let endpoint = space.endpoint;
    let answer = space
        .machine
        .invoke(ROOT, Method::CNodeCopy, &words, &[endpoint]);
    assert_eq!(answer, failed(true, InvalidRoot));
    // Invalid depths are checked later.
    let words = [target, WORD_BITS, 0, 0, Rights::ALL.word()];
    let answer = space
        .machine
        .invoke(ROOT, Method::CNodeCopy, &words, &[endpoint]);
    assert_eq!(answer, failed(true, InvalidRoot));
}

#[test]
fn an_empty_source_is_missing() {
    let mut space = Space::new();
    let missing = |bits_left| failed(true, MissingCapability { bits_left });
    assert_eq!(space.copy_from(0b101_01_111, 8), missing(8));
    assert_eq!(space.copy_from(0b101_11, 5), missing(5));
}

/// A thread with a CSpace that leaves four address bits unresolved.
#[test]
fn invocations_ignore_bits_behind_the_capability() {
    let mut machine = Machine::new();
    let space = machine.cnode(3);
    let notification = machine.notification();
    machine.copy_into(notification, space, 5, 3).unwrap();
    let task = machine.spawn(Spec::new("task", 10).active());
    let guard = GuardData {
        guard: 0,
        size: WORD_BITS - 3 - 4,
    };
    let caps = [0, space, slots::INIT_THREAD_VSPACE];
    machine
        .tcb(task, Method::TcbSetSpace, &[guard.word(), 0], &caps)
        .unwrap();
    machine.rest();
    for rest in [0, 3, 15] {
        machine.signal(task, 5 << 4 | rest);
        machine.nb_wait(task, 5 << 4 | rest);
        assert_eq!(machine.state(task), State::Runnable);
    }
    // An empty slot holds a null capability, which cannot be invoked.
    let answer = machine.invoke_as(task, 6 << 4, Method::CNodeDelete, &[], &[]);
    assert_eq!(answer, Err(Error::InvalidCapability(0)));
    // The guard must match.
    machine.call(task, 1 << 60, &Message::default());
    assert_eq!(machine.state(task), State::Inactive);
}

#[test]
fn circular_spaces_end() {
    let mut machine = Machine::new();
    let cnode = machine.cnode(1);
    machine.copy_into(cnode, cnode, 1, 1).unwrap();
    // 63 times slot 1, then slot 0.
    let endpoint = machine.endpoint();
    assert_eq!(
        machine.copy_into(endpoint, cnode, usize::MAX - 1, WORD_BITS),
        Ok(vec![])
    );
    assert_eq!(
        machine.copy_into(endpoint, cnode, 0, 1),
        Err(Error::DeleteFirst)
    );
}
