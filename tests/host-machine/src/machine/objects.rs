//! Creation of objects and transfer of capabilities, all by the root task.

use abi::{Method, ObjectType, Rights, WORD_BITS, slots};

use super::Machine;
use super::root::Answer;
use crate::CPtr;

const ROOT: CPtr = slots::INIT_THREAD_CNODE;

impl Machine {
    /// A slot that was never used.
    pub fn slot(&mut self) -> CPtr {
        let slot = self.next_slot;
        self.next_slot += 1;
        slot
    }

    /// Adjacent slots that were never used.
    pub fn slots(&mut self, count: usize) -> CPtr {
        let first = self.next_slot;
        self.next_slot += count;
        first
    }

    /// Makes an object; `size_bits` is the argument of `Untyped_Retype`.
    ///
    /// # Panics
    /// If memory is exhausted.
    pub fn create(&mut self, kind: ObjectType, size_bits: usize) -> CPtr {
        let slot = self.slot();
        self.create_in(kind, size_bits, slot);
        slot
    }

    /// Makes an object in an empty slot.
    ///
    /// # Panics
    /// If memory is exhausted.
    pub fn create_in(&mut self, kind: ObjectType, size_bits: usize, slot: CPtr) {
        self.retype(self.pool, kind, size_bits, slot, 1)
            .unwrap_or_else(|error| panic!("no {kind:?} of size {size_bits}: {error:?}"));
    }

    /// Makes `count` objects in consecutive slots.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn retype(
        &mut self,
        untyped: CPtr,
        kind: ObjectType,
        size_bits: usize,
        slot: CPtr,
        count: usize,
    ) -> Answer {
        let words = [kind.number(), size_bits, 0, 0, slot, count];
        self.invoke(untyped, Method::UntypedRetype, &words, &[ROOT])
    }

    /// An endpoint.
    pub fn endpoint(&mut self) -> CPtr {
        self.create(ObjectType::Endpoint, 0)
    }

    /// A notification.
    pub fn notification(&mut self) -> CPtr {
        self.create(ObjectType::Notification, 0)
    }

    /// A reply object.
    pub fn reply(&mut self) -> CPtr {
        self.create(ObjectType::Reply, 0)
    }

    /// A CNode of `2^radix` slots.
    pub fn cnode(&mut self, radix: usize) -> CPtr {
        self.create(ObjectType::CNode, radix)
    }

    /// Untyped memory of `2^bits` bytes.
    pub fn untyped(&mut self, bits: usize) -> CPtr {
        self.create(ObjectType::Untyped, bits)
    }

    /// Invokes a method of the initial CNode on a target slot in it.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn in_root(&mut self, method: Method, slot: CPtr, words: &[usize]) -> Answer {
        let words = [&[slot, WORD_BITS], words].concat();
        self.invoke(ROOT, method, &words, &[ROOT, ROOT])
    }

    /// Copies a capability to a slot.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn copy_to(&mut self, source: CPtr, target: CPtr, rights: Rights) -> Answer {
        self.in_root(
            Method::CNodeCopy,
            target,
            &[source, WORD_BITS, rights.word()],
        )
    }

    /// A copy of a capability with all rights.
    ///
    /// # Panics
    /// If it can't be copied.
    pub fn copy(&mut self, source: CPtr) -> CPtr {
        let slot = self.slot();
        self.copy_to(source, slot, Rights::ALL)
            .expect("the capability can be copied");
        slot
    }

    /// A copy of a capability with fewer rights and a badge, or with another CNode guard.
    ///
    /// # Panics
    /// If it can't be minted.
    pub fn mint(&mut self, source: CPtr, rights: Rights, data: usize) -> CPtr {
        let slot = self.slot();
        self.mint_to(source, slot, rights, data)
            .expect("the capability can be minted");
        slot
    }

    /// Copies a capability to a slot, with fewer rights and a badge, or with another CNode guard.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn mint_to(&mut self, source: CPtr, target: CPtr, rights: Rights, data: usize) -> Answer {
        let words = [source, WORD_BITS, rights.word(), data];
        self.in_root(Method::CNodeMint, target, &words)
    }

    /// Moves a capability.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn move_to(&mut self, source: CPtr, target: CPtr) -> Answer {
        self.in_root(Method::CNodeMove, target, &[source, WORD_BITS])
    }

    /// Deletes a capability.
    ///
    /// # Panics
    /// If the deletion fails, which must not happen.
    pub fn delete(&mut self, slot: CPtr) {
        assert_eq!(self.in_root(Method::CNodeDelete, slot, &[]), Ok(vec![]));
    }

    /// Deletes the children of a capability.
    ///
    /// # Panics
    /// If the revocation fails, which must not happen.
    pub fn revoke(&mut self, slot: CPtr) {
        assert_eq!(self.in_root(Method::CNodeRevoke, slot, &[]), Ok(vec![]));
    }

    /// Moves a capability to a slot of the CNode at `cnode`.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn move_into(&mut self, source: CPtr, cnode: CPtr, index: usize, depth: usize) -> Answer {
        let words = [index, depth, source, WORD_BITS];
        self.invoke(cnode, Method::CNodeMove, &words, &[ROOT])
    }

    /// Copies a capability, with all rights, to a slot of the CNode at `cnode`.
    ///
    /// # Errors
    /// The error that the kernel reports.
    pub fn copy_into(&mut self, source: CPtr, cnode: CPtr, index: usize, depth: usize) -> Answer {
        let words = [index, depth, source, WORD_BITS, Rights::ALL.word()];
        self.invoke(cnode, Method::CNodeCopy, &words, &[ROOT])
    }
}
