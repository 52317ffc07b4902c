//! Traversal of queues, for invariant checks and tests. The kernel proper never traverses a queue.
//!
//! Each check has a `reach`, the largest number of members that it reads; members beyond it are assumed to be
//! in order. `usize::MAX` checks all members.

use super::{Heap, Linked, OrderedQueue, Ring};
use crate::token::{Objects, Ptr};

impl<T: Linked> Ring<T> {
    /// Whether the links of neighbours match.
    pub fn is_well_formed(&self, objects: &Objects, reach: usize) -> bool {
        let Some(first) = self.first() else {
            return true;
        };
        let mut member = first;
        for _ in 0..reach {
            let Some(next) = objects[member].links().next else {
                return false;
            };
            if objects[next].links().previous != Some(member) {
                return false;
            }
            if next == first {
                break;
            }
            member = next;
        }
        true
    }

    /// Whether `member` is in this queue.
    pub fn contains(&self, objects: &Objects, member: Ptr<T>, reach: usize) -> bool {
        let mut next = self.first();
        for _ in 0..reach {
            match next {
                Some(other) if other == member => break,
                Some(other) => next = self.after(objects, other),
                None => return false,
            }
        }
        next.is_some() && is_linked(objects, member)
    }
}

impl<T: Linked, const BITS: u32> OrderedQueue<T, BITS> {
    /// Calls `visit` for members, in no particular order, until it returns an error.
    ///
    /// # Errors
    /// The error of `visit`.
    pub fn for_each<E>(
        &self,
        objects: &Objects,
        mut reach: usize,
        mut visit: impl FnMut(Ptr<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = self.root();
        while let Some(leader) = next
            && reach > 0
        {
            let ring = Ring::starting_with(Some(leader));
            let mut member = Some(leader);
            while let Some(equal) = member
                && reach > 0
            {
                reach -= 1;
                visit(equal)?;
                member = ring.after(objects, equal);
            }
            next = after_in_tree(objects, leader);
        }
        Ok(())
    }

    /// Whether every leader is at the position that its key determines, leads a well-formed ring of equal
    /// keys, and its parent link matches.
    pub fn is_well_formed(&self, objects: &Objects, mut reach: usize) -> bool {
        let mut next = self.root();
        while let Some(leader) = next
            && reach > 0
        {
            reach -= 1;
            let links = objects[leader].links();
            let ring = Ring::starting_with(Some(leader));
            if !ring.is_well_formed(objects, reach + 1) || !self.is_in_place(objects, leader) {
                return false;
            }
            let mut member = ring.after(objects, leader);
            while let Some(equal) = member
                && reach > 0
            {
                reach -= 1;
                let follower = objects[equal].links();
                let is_leader = follower.parent.is_some() || follower.children != [None; 2];
                if follower.key != links.key || is_leader {
                    return false;
                }
                member = ring.after(objects, equal);
            }
            next = after_in_tree(objects, leader);
        }
        true
    }

    /// Whether `member` is in this queue.
    pub fn contains(&self, objects: &Objects, member: Ptr<T>, reach: usize) -> bool {
        let ring = Ring::starting_with(Some(member));
        let mut next = Some(member);
        for _ in 0..reach {
            let Some(other) = next else {
                return false;
            };
            if !is_linked(objects, other) {
                return false;
            }
            if self.root() == Some(other) || objects[other].links().parent.is_some() {
                return self.is_in_place(objects, other);
            }
            next = ring.after(objects, other);
        }
        true
    }

    /// Whether the leader of a ring is at the position in the tree that its key determines.
    fn is_in_place(&self, objects: &Objects, leader: Ptr<T>) -> bool {
        let key = objects[leader].links().key;
        let Some(mut depth) = self.depth(objects, leader) else {
            return false;
        };
        let mut node = leader;
        while let Some(parent) = objects[node].links().parent {
            depth -= 1;
            let side = (key >> (BITS - 1 - depth) & 1) as usize;
            if objects[parent].links().children[side] != Some(node) {
                return false;
            }
            node = parent;
        }
        self.root() == Some(node)
    }

    /// The distance of a node from the root; no path is longer than a key.
    fn depth(&self, objects: &Objects, mut node: Ptr<T>) -> Option<u32> {
        for depth in 0..=BITS {
            match objects[node].links().parent {
                Some(parent) => node = parent,
                None => return Some(depth),
            }
        }
        None
    }
}

impl<T: Linked> Heap<T> {
    /// Calls `visit` for every member, in no particular order, until it returns an error.
    ///
    /// # Errors
    /// The error of `visit`.
    pub fn for_each<E>(
        &self,
        objects: &Objects,
        reach: usize,
        mut visit: impl FnMut(Ptr<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = self.first();
        for _ in 0..reach {
            let Some(member) = next else { break };
            visit(member)?;
            next = after_in_tree(objects, member);
        }
        Ok(())
    }

    /// Whether no member precedes its parent, links match, and ranks are correct.
    pub fn is_well_formed(&self, objects: &Objects, reach: usize) -> bool {
        let rank = |node: Option<Ptr<T>>| node.map_or(0, |node| objects[node].links().rank);
        let agrees = |member: Ptr<T>| {
            let links = objects[member].links();
            let [left, right] = links.children;
            let in_order = [left, right].into_iter().flatten().all(|child| {
                let below = objects[child].links();
                let later = (below.arrival.wrapping_sub(links.arrival) as i32) > 0;
                below.parent == Some(member)
                    && (below.key > links.key || below.key == links.key && later)
            });
            in_order && rank(left) >= rank(right) && links.rank == rank(right) + 1
        };
        let is_root = |root: Ptr<T>| objects[root].links().parent.is_none();
        self.first().is_none_or(is_root)
            && self
                .for_each(objects, reach, |member| {
                    if agrees(member) { Ok(()) } else { Err(()) }
                })
                .is_ok()
    }

    /// Whether `member` is in this queue.
    pub fn contains(&self, objects: &Objects, member: Ptr<T>, reach: usize) -> bool {
        let mut node = member;
        for _ in 0..reach {
            let Some(parent) = objects[node].links().parent else {
                return self.first() == Some(node);
            };
            if !objects[parent].links().children.contains(&Some(node)) {
                return false;
            }
            node = parent;
        }
        true
    }
}

/// Whether the links of a member of a ring and of its neighbours match.
fn is_linked<T: Linked>(objects: &Objects, member: Ptr<T>) -> bool {
    let links = objects[member].links();
    let (Some(next), Some(previous)) = (links.next, links.previous) else {
        return false;
    };
    objects[next].links().previous == Some(member) && objects[previous].links().next == Some(member)
}

/// The next node in a traversal of parents before children.
fn after_in_tree<T: Linked>(objects: &Objects, node: Ptr<T>) -> Option<Ptr<T>> {
    let [left, right] = objects[node].links().children;
    if let Some(child) = left.or(right) {
        return Some(child);
    }
    let mut child = node;
    while let Some(parent) = objects[child].links().parent {
        let [left, right] = objects[parent].links().children;
        if left == Some(child) && right.is_some() {
            return right;
        }
        child = parent;
    }
    None
}

#[cfg(test)]
mod tests {
    //! Corrupted queues are detected, as far as the check reaches.

