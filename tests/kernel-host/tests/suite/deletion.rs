//! Delete and revoke: which objects are deleted, and that preemption makes no difference.

use abi::sizes::ASID_POOL_BITS;
use abi::{Method, ObjectType, Rights, WORD_BITS, slots};
use host_machine::arch::{Host, HostCap};
use host_machine::{CPtr, Machine, Message, Spec, State, Task};
use kernel::arch::Irq;
use kernel::cap::{Cap, UntypedCap};
use kernel::invoke::Error;
use kernel::object::ThreadSlot;

use crate::common::{sender, server, waiter, word};

const ROOT: CPtr = slots::INIT_THREAD_CNODE;
/// The line that wakes the root task.
const BELL: Irq = Irq(0);

/// A machine with a worker that can be preempted.
struct Scene {
    machine: Machine,
    worker: Task,
}

impl Scene {
    fn new() -> Self {
        let mut machine = Machine::new();
        let worker = machine.spawn(Spec::new("worker", 100).active());
        Self { machine, worker }
    }

    fn make(&mut self, untyped: CPtr, kind: ObjectType, bits: usize) -> CPtr {
        let slot = self.machine.slot();
        self.machine.retype(untyped, kind, bits, slot, 1).unwrap();
        slot
    }

    /// The worker starts a deletion and is interrupted at preemption point `looks`, if it takes that
    /// long; returns whether it was interrupted.
    fn interrupted(&mut self, method: Method, slot: CPtr, looks: usize) -> bool {
        self.machine.rest();
        self.machine.kernel.arch.ambush = Some((looks, BELL));
        let message = Message::new(method.number(), &[slot, WORD_BITS]);
        self.machine.call(self.worker, ROOT, &message);
        let interrupted = self.machine.runs(self.machine.root);
        self.machine.kernel.arch.ambush = None;
        if !interrupted {
            assert_eq!(self.machine.received(self.worker).label, 0);
            self.machine.raise(BELL);
        }
        interrupted
    }

    /// The worker completes the preempted operation.
    fn proceed(&mut self) {
        self.machine.rest();
        assert_eq!(self.machine.running(), "worker");
        assert_eq!(self.machine.received(self.worker).label, 0);
        self.machine.raise(BELL);
    }

    /// The whole page of untyped memory is free.
    fn assert_unused(&mut self, untyped: CPtr) {
        let slot = self.machine.slot();
        let answer = self
            .machine
            .retype(untyped, ObjectType::Untyped, 12, slot, 1);
        assert_eq!(answer, Ok(vec![]));
        self.machine.delete(slot);
    }

    fn assert_used(&mut self, untyped: CPtr) {
        let slot = self.machine.slot();
        let answer = self
            .machine
            .retype(untyped, ObjectType::Untyped, 12, slot, 1);
        assert!(
            matches!(answer, Err(Error::NotEnoughMemory(_))),
            "{answer:?}"
        );
    }
}

/// Runs a scene with an interrupt at each preemption point, until the operation completes without
/// one.
fn at_every_point(mut scene: impl FnMut(usize) -> bool) {
    let mut points = 0;
    while scene(points) {
        points += 1;
        assert!(points < 1000, "the operation never completes");
    }
    assert!(points > 0, "it was never interrupted");
}

#[test]
fn deleting_nothing_succeeds() {
    let mut machine = Machine::new();
    let empty = machine.slot();
    machine.delete(empty);
    machine.revoke(empty);
    assert!(machine.is_empty(empty));
}

#[test]
fn an_object_lives_as_long_as_one_capability() {
    let mut scene = Scene::new();
    let page = scene.machine.untyped(12);
    let endpoint = scene.make(page, ObjectType::Endpoint, 0);
    let copy = scene.machine.copy(endpoint);
    scene.machine.delete(endpoint);
    scene.assert_used(page);
    assert!(matches!(scene.machine.cap(copy), Cap::Endpoint(_)));
    scene.machine.delete(copy);
    scene.assert_unused(page);
}

#[test]
fn revoking_deletes_descendants_only() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let copy = machine.copy(endpoint);
    let badged = machine.mint(endpoint, Rights::ALL, 1);
    let badged_copy = machine.copy(badged);
    let other = machine.endpoint();

    // A copy has no children, not even copies of itself.
    let sibling = machine.copy(copy);
    machine.revoke(copy);
    assert!(!machine.is_empty(sibling));

    machine.revoke(badged);
    assert!(machine.is_empty(badged_copy) && !machine.is_empty(badged));

    machine.revoke(endpoint);
    assert!(
        [copy, sibling, badged]
            .iter()
            .all(|slot| machine.is_empty(*slot))
    );
    assert!(!machine.is_empty(endpoint) && !machine.is_empty(other));
}

