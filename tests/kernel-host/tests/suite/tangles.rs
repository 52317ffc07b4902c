//! Random cycles of CNodes and threads that hold each other's capabilities, deleted with interrupts
//! at any preemption point.

use abi::{Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::{CPtr, Machine, Message, Spec, Task};
use kernel::arch::Irq;
use proptest::prelude::*;

const ROOT: CPtr = slots::INIT_THREAD_CNODE;
/// The line that wakes the root task.
const BELL: Irq = Irq(0);
/// Slots of the root task's CNode that histories use.
const PLACES: usize = 4;
const UNTYPEDS: usize = 3;

/// A slot: of the root task's CNode, or of a CNode with its capability in one of those slots.
#[derive(Clone, Copy, Debug)]
enum Place {
    Root(usize),
    In(usize, usize),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    CNode {
        untyped: usize,
        radix: usize,
        to: usize,
    },
    Thread {
        untyped: usize,
        to: usize,
    },
    Endpoint {
        untyped: usize,
        to: usize,
    },
    Copy {
        from: Place,
        to: Place,
    },
    Move {
        from: Place,
        to: Place,
    },
    /// Sets a CNode as the CSpace of a thread.
    Space {
        thread: usize,
        cnode: usize,
    },
    /// The worker deletes or revokes, and is interrupted after this many preemption points, if there
    /// are so many.
    Delete {
        at: Place,
        interrupted_after: usize,
    },
    Revoke {
        at: usize,
        interrupted_after: usize,
    },
    RevokeUntyped {
        untyped: usize,
        interrupted_after: usize,
    },
    /// The worker continues the preempted operation.
    Continue,
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        1 => (0..PLACES).prop_map(Place::Root),
        2 => (0..PLACES, 0..4usize).prop_map(|(cnode, index)| Place::In(cnode, index)),
    ]
}