    use super::super::Links;
    use super::super::testing::{Member, members};
    use super::*;

    /// Far enough to reach all members, and finite where a traversal has a cycle.
    const FAR: usize = 100;

    /// A queue with its members, to be corrupted.
    struct Scene<Q> {
        objects: Objects,
        all: Vec<Ptr<Member>>,
        queue: Q,
    }

    impl<Q> Scene<Q> {
        /// A queue with a member for each key, and one member more.
        fn new(
            mut queue: Q,
            keys: &[u64],
            insert: impl Fn(&mut Q, &mut Objects, Ptr<Member>, u64),
        ) -> Self {
            // SAFETY: the only token of the members that are made here.
            let mut objects = unsafe { Objects::new() };
            let all = members(keys.len() + 1);
            for (member, key) in all.iter().zip(keys) {
                insert(&mut queue, &mut objects, *member, *key);
            }
            Self {
                objects,
                all,
                queue,
            }
        }

        fn links(&mut self, index: usize) -> &mut Links<Member> {
            self.objects[self.all[index]].links_mut()
        }

        /// The member that is in no queue.
        fn stranger(&self) -> Ptr<Member> {
            self.all[self.all.len() - 1]
        }
    }

    fn ring() -> Scene<Ring<Member>> {
        Scene::new(Ring::EMPTY, &[0; 3], |ring, objects, member, _| {
            ring.push_back(objects, member);
        })
    }

