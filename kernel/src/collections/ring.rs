//! First-come-first-served queue: a doubly linked ring.

use super::Linked;
use crate::token::{Objects, Ptr};

/// A queue of members. All operations take constant time.
#[derive(Debug)]
pub struct Ring<T> {
    first: Option<Ptr<T>>,
}

copyable!([T] Ring<T>);

impl<T: Linked> Ring<T> {
    /// The empty queue.
    pub const EMPTY: Self = Self { first: None };

    /// A queue that starts with `first`, which must be empty or in a ring.
    pub(super) const fn starting_with(first: Option<Ptr<T>>) -> Self {
        Self { first }
    }

    /// The member that came first.
    pub const fn first(&self) -> Option<Ptr<T>> {
        self.first
    }

    /// Whether there is no member.
    pub const fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds a member at the end.
    pub fn push_back(&mut self, objects: &mut Objects, member: Ptr<T>) {
        let Some(first) = self.first else {
            let links = objects[member].links_mut();
            (links.next, links.previous) = (Some(member), Some(member));
            self.first = Some(member);
            return;
        };
        let last = objects[first].links().previous.unwrap_or(first);
        objects[last].links_mut().next = Some(member);
        objects[first].links_mut().previous = Some(member);
        let links = objects[member].links_mut();
        (links.next, links.previous) = (Some(first), Some(last));
    }

    /// Adds a member at the front.
    pub fn push_front(&mut self, objects: &mut Objects, member: Ptr<T>) {
        self.push_back(objects, member);
        self.first = Some(member);
    }

    /// Removes a member of this queue.
    pub fn remove(&mut self, objects: &mut Objects, member: Ptr<T>) {
        let links = objects[member].links_mut();
        let (next, previous) = (links.next.take(), links.previous.take());
        let (Some(next), Some(previous)) = (next, previous) else {
            return;
        };
        if next == member {
            self.first = None;
            return;
        }
        objects[previous].links_mut().next = Some(next);
        objects[next].links_mut().previous = Some(previous);
        if self.first == Some(member) {
            self.first = Some(next);
        }
    }

    /// `member` joins the end, and the first member, if there is one, leaves.
    pub fn rotate_in(&mut self, objects: &mut Objects, member: Ptr<T>) {
        let Some(first) = self.first else {
            return self.push_back(objects, member);
        };
        let links = objects[first].links_mut();
        let (next, previous) = (links.next.take(), links.previous.take());
        // The other members, or `member` itself if there is none.
        let (next, last) = match (next, previous) {
            (Some(next), Some(last)) if next != first => (next, last),
            _ => (member, member),
        };
        objects[last].links_mut().next = Some(member);
        objects[next].links_mut().previous = Some(member);
        let links = objects[member].links_mut();
        (links.next, links.previous) = (Some(next), Some(last));
        self.first = Some(next);
    }

    /// The member after `member`, unless that is the last.
    pub fn after(&self, objects: &Objects, member: Ptr<T>) -> Option<Ptr<T>> {
        objects[member]
            .links()
            .next
            .filter(|next| self.first != Some(*next))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::members;
    use super::*;

    fn contents<T: Linked>(ring: &Ring<T>, objects: &Objects) -> Vec<Ptr<T>> {
        let mut list = Vec::new();
        let mut next = ring.first();
        while let Some(member) = next {
            list.push(member);
            next = ring.after(objects, member);
        }
        list
    }

    #[test]
    fn keeps_order_and_forgets_the_removed() {
        // SAFETY: the only token of this test's members.
        let mut objects = unsafe { Objects::new() };
        let m = members(4);
        let mut ring = Ring::EMPTY;
        for member in &m[..3] {
            ring.push_back(&mut objects, *member);
        }
        ring.push_front(&mut objects, m[3]);
        assert_eq!(contents(&ring, &objects), [m[3], m[0], m[1], m[2]]);
        ring.remove(&mut objects, m[1]);
        ring.remove(&mut objects, m[3]);
        assert_eq!(contents(&ring, &objects), [m[0], m[2]]);
        ring.remove(&mut objects, m[0]);
        ring.remove(&mut objects, m[2]);
        assert!(ring.is_empty());
    }

    #[test]
    fn a_member_takes_the_turn_of_the_first() {
        // SAFETY: the only token of this test's members.
        let mut objects = unsafe { Objects::new() };
        let m = members(4);
        let mut ring = Ring::EMPTY;
        ring.rotate_in(&mut objects, m[0]);
        assert_eq!(contents(&ring, &objects), [m[0]]);
        ring.rotate_in(&mut objects, m[1]);
        assert_eq!(contents(&ring, &objects), [m[1]]);
        ring.push_back(&mut objects, m[2]);
        ring.rotate_in(&mut objects, m[0]);
        assert_eq!(contents(&ring, &objects), [m[2], m[0]]);
        ring.push_back(&mut objects, m[3]);
        ring.rotate_in(&mut objects, m[1]);
        assert_eq!(contents(&ring, &objects), [m[0], m[3], m[1]]);
        for member in [m[3], m[1], m[0]] {
            ring.remove(&mut objects, member);
        }
        assert!(ring.is_empty());
    }
}