#[test]
fn revoking_a_badge_leaves_other_badges() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let first = machine.mint(endpoint, Rights::ALL, 1);
    let second = machine.mint(endpoint, Rights::ALL, 2);
    let again = machine.mint(endpoint, Rights::ALL, 1);
    let copies = [first, second, again].map(|badged| machine.copy(badged));
    machine.revoke(first);
    assert!(machine.is_empty(copies[0]));
    assert!(!machine.is_empty(copies[1]) && !machine.is_empty(copies[2]));
    machine.revoke(again);
    assert!(machine.is_empty(copies[2]) && !machine.is_empty(copies[1]));
    assert!(!machine.is_empty(first));
}

#[test]
fn deleting_the_first_of_a_badge_keeps_its_family_together() {
    let mut machine = Machine::new();
    let endpoint = machine.endpoint();
    let older = machine.mint(endpoint, Rights::ALL, 1);
    let older_copy = machine.copy(older);
    // Minted later, so it precedes the older one with the same badge.
    let newer = machine.mint(endpoint, Rights::ALL, 1);
    let newer_copy = machine.copy(newer);
    machine.delete(older);
    machine.revoke(newer);
    assert!(machine.is_empty(newer_copy));
    assert!(
        !machine.is_empty(older_copy),
        "it was not made from the newer one"
    );
}

#[test]
fn revoking_memory_deletes_everything_in_it() {
    let mut scene = Scene::new();
    let page = scene.machine.untyped(12);
    let half = scene.make(page, ObjectType::Untyped, 11);
    let cnode = scene.make(half, ObjectType::CNode, 2);
    let endpoint = scene.make(half, ObjectType::Endpoint, 0);
    let outside = scene.machine.mint(endpoint, Rights::ALL, 3);
    scene.machine.move_into(endpoint, cnode, 1, 2).unwrap();
    scene.machine.revoke(page);
    for slot in [half, cnode, endpoint, outside] {
        assert!(scene.machine.is_empty(slot));
    }
    scene.assert_unused(page);
}

/// ASID pools are created like this; only architecture code does so.
#[test]
fn what_an_architecture_makes_of_memory_is_a_child_of_it() {
    let mut machine = Machine::new();
    let (memory, made) = (machine.untyped(ASID_POOL_BITS), machine.slot());
    let Cap::Untyped(cap) = machine.cap(memory) else {
        panic!("it is not untyped memory");
    };
    let space = machine.kernel[machine.root.thread].cap(ThreadSlot::CSpace);
    let [parent, slot] =
        [memory, made].map(|address| machine.kernel.lookup_cap(space, address).unwrap());
    let given_out = UntypedCap {
        watermark: cap.size(),
        ..cap
    };
    machine.kernel[parent].set_cap(Cap::Untyped(given_out));
    let pool = Cap::<Host>::Arch(HostCap::AsidPool(cap.address));
    machine.kernel.insert_child(parent, slot, pool.encode());
    machine.check();
    assert!(!machine.is_empty(made));
    machine.revoke(memory);
    assert!(machine.is_empty(made) && !machine.is_empty(memory));
}

#[test]
fn capabilities_go_with_their_cnodes() {
    at_every_point(|looks| {
        let mut scene = Scene::new();
        let pages = [(); 4].map(|()| scene.machine.untyped(12));
        let outer = scene.make(pages[0], ObjectType::CNode, 1);
        let middle = scene.make(pages[1], ObjectType::CNode, 2);
        let inner = scene.make(pages[2], ObjectType::CNode, 1);
        let endpoint = scene.make(pages[3], ObjectType::Endpoint, 0);
        scene.machine.move_into(endpoint, inner, 1, 1).unwrap();
        scene.machine.move_into(inner, middle, 3, 2).unwrap();
        scene.machine.move_into(middle, outer, 0, 1).unwrap();

        let interrupted = scene.interrupted(Method::CNodeDelete, outer, looks);
        if interrupted {
            scene.proceed();
        }
        assert!(scene.machine.is_empty(outer));
        for page in pages {
            scene.assert_unused(page);
        }
        interrupted
    });
}

#[test]
fn threads_go_with_their_spaces() {
    at_every_point(|looks| {
        let mut scene = Scene::new();
        let pages = [(); 2].map(|()| scene.machine.untyped(12));
        let thread = scene.make(pages[0], ObjectType::Tcb, 0);
        let space = scene.make(pages[1], ObjectType::CNode, 2);
        let caps = [0, space, slots::INIT_THREAD_VSPACE];
        scene
            .machine
            .invoke(thread, Method::TcbSetSpace, &[0, 0], &caps)
            .unwrap();
        // The only capability to the thread is in its own CSpace.
        scene.machine.copy_into(thread, space, 1, 2).unwrap();
        scene.machine.delete(space);
        scene.machine.delete(thread);
        scene.assert_used(pages[0]);
        let interrupted = scene.interrupted(Method::CNodeRevoke, pages[0], looks);
        if interrupted {
            scene.proceed();
        }
        scene.assert_unused(pages[0]);
        scene.machine.revoke(pages[1]);
        scene.assert_unused(pages[1]);
        interrupted
    });
}

