//! Least key first, first come first served among equals. The number of steps is bounded by the length of a
//! key, whatever the number of members.
//!
//! A digital search tree: members of equal key form a ring, and one member of each ring, its *leader*, is a
//! node of a binary tree in which the path below depth *d* is chosen by the *d*-th bit of the key, most
//! significant first (Knuth, The Art of Computer Programming, vol. 3, section 6.3). So a path is never longer
//! than a key, eight steps for priorities, and the tree is never rebalanced. A removed node is replaced by
//! any leaf below it. The least key is found on one path: all keys in the left subtree of a node are less
//! than all in its right subtree, so that only the nodes on the leftmost path compete.

use super::{Linked, Links, Ring};
use crate::token::{Objects, Ptr};

/// A queue ordered by keys of `BITS` bits. It is a single pointer, so that small objects can pack it.
#[derive(Debug)]
pub struct OrderedQueue<T, const BITS: u32> {
    root: Option<Ptr<T>>,
}

copyable!([T, const BITS: u32] OrderedQueue<T, BITS>);

impl<T: Linked, const BITS: u32> OrderedQueue<T, BITS> {
    /// The empty queue.
    pub const EMPTY: Self = Self { root: None };

    /// The queue with root `root`, which [`OrderedQueue::root`] returned.
    pub const fn from_root(root: Option<Ptr<T>>) -> Self {
        Self { root }
    }

    /// The root of the tree: the complete state of the queue.
    pub const fn root(&self) -> Option<Ptr<T>> {
        self.root
    }

    /// Whether there is no member.
    pub const fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    fn side(key: u64, depth: u32) -> usize {
        (key >> (BITS - 1 - depth) & 1) as usize
    }

    /// Adds a member that is in no queue, after all members of the same key.
    pub fn insert(&mut self, objects: &mut Objects, member: Ptr<T>, key: u64) {
        debug_assert!(BITS == 64 || key >> BITS == 0);
        if self.is_empty() {
            return self.insert_only(objects, member, key);
        }
        let links = objects[member].links_mut();
        links.key = key;
        links.parent = None;
        links.children = [None; 2];

        let mut parent = None;
        let mut next = self.root;
        let mut depth = 0;
        while let Some(node) = next {
            if objects[node].links().key == key {
                Ring::starting_with(Some(node)).push_back(objects, member);
                return;
            }
            let side = Self::side(key, depth);
            parent = Some((node, side));
            next = objects[node].links().children[side];
            depth += 1;
        }
        let mut ring = Ring::EMPTY;
        ring.push_back(objects, member);
        if let Some((parent, side)) = parent {
            objects[parent].links_mut().children[side] = Some(member);
            objects[member].links_mut().parent = Some(parent);
        }
    }

    /// The member, if there is exactly one.
    #[inline(always)]
    pub fn only(&self, objects: &Objects) -> Option<Ptr<T>> {
        let root = self.root?;
        let links = objects[root].links();
        let [left, right] = links.children;
        (left.is_none() && right.is_none() && Ptr::is_same(links.next, self.root)).then_some(root)
    }

    /// Adds a member that is in no queue to this empty queue.
    #[inline(always)]
    pub fn insert_only(&mut self, objects: &mut Objects, member: Ptr<T>, key: u64) {
        debug_assert!(self.is_empty());
        let links = objects[member].links_mut();
        links.key = key;
        links.parent = None;
        links.children = [None; 2];
        (links.next, links.previous) = (Some(member), Some(member));
        self.root = Some(member);
    }

    /// The first member of those with the least key.
    #[inline]
    pub fn first(&self, objects: &Objects) -> Option<Ptr<T>> {
        Some(Self::first_below(objects, self.root?))
    }

    /// The member after a member of this queue.
    pub fn after(&self, objects: &Objects, member: Ptr<T>) -> Option<Ptr<T>> {
        let next = objects[member].links().next?;
        // A ring ends where its leader follows.
        let is_leader = self.root == Some(next) || objects[next].links().parent.is_some();
        if is_leader {
            self.first_above(objects, objects[member].links().key)
        } else {
            Some(next)
        }
    }

    /// The first member of those with the least key above `key`.
    fn first_above(&self, objects: &Objects, key: u64) -> Option<Ptr<T>> {
        let (mut best, mut right): (Option<Ptr<T>>, Option<Ptr<T>>) = (None, None);
        let mut next = self.root;
        let mut depth = 0;
        let is_better = |node: Ptr<T>, best: Option<Ptr<T>>| {
            let own = objects[node].links().key;
            own > key && best.is_none_or(|best| own < objects[best].links().key)
        };
        while let Some(node) = next {
            if is_better(node, best) {
                best = Some(node);
            }
            let children = objects[node].links().children;
            // All keys to the right of the path are greater. The least of them is in the right subtree of the
            // node where the path last went left.
            let side = if depth < BITS {
                Self::side(key, depth)
            } else {
                1
            };
            if side == 0 && children[1].is_some() {
                right = children[1];
            }
            next = children[side];
            depth += 1;
        }
        match right.map(|right| Self::first_below(objects, right)) {
            Some(least) if is_better(least, best) => Some(least),
            _ => best,
        }
    }

