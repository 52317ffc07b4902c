//! Deletion and revocation of capabilities.
//!
//! When the last capability to an object is deleted, the object is finalised. CNodes and threads hold
//! capabilities themselves, which are deleted with them. Those may be the last to further CNodes and threads,
//! at any depth and even in cycles. The kernel has a small stack and must stay preemptible, so such a
//! deletion is a graph traversal in single steps. After each step the state is consistent, and any thread can
//! continue the deletion:
//!
//! * The capability becomes a *zombie*: it counts the slots that may still be occupied and empties
//!   them from the last to the first.
//! * If the last slot holds another zombie (the child), the traversal descends: the child's zombie takes the
//!   place of the parent's, the parent's is kept in the child's first slot, and the former content of that slot
//!   moves to the parent's last slot. So each step works on the zombie in the slot where the deletion began,
//!   the *root*, and every other zombie is reachable from it.
//! * If only one slot of a zombie remains and it holds a zombie, the traversal ascends: that zombie becomes the
//!   root, and the other is removed.
//!
//! This is the pointer reversal of Schorr and Waite (Communications of the ACM 10(8), 1967): the path back is
//! stored in slots that the traversal no longer needs.
//!
//! Endpoints and notifications with blocked threads become zombies, too, which have no slots: each step wakes
//! one thread. No further thread can block there, because a zombie cannot be invoked.
//!
//! Slots that a zombie no longer counts are empty, so when it counts none, its memory is free. The difficult
//! case is a root slot inside the object that it deletes. It occurs in a revocation where CNodes hold their
//! own last capabilities. Such a zombie must not be removed before the root slot is empty: the root moves to
//! the zombie's first slot, and the zombie is removed with it when only that slot is left.

use abi::sizes::{SLOT_BITS, TCB_BITS};

use super::{Done, Failure};
use crate::ExclusiveKernel;
use crate::arch::Arch;
use crate::cap::{Cap, Zombie, ZombieSlots};
use crate::instruments::checked;
use crate::object::{SchedContext, THREAD_SLOTS, Thread, ThreadSlot, WaitQueue, thread_slot};
use crate::sched::work;
use crate::slot::Slot;
use crate::token::Ptr;

impl<A: Arch> ExclusiveKernel<A> {
    /// Deletes the children of a capability.
    ///
    /// # Errors
    /// [`Failure::Preempted`]: the caller must repeat the operation.
    pub(crate) fn revoke(&mut self, slot: Ptr<Slot<A>>) -> Done {
        while let Some(child) = self.child_of(slot) {
            self.delete(child)?;
            self.preempt_between(work::CAPABILITY)?;
        }
        Ok(())
    }

    /// Deletes the capability in a slot.
    ///
    /// # Errors
    /// [`Failure::Preempted`]: the caller must repeat the operation.
    pub(crate) fn delete(&mut self, slot: Ptr<Slot<A>>) -> Done {
        self.finalise(slot)?;
        let mut root = slot;
        while let Cap::Zombie(zombie) = self[root].cap() {
            root = self.delete_step(root, zombie)?;
            self.preempt_between(work::CAPABILITY)?;
        }
        Ok(())
    }

    /// Finalises the object of a capability if it is the last one, and empties its slot. For CNodes, threads, and
    /// endpoints and notifications with blocked threads it leaves a zombie in the slot.
    fn finalise(&mut self, slot: Ptr<Slot<A>>) -> Done {
        let last = self.is_last_cap(slot);
        let zombie = match self[slot].cap() {
            Cap::Null | Cap::Zombie(_) => return Ok(()),
            Cap::CNode(cnode) if last => {
                checked!(self.note_deletion(&cnode));
                Some(Zombie::Slots(ZombieSlots {
                    first: cnode.slots,
                    bits: cnode.radix + SLOT_BITS,
                    remaining: cnode.slot_count(),
                }))
            }
            Cap::Thread(thread) if last => {
                self.finalise_thread(thread);
                Some(Zombie::Slots(ZombieSlots {
                    first: thread_slot(thread, ThreadSlot::CSpace),
                    bits: TCB_BITS,
                    remaining: THREAD_SLOTS,
                }))
            }
            Cap::Endpoint(cap) if last => {
                let waits = !self[cap.object].queue().is_empty();
                waits.then_some(Zombie::Endpoint(cap.object))
            }
            Cap::Notification(cap) if last => {
                let notification = cap.object;
                if let Some(thread) = self[notification].bound_thread.take() {
                    self[thread].bound_notification = None;
                }
                if let Some(context) = self[notification].sched_context.take() {
                    self[context].notification = None;
                }
                let waits = !self[notification].waiters().is_empty();
                waits.then_some(Zombie::Notification(notification))
            }
            Cap::Reply { object, .. } if last => {
                self.clear_reply(object);
                None
            }
            Cap::SchedContext { object, .. } if last => {
                self.finalise_context(object);
                None
            }
            Cap::IrqHandler(irq) if last => {
                self.arch.mask_interrupt(irq, true);
                let stored = self.irqs.slot(irq);
                self.delete(stored)?;
                // Only after the deletion above, which can be preempted.
                self.irqs[irq.0].is_issued = false;
                None
            }
            Cap::Arch(cap) => {
                self.exclusive().drop_log(cap);
                A::finalise(self, cap, last);
                None
            }
            _ => None,
        };
        match zombie {
            Some(zombie) => self[slot].set_cap(Cap::Zombie(zombie)),
            None => self.remove_cap(slot),
        }
        Ok(())
    }

