//! Looking along queues, for those who check them. The kernel itself never does.
//!
//! Each look has a `reach`, the number of members that it looks at; what lies further is taken to be in
//! order. `usize::MAX` sees everything.

use super::{Heap, Linked, OrderedQueue, Ring};
use crate::token::{Objects, Ptr};

impl<T: Linked> Ring<T> {
    /// Whether neighbours agree about each other.
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
    /// Shows members to `visit`, in no particular order, until it returns an error.
    ///
    /// # Errors
    /// That of `visit`.
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

    /// Whether every leader stands where the bits of its key lead, leads a well-formed ring of equal
    /// keys, and knows its parent.
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

    /// Whether the leader of a ring stands in the tree where the bits of its key lead.
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

    /// How far a node is from the root; no path is longer than a key.
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
    /// Shows every member to `visit`, in no particular order, until it returns an error.
    ///
    /// # Errors
    /// That of `visit`.
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

    /// Whether nobody precedes their parent, who knows them, and ranks are as they should be.
    pub fn is_well_formed(&self, objects: &Objects, reach: usize) -> bool {
        let rank = |node: Option<Ptr<T>>| node.map_or(0, |node| objects[node].links().rank);
        let agrees = |member: Ptr<T>| {
            let links = objects[member].links();
            let [left, right] = links.children;
            let in_order = [left, right].into_iter().flatten().all(|child| {
                let below = objects[child].links();
                let later = (below.turn.wrapping_sub(links.turn) as i32) > 0;
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

/// Whether a member of a ring and its neighbours agree about each other.
fn is_linked<T: Linked>(objects: &Objects, member: Ptr<T>) -> bool {
    let links = objects[member].links();
    let (Some(next), Some(previous)) = (links.next, links.previous) else {
        return false;
    };
    objects[next].links().previous == Some(member) && objects[previous].links().next == Some(member)
}

/// The node that follows in a walk that visits parents before children.
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
