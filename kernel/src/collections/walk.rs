//! Looking at whole queues, for those who check them. The kernel itself never does.

use super::{Heap, Linked, OrderedQueue, Ring};
use crate::token::{Objects, Ptr};

impl<T: Linked> Ring<T> {
    /// Whether neighbours agree about each other.
    pub fn is_well_formed(&self, objects: &Objects) -> bool {
        let Some(first) = self.first() else {
            return true;
        };
        let mut member = first;
        loop {
            let Some(next) = objects[member].links().next else {
                return false;
            };
            if objects[next].links().previous != Some(member) {
                return false;
            }
            if next == first {
                return true;
            }
            member = next;
        }
    }

    /// Whether `member` is in this queue.
    pub fn contains(&self, objects: &Objects, member: Ptr<T>) -> bool {
        let mut next = self.first();
        while let Some(other) = next {
            if other == member {
                return true;
            }
            next = self.after(objects, other);
        }
        false
    }
}

impl<T: Linked, const BITS: u32> OrderedQueue<T, BITS> {
    /// Shows every member to `visit`, in no particular order, until it returns an error.
    ///
    /// # Errors
    /// That of `visit`.
    pub fn for_each<E>(
        &self,
        objects: &Objects,
        mut visit: impl FnMut(Ptr<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = self.root();
        while let Some(leader) = next {
            let ring = Ring::starting_with(Some(leader));
            let mut member = Some(leader);
            while let Some(equal) = member {
                visit(equal)?;
                member = ring.after(objects, equal);
            }
            next = after_in_tree(objects, leader);
        }
        Ok(())
    }

    /// Whether every leader stands where the bits of its key lead, leads a well-formed ring of equal
    /// keys, and knows its parent.
    pub fn is_well_formed(&self, objects: &Objects) -> bool {
        let mut next = self.root();
        while let Some(leader) = next {
            let links = objects[leader].links();
            let ring = Ring::starting_with(Some(leader));
            if !ring.is_well_formed(objects) || !self.is_in_place(objects, leader) {
                return false;
            }
            let mut member = ring.after(objects, leader);
            while let Some(equal) = member {
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
    pub fn contains(&self, objects: &Objects, member: Ptr<T>) -> bool {
        let ring = Ring::starting_with(Some(member));
        let mut next = Some(member);
        while let Some(other) = next {
            if objects[other].links().next.is_none() {
                return false;
            }
            if self.root() == Some(other) || objects[other].links().parent.is_some() {
                return self.root() == Some(root_above(objects, other));
            }
            next = ring.after(objects, other);
        }
        false
    }

    fn is_in_place(&self, objects: &Objects, leader: Ptr<T>) -> bool {
        let key = objects[leader].links().key;
        let depth_of = |mut node: Ptr<T>| {
            let mut depth = 0;
            while let Some(parent) = objects[node].links().parent {
                node = parent;
                depth += 1;
            }
            depth
        };
        let mut depth: u32 = depth_of(leader);
        let mut node = leader;
        if depth > BITS {
            return false;
        }
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
}

impl<T: Linked> Heap<T> {
    /// Shows every member to `visit`, in no particular order, until it returns an error.
    ///
    /// # Errors
    /// That of `visit`.
    pub fn for_each<E>(
        &self,
        objects: &Objects,
        mut visit: impl FnMut(Ptr<T>) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut next = self.first();
        while let Some(member) = next {
            visit(member)?;
            next = after_in_tree(objects, member);
        }
        Ok(())
    }

    /// Whether nobody precedes their parent, who knows them, and ranks are as they should be.
    pub fn is_well_formed(&self, objects: &Objects) -> bool {
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
                .for_each(
                    objects,
                    |member| if agrees(member) { Ok(()) } else { Err(()) },
                )
                .is_ok()
    }

    /// Whether `member` is in this queue.
    pub fn contains(&self, objects: &Objects, member: Ptr<T>) -> bool {
        self.first() == Some(root_above(objects, member))
    }
}

fn root_above<T: Linked>(objects: &Objects, mut node: Ptr<T>) -> Ptr<T> {
    while let Some(parent) = objects[node].links().parent {
        node = parent;
    }
    node
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