/// Two CNodes, each in memory of its own, each with the last capability to the other.
fn circle(scene: &mut Scene, radix: usize) -> [CPtr; 2] {
    let pages = [(); 2].map(|()| scene.machine.untyped(12));
    let first = scene.make(pages[0], ObjectType::CNode, radix);
    let second = scene.make(pages[1], ObjectType::CNode, radix);
    scene.machine.copy_into(second, first, 0, radix).unwrap();
    scene.machine.move_into(first, second, 1, radix).unwrap();
    scene.machine.delete(second);
    pages
}

#[test]
fn circles_of_cnodes_can_be_revoked() {
    for radix in [1, 2] {
        for from in [0, 1] {
            at_every_point(|looks| {
                let mut scene = Scene::new();
                let pages = circle(&mut scene, radix);
                let interrupted = scene.interrupted(Method::CNodeRevoke, pages[from], looks);
                if interrupted {
                    // Whatever the progress, memory still in use is not given out again.
                    for page in pages {
                        let slot = scene.machine.slot();
                        let _ = scene
                            .machine
                            .retype(page, ObjectType::CNode, 2, slot, 1)
                            .map(|_| scene.machine.delete(slot));
                    }
                    scene.proceed();
                }
                scene.assert_unused(pages[from]);
                // If it is interrupted at the wrong time, the other CNode remains as a zombie in one
                // of its own slots; then only the revocation of its memory removes it.
                if interrupted {
                    scene.machine.revoke(pages[1 - from]);
                }
                scene.assert_unused(pages[1 - from]);
                interrupted
            });
        }
    }
}

#[test]
fn circles_of_cnodes_can_be_revoked_from_both_ends() {
    for radix in [1, 2] {
        at_every_point(|looks| {
            let mut scene = Scene::new();
            let pages = circle(&mut scene, radix);
            let interrupted = scene.interrupted(Method::CNodeRevoke, pages[0], looks);
            if interrupted {
                scene.machine.revoke(pages[1]);
                scene.proceed();
            }
            scene.assert_unused(pages[0]);
            scene.assert_unused(pages[1]);
            interrupted
        });
    }
}

#[test]
fn a_cnode_can_hold_its_last_capability() {
    for index in 0..4 {
        at_every_point(|looks| {
            let mut scene = Scene::new();
            let pages = [(); 2].map(|()| scene.machine.untyped(12));
            let cnode = scene.make(pages[0], ObjectType::CNode, 2);
            let content = scene.make(pages[1], ObjectType::CNode, 1);
            scene
                .machine
                .move_into(content, cnode, (index + 1) % 4, 2)
                .unwrap();
            scene.machine.move_into(cnode, cnode, index, 2).unwrap();
            assert!(scene.machine.is_empty(cnode));
            scene.assert_used(pages[0]);
            let interrupted = scene.interrupted(Method::CNodeRevoke, pages[0], looks);
            if interrupted {
                scene.proceed();
            }
            scene.assert_unused(pages[0]);
            scene.assert_unused(pages[1]);
            interrupted
        });
    }
}

#[test]
fn what_is_being_deleted_can_only_be_deleted() {
    let mut scene = Scene::new();
    let cnode = scene.machine.cnode(4);
    assert!(scene.interrupted(Method::CNodeDelete, cnode, 2));
    let machine = &mut scene.machine;
    assert!(matches!(machine.cap(cnode), Cap::Zombie(_)));
    let slot = machine.slot();
    assert_eq!(
        machine.copy_to(cnode, slot, Rights::ALL),
        Err(Error::IllegalOperation)
    );
    assert_eq!(
        machine.invoke(cnode, Method::CNodeDelete, &[0, 4], &[]),
        Err(Error::InvalidCapability(0))
    );
    // Another thread may complete the deletion; then the worker finds an empty slot.
    machine.delete(cnode);
    assert!(machine.is_empty(cnode));
    scene.proceed();
}

#[test]
fn a_long_revocation_gives_way_to_interrupts() {
    let mut scene = Scene::new();
    let endpoint = scene.machine.endpoint();
    let copies = [(); 50].map(|()| scene.machine.copy(endpoint));
    assert!(scene.interrupted(Method::CNodeRevoke, endpoint, 10));
    let left = (copies.iter())
        .filter(|copy| !scene.machine.is_empty(**copy))
        .count();
    assert!((1..50).contains(&left), "{left} of 50 are left");
    scene.proceed();
    assert!(copies.iter().all(|copy| scene.machine.is_empty(*copy)));
    assert!(!scene.machine.is_empty(endpoint));
}