    #[test]
    fn neighbours_in_a_ring_must_agree() {
        let sees =
            |scene: &Scene<Ring<_>>, reach| !scene.queue.is_well_formed(&scene.objects, reach);
        assert!(!sees(&ring(), FAR));
        assert!(Ring::<Member>::EMPTY.is_well_formed(&ring().objects, FAR));

        let mut scene = ring();
        scene.links(2).previous = Some(scene.all[0]);
        assert!(sees(&scene, FAR) && sees(&scene, 2) && !sees(&scene, 1));
        let mut scene = ring();
        scene.links(1).next = None;
        assert!(sees(&scene, FAR));
    }

    #[test]
    fn a_ring_contains_its_members_if_they_are_linked() {
        let has =
            |scene: &Scene<Ring<_>>, member| scene.queue.contains(&scene.objects, member, FAR);
        let mut scene = ring();
        assert!((0..3).all(|index| has(&scene, scene.all[index])));
        let stranger = scene.stranger();
        assert!(!has(&scene, stranger));
        // It is linked, but in another queue. A check that reads as many members as there are has read all.
        let mut other = Ring::EMPTY;
        other.push_back(&mut scene.objects, stranger);
        assert!(!has(&scene, stranger));
        assert!(!scene.queue.contains(&scene.objects, stranger, 3));
        assert!(scene.queue.contains(&scene.objects, stranger, 2));

        let mut scene = ring();
        scene.links(1).previous = None;
        assert!(!has(&scene, scene.all[0]));
        let mut scene = ring();
        scene.links(2).next = None;
        assert!(!has(&scene, scene.all[0]));
    }

    /// A tree in which some leaders have followers:
    ///
    /// ```text
    ///             8 (0, 9, 10)
    ///      4 (1, 3, 4)       12 (2)
    ///   2 (5)     6 (7)          14 (6)
    ///     3 (8)
    /// ```
    fn tree() -> Scene<OrderedQueue<Member, 4>> {
        let keys = [8, 4, 12, 4, 4, 2, 14, 6, 3, 8, 8];
        Scene::new(OrderedQueue::EMPTY, &keys, |queue, objects, member, key| {
            queue.insert(objects, member, key);
        })
    }

    #[test]
    fn a_tree_is_walked_as_far_as_one_wants() {
        let scene = tree();
        for reach in 0..=FAR {
            let mut seen = Vec::new();
            let walk = scene.queue.for_each(&scene.objects, reach, |member| {
                seen.push(member);
                Ok::<(), ()>(())
            });
            assert_eq!(walk, Ok(()));
            let order = [0, 9, 10, 1, 3, 4, 5, 8, 7, 2, 6].map(|index| scene.all[index]);
            assert_eq!(seen, order[..reach.min(order.len())]);
        }
        assert_eq!(
            scene.queue.for_each(&scene.objects, FAR, Err),
            Err(scene.all[0])
        );
    }

    /// The corruption, the number of members that a check must read to detect it, and the code that causes
    /// it.
    type Break<'a, Q> = (&'a str, usize, &'a dyn Fn(&mut Scene<Q>));

