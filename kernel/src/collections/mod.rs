//! Intrusive collections: the members carry the structure, so the kernel allocates nothing.

mod bitmap;
mod heap;
mod ordered;
mod ring;
mod tournament;
#[cfg(any(test, feature = "invariants"))]
mod walk;

pub use bitmap::PriorityBitmap;
pub use heap::Heap;
pub use ordered::OrderedQueue;
pub use ring::Ring;
pub use tournament::Tournament;

use crate::token::Ptr;

/// The links of a member of a queue. A member is in one queue at a time.
#[derive(Debug)]
#[repr(C)]
pub struct Links<T> {
    /// The position in the tree of an [`OrderedQueue`] or [`Heap`]; unused in a [`Ring`].
    parent: Option<Ptr<T>>,
    children: [Option<Ptr<T>>; 2],
    /// Neighbours among members of the same key.
    next: Option<Ptr<T>>,
    previous: Option<Ptr<T>>,
    key: u64,
    /// In a [`Heap`]: the length of the right spine, and the order among equals.
    rank: u32,
    arrival: u32,
}

/// Offsets for fast paths in assembly.
impl<T> Links<T> {
    /// Offset of the parent; the two children follow it.
    pub const PARENT: usize = core::mem::offset_of!(Self, parent);
    /// Offset of the first child.
    pub const CHILDREN: usize = core::mem::offset_of!(Self, children);
    /// Offset of the next member of the same key.
    pub const NEXT: usize = core::mem::offset_of!(Self, next);
    /// Offset of the previous member of the same key.
    pub const PREVIOUS: usize = core::mem::offset_of!(Self, previous);
    /// Offset of the key.
    pub const KEY: usize = core::mem::offset_of!(Self, key);
}

impl<T> Links<T> {
    /// The links of a member of no queue.
    pub const NONE: Self = Self {
        parent: None,
        children: [None; 2],
        next: None,
        previous: None,
        key: 0,
        rank: 0,
        arrival: 0,
    };

    /// The key under which the member was inserted into an [`OrderedQueue`] or [`Heap`], or that was set for
    /// it.
    pub const fn key(&self) -> u64 {
        self.key
    }

    /// Removes the only member from its queue.
    #[inline(always)]
    pub const fn unlink_only(&mut self) {
        (self.next, self.previous) = (None, None);
    }

    /// Sets a key for a member of a [`Ring`], which does not use it itself.
    pub const fn set_key(&mut self, key: u64) {
        self.key = key;
    }
}

/// A type of members of queues.
pub trait Linked: Sized {
    /// The links.
    fn links(&self) -> &Links<Self>;
    /// The links.
    fn links_mut(&mut self) -> &mut Links<Self>;
}

#[cfg(test)]
pub(crate) mod testing {
    //! Members for the tests of this module.

    use super::{Linked, Links};
    use crate::token::Ptr;
    use core::ptr::NonNull;

    pub struct Member {
        links: Links<Member>,
    }

    impl Linked for Member {
        fn links(&self) -> &Links<Self> {
            &self.links
        }
        fn links_mut(&mut self) -> &mut Links<Self> {
            &mut self.links
        }
    }

    pub fn members(count: usize) -> Vec<Ptr<Member>> {
        (0..count)
            .map(|_| {
                let member = Box::leak(Box::new(Member { links: Links::NONE }));
                // SAFETY: leaked, so it is never freed, and there is no other reference to it.
                unsafe { Ptr::new(NonNull::from(member)) }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::members;
    use super::{Linked, Ring};
    use crate::token::Objects;

    #[test]
    fn a_noted_key_is_told() {
        // SAFETY: the only token of this test's members.
        let mut objects = unsafe { Objects::new() };
        let member = members(1)[0];
        for key in [7, 0, u64::MAX] {
            objects[member].links_mut().set_key(key);
            assert_eq!(objects[member].links().key(), key);
        }
    }

    #[test]
    fn a_last_member_leaves_no_queue() {
        // SAFETY: the only token of this test's members.
        let mut objects = unsafe { Objects::new() };
        let member = members(1)[0];
        let mut ring = Ring::EMPTY;
        ring.push_back(&mut objects, member);
        objects[member].links_mut().unlink_only();
        let links = objects[member].links();
        assert!(links.next.is_none() && links.previous.is_none());
    }
}
