//! Least key first, first come first served among equals. The number of steps is logarithmic in the number of
//! members.
//!
//! A leftist heap (Crane 1972; Knuth, The Art of Computer Programming, vol. 3, section 5.2.3): a binary tree
//! in which no member precedes its parent. The *rank* of a member is the length of its right spine, and is
//! never greater in the right child than in the left. So right spines are logarithmic in the number of
//! members, and all operations work along them: two heaps are merged along their right spines. An insertion
//! merges with a heap of one member; a removal leaves two heaps, which are merged in its place. The first
//! member is the root.

use super::Linked;
use crate::token::{Objects, Ptr};

const LEFT: usize = 0;
const RIGHT: usize = 1;

/// A queue ordered by time. It is a single pointer.
#[derive(Debug)]
pub struct Heap<T> {
    root: Option<Ptr<T>>,
}

copyable!([T] Heap<T>);

impl<T: Linked> Heap<T> {
    /// The empty queue.
    pub const EMPTY: Self = Self { root: None };

    /// The member with the least key; of several, the one with the earliest arrival.
    pub const fn first(&self) -> Option<Ptr<T>> {
        self.root
    }

    /// Adds a member that is in no queue. Arrival numbers ascend, and may wrap around.
    pub fn insert(&mut self, objects: &mut Objects, member: Ptr<T>, key: u64, arrival: u32) {
        let links = objects[member].links_mut();
        (links.key, links.arrival, links.rank) = (key, arrival, 1);
        (links.parent, links.children) = (None, [None; 2]);
        self.root = merge(objects, self.root, Some(member));
    }

    /// Removes a member of this queue. Most often it is the only one.
    #[inline(always)]
    pub fn remove(&mut self, objects: &mut Objects, member: Ptr<T>) {
        let links = objects[member].links();
        match (links.parent, links.children) {
            (None, [None, None]) => self.root = None,
            _ => self.remove_from_several(objects, member),
        }
    }

    #[inline(never)]
    fn remove_from_several(&mut self, objects: &mut Objects, member: Ptr<T>) {
        let links = objects[member].links_mut();
        let parent = links.parent.take();
        let children = core::mem::take(&mut links.children);
        for child in children.into_iter().flatten() {
            objects[child].links_mut().parent = None;
        }
        let heir = merge(objects, children[LEFT], children[RIGHT]);
        if let Some(heir) = heir {
            objects[heir].links_mut().parent = parent;
        }
        let Some(parent) = parent else {
            self.root = heir;
            return;
        };
        let children = &mut objects[parent].links_mut().children;
        let side = usize::from(children[RIGHT] == Some(member));
        children[side] = heir;
        // Nodes above a rank that stays the same do not change. A rank can only change through its smaller
        // side, so the number of changed nodes is at most the number of ranks.
        let mut next = Some(parent);
        while let Some(node) = next
            && update_rank(objects, node)
        {
            next = objects[node].links().parent;
        }
    }
}

/// Whether `one` comes before `other`.
fn precedes<T: Linked>(objects: &Objects, one: Ptr<T>, other: Ptr<T>) -> bool {
    let (one, other) = (objects[one].links(), objects[other].links());
    if one.key == other.key {
        (one.arrival.wrapping_sub(other.arrival) as i32) < 0
    } else {
        one.key < other.key
    }
}

fn rank<T: Linked>(objects: &Objects, node: Option<Ptr<T>>) -> u32 {
    node.map_or(0, |node| objects[node].links().rank)
}

/// Merges two heaps along their right spines. Their roots have no parent.
fn merge<T: Linked>(
    objects: &mut Objects,
    mut one: Option<Ptr<T>>,
    mut other: Option<Ptr<T>>,
) -> Option<Ptr<T>> {
    let mut root = None;
    let mut last: Option<Ptr<T>> = None;
    loop {
        let (next, done) = match (one, other) {
            (Some(a), Some(b)) => {
                let (least, greater) = if precedes(objects, a, b) {
                    (a, b)
                } else {
                    (b, a)
                };
                one = objects[least].links().children[RIGHT];
                other = Some(greater);
                (Some(least), false)
            }
            (rest, None) | (None, rest) => (rest, true),
        };
        match last {
            Some(last) => objects[last].links_mut().children[RIGHT] = next,
            None => root = next,
        }
        if let Some(next) = next {
            objects[next].links_mut().parent = last;
        }
        if done {
            break;
        }
        last = next;
    }
    while let Some(node) = last {
        update_rank(objects, node);
        last = objects[node].links().parent;
    }
    root
}