    #[test]
    fn trees_and_the_rings_in_them_must_be_in_order() {
        let sees = |scene: &Scene<OrderedQueue<_, 4>>, reach| {
            !scene.queue.is_well_formed(&scene.objects, reach)
        };
        assert!((0..FAR).all(|reach| !sees(&tree(), reach)));
        let breaks: [Break<OrderedQueue<_, 4>>; 8] = [
            ("the first link of a ring", 1, &|scene| {
                scene.links(9).previous = None;
            }),
            ("the key of a follower", 2, &|scene| scene.links(9).key = 9),
            ("the key of the next", 3, &|scene| scene.links(10).key = 9),
            ("a follower with a parent", 2, &|scene| {
                scene.links(9).parent = Some(scene.all[0]);
            }),
            ("a follower with a child", 2, &|scene| {
                scene.links(9).children[1] = Some(scene.all[2]);
            }),
            ("a leader that belongs elsewhere", 7, &|scene| {
                scene.links(5).key = 7;
            }),
            ("a leader with another node as parent", 4, &|scene| {
                scene.links(1).parent = Some(scene.all[2]);
            }),
            ("a cycle of parents", 1, &|scene| {
                scene.links(0).parent = Some(scene.all[1]);
            }),
        ];
        for (what, reach, destroy) in breaks {
            let mut scene = tree();
            destroy(&mut scene);
            assert!(sees(&scene, FAR), "{what}");
            assert!(sees(&scene, reach), "{what}");
            assert!(!sees(&scene, reach - 1), "{what}");
        }
    }

    #[test]
    fn a_tree_contains_those_that_can_be_found() {
        let has = |scene: &Scene<OrderedQueue<_, 4>>, index: usize| {
            (scene.queue).contains(&scene.objects, scene.all[index], FAR)
        };
        let mut scene = tree();
        assert!((0..11).all(|index| has(&scene, index)));
        assert!(!has(&scene, 11));
        // The root of another tree.
        let mut other = OrderedQueue::<_, 4>::EMPTY;
        let stranger = scene.stranger();
        other.insert(&mut scene.objects, stranger, 8);
        assert!(!has(&scene, 11));
        // Another tree has no member of this one.
        scene.queue = other;
        assert!((0..11).all(|index| !has(&scene, index)));
        // No child link leads to it any more.
        let mut scene = tree();
        scene.links(1).children[0] = None;
        assert!(!has(&scene, 5) && !has(&scene, 8) && has(&scene, 7));
    }

    /// ```text
    ///      1 (0)
    ///   1 (1)   3 (3)
    ///         5 (2)
    /// ```
    fn heap() -> Scene<Heap<Member>> {
        let arrival = core::cell::Cell::new(0);
        Scene::new(Heap::EMPTY, &[1, 1, 5, 3], |heap, objects, member, key| {
            arrival.set(arrival.get() + 1);
            heap.insert(objects, member, key, arrival.get());
        })
    }

    #[test]
    fn heaps_must_be_in_order() {
        let sees =
            |scene: &Scene<Heap<_>>, reach| !scene.queue.is_well_formed(&scene.objects, reach);
        assert!(!sees(&heap(), FAR));
        let breaks: [Break<Heap<_>>; 7] = [
            ("a root with a parent", 0, &|scene| {
                scene.links(0).parent = Some(scene.all[2]);
            }),
            ("a child with a link to another parent", 1, &|scene| {
                scene.links(1).parent = Some(scene.all[2]);
            }),
            ("a child with a lesser key", 3, &|scene| {
                scene.links(2).key = 0
            }),
            (
                "a child with the same key and an earlier arrival",
                1,
                &|scene| {
                    scene.links(1).arrival = 0;
                },
            ),
            ("a child with the same key and arrival", 1, &|scene| {
                scene.links(1).arrival = 1;
            }),
            ("a rank that is too high", 1, &|scene| {
                scene.links(0).rank += 1;
            }),
            ("the higher rank to the right", 1, &|scene| {
                scene.links(0).children[0] = None;
            }),
        ];
        for (what, reach, destroy) in breaks {
            let mut scene = heap();
            destroy(&mut scene);
            assert!(sees(&scene, FAR), "{what}");
            assert!(sees(&scene, reach), "{what}");
            assert!(reach == 0 || !sees(&scene, reach - 1), "{what}");
        }
    }

    #[test]
    fn a_heap_contains_members_that_their_parents_link() {
        let mut scene = heap();
        let has = |scene: &Scene<Heap<_>>, index: usize| {
            (scene.queue).contains(&scene.objects, scene.all[index], FAR)
        };
        assert!((0..4).all(|index| has(&scene, index)) && !has(&scene, 4));
        scene.links(0).children = [None; 2];
        assert!(has(&scene, 0) && !(1..4).any(|index| has(&scene, index)));
    }
}