/// Steps that create or link objects.
fn build() -> impl Strategy<Value = Step> {
    let untyped = || 0..UNTYPEDS;
    let slot = || 0..PLACES;
    let radix = prop_oneof![3 => Just(1usize), 1 => Just(2)];
    prop_oneof![
        4 => (untyped(), radix, slot())
            .prop_map(|(untyped, radix, to)| Step::CNode { untyped, radix, to }),
        1 => (untyped(), slot()).prop_map(|(untyped, to)| Step::Thread { untyped, to }),
        1 => (untyped(), slot()).prop_map(|(untyped, to)| Step::Endpoint { untyped, to }),
        2 => (place(), place()).prop_map(|(from, to)| Step::Copy { from, to }),
        6 => (place(), place()).prop_map(|(from, to)| Step::Move { from, to }),
        1 => (slot(), slot()).prop_map(|(thread, cnode)| Step::Space { thread, cnode }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let looks = || 0..12usize;
    prop_oneof![
        3 => build(),
        2 => (place(), looks())
            .prop_map(|(at, interrupted_after)| Step::Delete { at, interrupted_after }),
        1 => (0..PLACES, looks())
            .prop_map(|(at, interrupted_after)| Step::Revoke { at, interrupted_after }),
        2 => (0..UNTYPEDS, looks())
            .prop_map(|(untyped, interrupted_after)| Step::RevokeUntyped { untyped, interrupted_after }),
        1 => Just(Step::Continue),
    ]
}

fn history() -> impl Strategy<Value = History> {
    let phases = (
        prop::collection::vec(build(), 0..20),
        prop::collection::vec(step(), 1..30),
    );
    phases.prop_map(|(build, steps)| History([build, steps].concat()))
}

struct TestSystem {
    machine: Machine,
    worker: Task,
    places: CPtr,
    untypeds: CPtr,
}

impl TestSystem {
    fn new() -> Self {
        let mut machine = Machine::new();
        let worker = machine.spawn(Spec::new("worker", 100).active());
        let untypeds = machine.slots(UNTYPEDS);
        for index in 0..UNTYPEDS {
            machine.create_in(ObjectType::Untyped, 13, untypeds + index);
        }
        let places = machine.slots(PLACES);
        machine.rest();
        Self {
            machine,
            worker,
            places,
            untypeds,
        }
    }

    /// Root, index and depth of a slot, as arguments of CNode methods.
    fn address(&self, place: Place) -> (CPtr, usize, usize) {
        match place {
            Place::Root(slot) => (ROOT, self.places + slot, WORD_BITS),
            Place::In(cnode, index) => match self.machine.cap(self.places + cnode) {
                kernel::cap::Cap::CNode(found) => {
                    (self.places + cnode, index % found.slot_count(), found.radix)
                }
                _ => (self.places + cnode, index, 1),
            },
        }
    }

    fn create(&mut self, untyped: usize, kind: ObjectType, bits: usize, to: usize) {
        let _ = self
            .machine
            .retype(self.untypeds + untyped, kind, bits, self.places + to, 1);
    }

    /// The root task invokes a capability, unless that would block it; the result does not matter.
    fn invoke(&mut self, cap: CPtr, method: Method, words: &[usize], caps: &[CPtr]) {
        if !matches!(self.machine.cap(cap), kernel::cap::Cap::Endpoint(_)) {
            let _ = self.machine.invoke(cap, method, words, caps);
        }
    }

    /// The worker, or the root task if the worker was interrupted, starts a long operation.
    fn long(&mut self, method: Method, (root, index, depth): (CPtr, usize, usize), looks: usize) {
        let words = [index, depth];
        if !self.machine.runs(self.worker) {
            self.invoke(root, method, &words, &[]);
            return;
        }
        if matches!(self.machine.cap(root), kernel::cap::Cap::Endpoint(_)) {
            return;
        }
        self.machine.kernel.arch.ambush = Some((looks, BELL));
        let message = Message::new(method.number(), &words);
        self.machine.call(self.worker, root, &message);
        if self.machine.runs(self.worker) {
            self.machine.kernel.arch.ambush = None;
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::CNode { untyped, radix, to } => {
                self.create(untyped, ObjectType::CNode, radix, to)
            }
            Step::Thread { untyped, to } => self.create(untyped, ObjectType::Tcb, 0, to),
            Step::Endpoint { untyped, to } => self.create(untyped, ObjectType::Endpoint, 0, to),
            Step::Copy { from, to } => {
                let (source_root, source, source_depth) = self.address(from);
                let (root, index, depth) = self.address(to);
                let words = [index, depth, source, source_depth, Rights::ALL.word()];
                self.invoke(root, Method::CNodeCopy, &words, &[source_root]);
            }
            Step::Move { from, to } => {
                let (source_root, source, source_depth) = self.address(from);
                let (root, index, depth) = self.address(to);
                let words = [index, depth, source, source_depth];
                self.invoke(root, Method::CNodeMove, &words, &[source_root]);
            }
            Step::Space { thread, cnode } => {
                let caps = [0, self.places + cnode, slots::INIT_THREAD_VSPACE];
                let thread = self.places + thread;
                self.invoke(thread, Method::TcbSetSpace, &[0, 0], &caps);
            }
            Step::Delete {
                at,
                interrupted_after,
            } => {
                self.long(Method::CNodeDelete, self.address(at), interrupted_after);
            }
            Step::Revoke {
                at,
                interrupted_after,
            } => {
                let at = self.address(Place::Root(at));
                self.long(Method::CNodeRevoke, at, interrupted_after);
            }
            Step::RevokeUntyped {
                untyped,
                interrupted_after,
            } => {
                let at = (ROOT, self.untypeds + untyped, WORD_BITS);
                self.long(Method::CNodeRevoke, at, interrupted_after);
            }
            Step::Continue => {
                if self.machine.runs(self.machine.root) {
                    self.machine.rest();
                }
            }
        }
    }

    /// All memory can be reused.
    fn finish(mut self) {
        self.step(Step::Continue);
        for untyped in self.untypeds..self.untypeds + UNTYPEDS {
            self.machine.revoke(untyped);
        }
        let slot = self.machine.slots(UNTYPEDS);
        for index in 0..UNTYPEDS {
            let untyped = self.untypeds + index;
            let answer = self
                .machine
                .retype(untyped, ObjectType::Untyped, 13, slot + index, 1);
            assert_eq!(answer, Ok(vec![]));
        }
        for place in 0..PLACES {
            assert!(self.machine.is_empty(self.places + place));
        }
    }
}

/// The steps of a history, printed one per line.
struct History(Vec<Step>);

impl std::fmt::Debug for History {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (self.0.iter()).try_for_each(|step| write!(f, "\n    {step:?}"))
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn everything_can_be_deleted(history in history()) {
        let mut system = TestSystem::new();
        for step in &history.0 {
            system.step(*step);
        }
        system.finish();
    }
}