#[test]
fn a_thread_may_delete_itself() {
    let mut machine = Machine::new();
    let suicide = machine.spawn(Spec::new("suicide", 10).active());
    machine.rest();
    let message = Message::new(Method::CNodeDelete.number(), &[suicide.tcb, WORD_BITS]);
    machine.call(suicide, ROOT, &message);
    assert_eq!(machine.state(suicide), State::Gone);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.holder(suicide.context), "none");
}

#[test]
fn a_thread_may_delete_its_time() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    machine.rest();
    let message = Message::new(Method::CNodeDelete.number(), &[task.context, WORD_BITS]);
    machine.call(task, ROOT, &message);
    assert_eq!(machine.state(task), State::Runnable);
    assert!(machine.is_passive(task));
    assert_eq!(machine.running(), "none");
}

#[test]
fn a_thread_may_revoke_its_own_space() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    let space = machine.cnode(3);
    // A CSpace of its own, in which slot 1 refers to the CNode itself.
    machine.copy_into(space, space, 1, 3).unwrap();
    let caps = [0, space, slots::INIT_THREAD_VSPACE];
    let guard = abi::GuardData {
        guard: 0,
        size: WORD_BITS - 3,
    };
    machine
        .tcb(task, Method::TcbSetSpace, &[guard.word(), 0], &caps)
        .unwrap();
    machine.rest();
    // After the second revocation, only the root task's capability is left, so the thread's next call
    // has no CSpace root.
    let message = Message::new(Method::CNodeRevoke.number(), &[1, 3]);
    machine.call(task, 1, &message);
    assert_eq!(machine.received(task).label, 0, "a copy has no children");
    machine.revoke(space);
    machine.call(task, 1, &message);
    assert_eq!(machine.state(task), State::Inactive, "no fault handler");
}

#[test]
fn waiting_threads_are_sent_away_one_by_one() {
    at_every_point(|looks| {
        let mut scene = Scene::new();
        let endpoint = scene.machine.endpoint();
        let senders = [10, 20, 30]
            .map(|priority| sender(&mut scene.machine, "sender", priority, endpoint, &word(1)));
        scene.machine.raise(BELL);
        let interrupted = scene.interrupted(Method::CNodeDelete, endpoint, looks);
        if interrupted {
            // Threads that were not yet reached still wait.
            let waiting = (senders.iter())
                .filter(|sender| scene.machine.state(**sender) == State::Sending)
                .count();
            // The first two preemption points are after lookups.
            assert_eq!(waiting, 3usize.saturating_sub(looks.saturating_sub(1)));
            scene.proceed();
        }
        assert!(scene.machine.is_empty(endpoint));
        // The worker has a higher priority, so they have not retried yet.
        for sender in senders {
            assert_eq!(scene.machine.state(sender), State::Runnable);
        }
        interrupted
    });
}

#[test]
fn an_interrupt_line_is_free_when_nothing_is_left_of_it() {
    at_every_point(|looks| {
        let mut scene = Scene::new();
        let machine = &mut scene.machine;
        let notification = machine.notification();
        let handler = machine.issue_irq(5).unwrap();
        machine
            .invoke(handler, Method::IrqSetIrqHandler, &[], &[notification])
            .unwrap();
        // The line holds the last capability to the notification, at which threads wait.
        for _ in 0..3 {
            waiter(machine, "waiter", 10, notification);
        }
        machine.delete(notification);
        machine.raise(BELL);
        let interrupted = scene.interrupted(Method::CNodeDelete, handler, looks);
        if interrupted {
            assert_eq!(scene.machine.issue_irq(5), Err(Error::RevokeFirst));
            scene.proceed();
        }
        assert!(scene.machine.issue_irq(5).is_ok());
        let line = &scene.machine.kernel.irqs[5];
        assert!(line.notification.is_empty());
        interrupted
    });
}

#[test]
fn a_receiver_goes_with_its_reply_object() {
    let mut machine = Machine::new();
    let (endpoint, reply) = (machine.endpoint(), machine.reply());
    let receiver = server(&mut machine, "receiver", 10, endpoint, reply);
    machine.delete(reply);
    assert_eq!(machine.state(receiver), State::Inactive);
    // Other threads at the endpoint are not affected.
    let sender = machine.spawn(Spec::new("sender", 10).active());
    machine.nb_send(sender, endpoint, &word(1));
    assert!(machine.runs(sender));
}