/// Moves the child of smaller rank to the right. Returns whether the rank of the node itself changed.
fn update_rank<T: Linked>(objects: &mut Objects, node: Ptr<T>) -> bool {
    let [left, right] = objects[node].links().children;
    let (left_rank, right_rank) = (rank(objects, left), rank(objects, right));
    let links = objects[node].links_mut();
    if left_rank < right_rank {
        links.children = [right, left];
    }
    let before = links.rank;
    links.rank = left_rank.min(right_rank) + 1;
    links.rank != before
}

#[cfg(test)]
mod tests {
    use super::super::testing::members;
    use super::*;
    use proptest::prelude::*;

    /// The length of the right spine of the root.
    fn way_right<T: Linked>(objects: &Objects, heap: &Heap<T>) -> u32 {
        let (mut steps, mut next) = (0, heap.first());
        while let Some(node) = next {
            steps += 1;
            next = objects[node].links().children[RIGHT];
        }
        steps
    }

    proptest! {
        /// Any sequence of insertions and removals agrees with a stable sort by key, and the right spine
        /// stays logarithmic.
        #[test]
        fn agrees_with_a_sorted_list(
            steps in prop::collection::vec((0usize..60, 0u64..12), 1..400),
            first_arrival: u32,
        ) {
            // SAFETY: the only token of this test's members.
            let mut objects = unsafe { Objects::new() };
            let all = members(60);
            let mut heap = Heap::EMPTY;
            let mut arrival = first_arrival;
            let mut model: Vec<(u64, usize)> = Vec::new();
            for (index, key) in steps {
                if let Some(place) = model.iter().position(|entry| entry.1 == index) {
                    heap.remove(&mut objects, all[index]);
                    model.remove(place);
                } else {
                    heap.insert(&mut objects, all[index], key, arrival);
                    arrival = arrival.wrapping_add(1);
                    let place = model.iter().position(|entry| entry.0 > key).unwrap_or(model.len());
                    model.insert(place, (key, index));
                }
                prop_assert_eq!(heap.first(), model.first().map(|entry| all[entry.1]));
                prop_assert!(heap.is_well_formed(&objects, usize::MAX));
                prop_assert!(1usize << way_right(&objects, &heap) <= model.len() + 1);
                for (index, member) in all.iter().enumerate() {
                    let expected = model.iter().any(|entry| entry.1 == index);
                    prop_assert_eq!(heap.contains(&objects, *member, usize::MAX), expected);
                }
            }
            while let Some((_, index)) = model.first().copied() {
                prop_assert_eq!(heap.first(), Some(all[index]));
                heap.remove(&mut objects, all[index]);
                model.remove(0);
            }
            prop_assert!(heap.first().is_none());
        }
    }

    /// Removal from anywhere in a large heap repairs a logarithmic number of ranks. This tests that it works
    /// on all shapes that ascending, descending and mixed keys give.
    #[test]
    fn large_heaps_stay_in_shape() {
        const COUNT: usize = 1 << 10;
        let orders: [fn(usize) -> u64; 3] = [
            |index| index as u64,
            |index| (COUNT - index) as u64,
            |index| (index * 7919 % COUNT) as u64,
        ];
        for order in orders {
            // SAFETY: the only token of this test's members.
            let mut objects = unsafe { Objects::new() };
            let all = members(COUNT);
            let mut heap = Heap::EMPTY;
            for (index, member) in all.iter().enumerate() {
                heap.insert(&mut objects, *member, order(index), index as u32);
            }
            assert!(way_right(&objects, &heap) <= 10);
            for index in (0..COUNT).step_by(3) {
                heap.remove(&mut objects, all[index]);
            }
            assert!(heap.is_well_formed(&objects, usize::MAX));
        }
    }
}
