//! Signal and Wait.

use abi::registers::CAP;
use abi::{Rights, Syscall};

use super::switch::{Available, ClockReading};
use super::{Eligible, NotEligible, SystemCall, eligible};
use crate::Kernel;
use crate::arch::{Arch, Irq, UserContext};
use crate::cap::Cap;
use crate::object::{Notification, NotificationState, Thread, ThreadState, WaitQueue};
use crate::token::Ptr;

impl<A: Arch> Kernel<A> {
    /// Signals the notification of an interrupt that has interrupted a thread.
    pub(crate) fn fast_interrupt(&mut self, irq: Irq) -> Eligible<Ptr<Thread<A>>> {
        let current = self.core.current.ok_or(NotEligible)?;
        let entry = self.irqs.get(irq.0).ok_or(NotEligible)?;
        let Cap::Notification(cap) = entry.notification.cap() else {
            return Err(NotEligible);
        };
        eligible(entry.is_issued && cap.rights.contains(Rights::WRITE))?;
        let next = self.fast_signal(current, cap.object, cap.badge)?;
        self.arch.mask_interrupt(irq, true);
        Ok(next)
    }

    /// Signals a notification for which no thread waits, or for which a thread with its own context waits.
    #[inline(always)]
    pub(super) fn fast_signal(
        &mut self,
        sender: Ptr<Thread<A>>,
        notification: Ptr<Notification<A>>,
        badge: usize,
    ) -> Eligible<Ptr<Thread<A>>> {
        self.is_on_this_core(self[notification].core)?;
        let word = match self[notification].state {
            NotificationState::Active(word) => word,
            NotificationState::Idle => {
                eligible(self[notification].bound_thread.is_none())?;
                0
            }
            NotificationState::Waiting(queue) => {
                return self.wake_waiting(sender, notification, queue, badge);
            }
        };
        let reading = self.read_clock_if_needed()?;
        self.commit_reading(reading);
        self[notification].state = NotificationState::Active(word | badge);
        Ok(sender)
    }

    /// Wakes the first thread that waits for a signal.
    #[inline(always)]
    fn wake_waiting(
        &mut self,
        sender: Ptr<Thread<A>>,
        notification: Ptr<Notification<A>>,
        mut queue: WaitQueue<A>,
        badge: usize,
    ) -> Eligible<Ptr<Thread<A>>> {
        let (thread, is_alone) = self.first_of(queue)?;
        let reading = self.read_clock_with_budget()?;
        let available = self.can_run(thread, reading.now)?;
        self.is_decided_between(sender, thread, reading.now)?;

        if is_alone {
            WaitQueue::remove_only(&mut self.objects, thread);
            self[notification].state = NotificationState::Idle;
        } else {
            queue.remove(&mut self.objects, thread);
            self[notification].state = NotificationState::Waiting(queue);
        }
        self[thread].context.set_result(CAP, badge);
        self[thread].state = ThreadState::Running;
        Ok(self.wake_beside(sender, thread, reading, available))
    }

    /// Makes a thread that is in no queue ready, and switches to it if it has a higher priority than the
    /// current one. Returns the thread to run.
    #[inline(always)]
    pub(super) fn wake_beside(
        &mut self,
        current: Ptr<Thread<A>>,
        thread: Ptr<Thread<A>>,
        reading: ClockReading,
        available: Available<A>,
    ) -> Ptr<Thread<A>> {
        self.commit_reading(Some(reading));
        let (own, other) = (self[current].priority, self[thread].priority);
        if other > own {
            self.queue_front(current);
            self.switch_to_woken(thread, available);
            return thread;
        }
        self.unblock_context(available);
        if other == own {
            self.queue_back(thread);
        } else {
            self.queue_front(thread);
        }
        current
    }

    /// Takes a pending signal, or waits for one at a notification that has no context to lend.
    #[inline(always)]
    pub(super) fn fast_wait(&mut self, call: &SystemCall<A>) -> Eligible<Ptr<Thread<A>>> {
        const WAIT: usize = Syscall::Wait.number();
        let thread = call.thread;
        let cap = Cap::decode_notification(self.find(thread, call.cap)?).ok_or(NotEligible)?;
        eligible(cap.rights.contains(Rights::READ))?;
        self.is_on_this_core(self[cap.object].core)?;
        let bound = self[cap.object].bound_thread;
        eligible(bound.is_none_or(|bound| bound == thread))?;
        let NotificationState::Active(word) = self[cap.object].state else {
            eligible(call.number == WAIT)?;
            return self.wait_beside(thread, cap.object);
        };
        let reading = self.read_clock_if_needed()?;
        self.commit_reading(reading);
        self[cap.object].state = NotificationState::Idle;
        self[thread].context.set_result(CAP, word);
        Ok(thread)
    }

    /// Blocks the current thread on a notification, and switches to the highest-priority ready thread.
    #[inline(always)]
    fn wait_beside(
        &mut self,
        thread: Ptr<Thread<A>>,
        notification: Ptr<Notification<A>>,
    ) -> Eligible<Ptr<Thread<A>>> {
        let next = self.first_ready()?;
        let context = self.plain_context(next)?;
        let reading = self.read_clock_with_budget()?;
        // The slow path takes back a context that the notification has lent.
        eligible(self[notification].sched_context.is_none())?;
        let available = self.is_first(next, context, reading)?;

        self[thread].state = ThreadState::BlockedOnNotification { notification };
        let mut queue = self[notification].waiters();
        queue.insert(&mut self.objects, thread);
        self[notification].state = NotificationState::Waiting(queue);
        self.commit_reading(Some(reading));
        self.switch_to_ready(next, available);
        Ok(next)
    }
}