    fn finalise_thread(&mut self, thread: Ptr<Thread<A>>) {
        if let Some(notification) = self[thread].bound_notification.take() {
            self[notification].bound_thread = None;
        }
        self.exclusive().stall_remote_thread(thread);
        self.suspend(thread);
        if let Some(context) = self[thread].own_context {
            self.disown(context);
        }
        if let Some(context) = self[thread].sched_context {
            self.finish_pending_yield(context);
            self.unbind_thread(context);
        }
        self.exclusive().detach_thread(thread);
        #[cfg(feature = "debug")]
        self.unlist_thread(thread);
        self.trace_thread_deleted(thread);
    }

    fn finalise_context(&mut self, context: Ptr<SchedContext<A>>) {
        self.finish_pending_yield(context);
        self.unbind_all(context);
        self.owning_core_of_context(context)
            .detach_current_context(context);
        self[context].unconfigure();
        self.trace_context_deleted(context);
    }

    /// One step of the traversal (see the module). Returns the new root.
    fn delete_step(
        &mut self,
        root: Ptr<Slot<A>>,
        zombie: Zombie<A>,
    ) -> Result<Ptr<Slot<A>>, Failure> {
        let slots = match zombie {
            Zombie::Slots(slots) if slots.remaining > 0 => slots,
            _ => {
                self.wake_one_or_remove(root, zombie);
                return Ok(root);
            }
        };
        let last = slots.remaining - 1;
        let slot = slots.slot(last);
        if slot == root {
            return Ok(self.step_at_root(root, slots));
        }
        self.finalise(slot)?;
        match self[slot].cap() {
            child @ Cap::Zombie(Zombie::Slots(_)) if last == 0 => {
                self.remove_cap(root);
                self.move_cap(slot, root, child);
                Ok(root)
            }
            Cap::Zombie(Zombie::Slots(child)) => Ok(self.descend(root, slots, slot, child)),
            Cap::Zombie(child) => {
                self.wake_one_or_remove(slot, child);
                Ok(root)
            }
            _ => {
                let remaining = last;
                let slots = ZombieSlots { remaining, ..slots };
                self[root].set_cap(Cap::Zombie(Zombie::Slots(slots)));
                Ok(root)
            }
        }
    }

    /// Wakes one thread that is blocked at the former endpoint or notification. Removes the zombie if there is none.
    #[cfg_attr(target_os = "none", optimize(size))]
    fn wake_one_or_remove(&mut self, slot: Ptr<Slot<A>>, zombie: Zombie<A>) {
        let queue = match zombie {
            Zombie::Slots(_) => WaitQueue::EMPTY,
            Zombie::Endpoint(endpoint) => self[endpoint].queue(),
            Zombie::Notification(notification) => self[notification].waiters(),
        };
        if !self.restart_first_of(queue) {
            self.remove_cap(slot);
        }
    }

    /// The slot to be emptied is the root itself, which must be emptied last.
    #[cfg_attr(target_os = "none", optimize(size))]
    #[inline(never)]
    fn step_at_root(&mut self, root: Ptr<Slot<A>>, zombie: ZombieSlots<A>) -> Ptr<Slot<A>> {
        let first = zombie.slot(0);
        if first == root {
            self.remove_cap(root);
        } else {
            let moved_up = self[first].unpack();
            self.swap_slots(
                (root, Cap::Zombie(Zombie::Slots(zombie))),
                (first, moved_up),
            );
        }
        first
    }

    /// Moves the zombie in `slot`, the last slot of `zombie`, to the root.
    #[cfg_attr(target_os = "none", optimize(size))]
    #[inline(never)]
    fn descend(
        &mut self,
        root: Ptr<Slot<A>>,
        zombie: ZombieSlots<A>,
        slot: Ptr<Slot<A>>,
        child: ZombieSlots<A>,
    ) -> Ptr<Slot<A>> {
        if child.remaining == 0 {
            self.remove_cap(slot);
            return root;
        }
        self.swap_slots(
            (root, Cap::Zombie(Zombie::Slots(zombie))),
            (slot, Cap::Zombie(Zombie::Slots(child))),
        );
        // The root may itself be the child's first slot; the parent's zombie is kept in the next slot then.
        let park = usize::from(child.slot(0) == root);
        if child.remaining <= park {
            // Nothing else is left of the child, which is removed with the root; `slot` becomes the root.
            self.remove_cap(root);
            return slot;
        }
        let park = child.slot(park);
        let moved_up = self[park].unpack();
        self.swap_slots((slot, Cap::Zombie(Zombie::Slots(zombie))), (park, moved_up));
        root
    }
}