    /// The leader with the least key of a subtree.
    fn first_below(objects: &Objects, node: Ptr<T>) -> Ptr<T> {
        let mut least = node;
        let mut node = node;
        loop {
            let [left, right] = objects[node].links().children;
            // The left subtree has lesser keys than the right one; the node itself may compare either way.
            let Some(next) = left.or(right) else {
                return least;
            };
            if objects[next].links().key < objects[least].links().key {
                least = next;
            }
            node = next;
        }
    }

    /// Removes a member of this queue.
    pub fn remove(&mut self, objects: &mut Objects, member: Ptr<T>) {
        if self.only(objects) == Some(member) {
            self.root = None;
            return objects[member].links_mut().unlink_only();
        }
        let is_leader = self.root == Some(member) || objects[member].links().parent.is_some();
        let mut ring = Ring::starting_with(Some(member));
        ring.remove(objects, member);
        if is_leader {
            let heir = match ring.first() {
                Some(equal) => Some(equal),
                None => self.detach_leaf_below(objects, member),
            };
            self.replace(objects, member, heir);
        }
        let links = objects[member].links_mut();
        links.parent = None;
        links.children = [None; 2];
    }

    /// Detaches a leaf of the tree below `node`, if there is any.
    fn detach_leaf_below(&mut self, objects: &mut Objects, node: Ptr<T>) -> Option<Ptr<T>> {
        let mut leaf = node;
        while let [Some(next), _] | [None, Some(next)] = objects[leaf].links().children {
            leaf = next;
        }
        if leaf == node {
            return None;
        }
        self.replace(objects, leaf, None);
        Some(leaf)
    }

    /// Puts `heir` at the position of `node` in the tree.
    fn replace(&mut self, objects: &mut Objects, node: Ptr<T>, heir: Option<Ptr<T>>) {
        let &Links {
            parent, children, ..
        } = objects[node].links();
        match parent {
            None => self.root = heir,
            Some(parent) => {
                for child in &mut objects[parent].links_mut().children {
                    if *child == Some(node) {
                        *child = heir;
                    }
                }
            }
        }
        let Some(heir) = heir else { return };
        let links = objects[heir].links_mut();
        links.parent = parent;
        links.children = children;
        for child in children.into_iter().flatten() {
            objects[child].links_mut().parent = Some(heir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::members;
    use super::*;
    use proptest::prelude::*;

    /// The length of the path to a member, to test its bound.
    fn depth<T: Linked>(objects: &Objects, mut member: Ptr<T>) -> usize {
        let mut depth = 0;
        while let Some(parent) = objects[member].links().parent {
            member = parent;
            depth += 1;
        }
        depth
    }

    proptest! {
        /// Any sequence of insertions and removals agrees with a stable sort by key.
        #[test]
        fn agrees_with_a_sorted_list(steps in prop::collection::vec((0usize..40, 0u64..16), 1..300)) {
            // SAFETY: the only token of this test's members.
            let mut objects = unsafe { Objects::new() };
            let all = members(40);
            let mut queue = OrderedQueue::<_, 4>::EMPTY;
            let mut model: Vec<(u64, usize)> = Vec::new();
            for (index, key) in steps {
                if let Some(place) = model.iter().position(|entry| entry.1 == index) {
                    queue.remove(&mut objects, all[index]);
                    model.remove(place);
                } else {
                    queue.insert(&mut objects, all[index], key);
                    let place = model.iter().position(|entry| entry.0 > key).unwrap_or(model.len());
                    model.insert(place, (key, index));
                }
                prop_assert_eq!(queue.first(&objects), model.first().map(|entry| all[entry.1]));
                for (place, (_, index)) in model.iter().enumerate() {
                    prop_assert!(depth(&objects, all[*index]) <= 4);
                    let behind = model.get(place + 1).map(|entry| all[entry.1]);
                    prop_assert_eq!(queue.after(&objects, all[*index]), behind);
                }
            }
            while let Some((_, index)) = model.first().copied() {
                prop_assert_eq!(queue.first(&objects), Some(all[index]));
                queue.remove(&mut objects, all[index]);
                model.remove(0);
            }
            prop_assert!(queue.is_empty());
        }
    }
}
