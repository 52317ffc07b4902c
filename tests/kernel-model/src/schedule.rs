//! Scheduling, and charging of budget.

use std::cmp::Reverse;

use crate::refills::Refills;
use crate::state::{Choice, Id, MIN_BUDGET, Model, State, Time};

impl Model {
    fn refills(&self, thread: Id) -> Option<&Refills> {
        self.contexts[self.threads[thread].context?].refills.as_ref()
    }

    /// It is runnable, has a configured context, and does not wait for a replenishment.
    pub fn is_schedulable(&self, thread: Id) -> bool {
        self.is_runnable(thread)
            && self.refills(thread).is_some()
            && !self.starved.iter().any(|(_, other)| *other == thread)
    }

    pub fn has_budget(&self, thread: Id) -> bool {
        self.refills(thread).is_some_and(|refills| refills.is_available(self.now))
    }

    pub fn leave_queues(&mut self, thread: Id) {
        self.ready.retain(|(_, other)| *other != thread);
        self.starved.retain(|(_, other)| *other != thread);
        if self.choice == Choice::Candidate(thread) {
            self.choice = Choice::Anew;
        }
    }

    /// A thread has the criticality of its context.
    fn criticality(&self, thread: Id) -> u8 {
        self.threads[thread].context.map_or(0, |context| self.contexts[context].criticality)
    }

    /// Its preemption rank: the band, then the priority.
    pub fn rank(&self, thread: Id) -> (bool, u8) {
        let upper = self.level > 0 && self.criticality(thread) >= self.level;
        (upper, self.threads[thread].priority)
    }

    /// The ready queue to which it belongs.
    fn group(&self, thread: Id) -> (u8, u8) {
        (self.criticality(thread), self.threads[thread].priority)
    }

    /// Inserts it as the first of its queue.
    pub fn ready_first(&mut self, thread: Id) {
        self.leave_queues(thread);
        let group = self.group(thread);
        let place = self.ready.partition_point(|(_, other)| self.group(*other) > group);
        self.ready.insert(place, (0, thread));
    }

    /// Inserts it behind those of its queue that became ready before `since`.
    fn ready_behind(&mut self, thread: Id, since: Time, equals: bool) {
        self.leave_queues(thread);
        let group = self.group(thread);
        let before = |(other_since, other): &(Time, Id)| {
            let other = self.group(*other);
            let earlier = *other_since < since || equals && *other_since == since;
            other > group || other == group && earlier
        };
        let place = self.ready.partition_point(before);
        self.ready.insert(place, (since, thread));
    }

    /// Inserts it as the last of its queue.
    pub fn ready_last(&mut self, thread: Id) {
        self.ready_behind(thread, 2 * self.now + 1, true);
    }

    /// A thread is ready from its release time on, and so does not preempt one of the same priority.
    pub fn release(&mut self) {
        let due = self.starved.partition_point(|(time, _)| *time <= self.now);
        // In reverse order: then those of one release time precede threads that became ready at it,
        // and keep their order.
        for (time, thread) in self.starved.drain(..due).rev().collect::<Vec<_>>() {
            self.ready_behind(thread, 2 * time, false);
        }
    }

    /// It waits for its next replenishment.
    pub fn postpone(&mut self, thread: Id) {
        self.leave_queues(thread);
        let Some(refills) = self.refills(thread) else {
            return;
        };
        let time = refills.head().0;
        let place = self.starved.partition_point(|(other, _)| *other <= time);
        self.starved.insert(place, (time, thread));
    }

    pub fn choose_anew(&mut self) {
        if let Choice::Candidate(candidate) = self.choice
            && self.is_schedulable(candidate)
        {
            self.ready_first(candidate);
        }
        self.choice = Choice::Anew;
    }

    /// A possible switch to the thread. With a second one, the choice is among all ready threads.
    pub fn possible_switch_to(&mut self, thread: Id) {
        if !self.is_schedulable(thread) || self.current == Some(thread) {
            return;
        }
        if !self.has_budget(thread) {
            return self.postpone(thread);
        }
        match self.choice {
            Choice::Candidate(candidate) if candidate == thread => {}
            Choice::Same => {
                self.leave_queues(thread);
                self.choice = Choice::Candidate(thread);
            }
            _ => {
                self.choose_anew();
                self.ready_first(thread);
            }
        }
    }

    /// An event makes the thread runnable: a sporadic context can be used from now on.
    pub fn wake(&mut self, thread: Id) {
        let (now, current_context) = (self.now, self.current_context);
        if let Some(id) = self.threads[thread].context
            && self.contexts[id].sporadic
            && current_context != Some(id)
            && let Some(refills) = &mut self.contexts[id].refills
        {
            refills.unblock(now);
        }
    }

    fn charge(&mut self, time: Time, consumed: Time) {
        if let Some(id) = self.current_context
            && let Some(refills) = &mut self.contexts[id].refills
        {
            let time = refills.charge(time);
            self.contexts[id].consumed += consumed;
            self.charge_limits(id, time);
            if let Some(thread) = self.contexts[id].thread
                && let Some(used) = &mut self.threads[thread].deferred
            {
                *used += time;
            }
        }
    }

    /// Commits consumed time.
    pub fn commit(&mut self) {
        let used = std::mem::take(&mut self.used);
        if used > 0 {
            self.charge(used, used);
        }
    }

    /// The budget check: whether the current context can pay for a kernel entry. If not, its slice
    /// ends and the thread restarts its request later.
    pub fn check_budget(&mut self) -> bool {
        let (Some(current), Some(id)) = (self.current, self.current_context) else {
            return true;
        };
        let Some(refills) = &self.contexts[id].refills else {
            return true;
        };
        if refills.head().1 < self.used + MIN_BUDGET {
            self.end_slice(self.used, self.used, true);
        } else if self.limit_left(id) == Some(0) {
            self.end_limit(current, id);
        } else {
            return true;
        }
        if self.is_runnable(current) {
            self.threads[current].state = State::Restart;
        }
        false
    }

    fn end_slice(&mut self, time: Time, consumed: Time, may_time_out: bool) {
        self.charge(time, consumed);
        self.used = 0;
        let (Some(current), Some(id)) = (self.current, self.current_context) else {
            return;
        };
        let Some(refills) = &mut self.contexts[id].refills else {
            return;
        };
        refills.renew();
        let may_time_out = may_time_out && !refills.is_round_robin();
        if !self.is_schedulable(current) {
            return;
        }
        if !may_time_out || !self.raise_timeout(current) {
            self.wait_for_turn(current);
        }
        self.choose_anew();
    }

    /// The last of its queue, or it waits for its next replenishment.
    pub fn wait_for_turn(&mut self, thread: Id) {
        if self.has_budget(thread) {
            self.ready_last(thread);
        } else {
            self.postpone(thread);
        }
    }

    /// `Yield`: the remaining head replenishment is given up, or the remaining limit, if that is less.
    /// It does not count as consumed.
    pub fn give_up_slice(&mut self, thread: Id) {
        let Some(id) = self.current_context else {
            return;
        };
        let Some(refills) = &self.contexts[id].refills else {
            return;
        };
        let (rest, consumed) = (refills.head().1, self.contexts[id].consumed + self.used);
        // A timeslice of which too little would be left ends.
        let least = if refills.is_round_robin() { MIN_BUDGET } else { 0 };
        match self.limit_left(id) {
            Some(limit) if self.used + limit + least <= rest => {
                self.used += limit;
                // When it has budget again, it continues after this.
                self.threads[thread].called_last = false;
                self.end_limit(thread, id);
                // It may keep the context, which is not due yet.
                if self.threads[thread].context.is_some() && !self.has_budget(thread) {
                    self.postpone(thread);
                }
            }
            _ => self.end_slice(rest, self.used, false),
        }
        self.contexts[id].consumed = consumed;
    }

    /// The end of a kernel entry: chooses the thread to run.
    pub fn leave(&mut self, charge: bool) {
        self.release();
        if let Some(current) = self.current
            && self.threads[current].context != self.current_context
            && self.is_schedulable(current)
            && !self.has_budget(current)
        {
            self.postpone(current);
            self.choose_anew();
        }
        let stays = self.current.filter(|current| self.is_schedulable(*current));
        let preempts = self.highest_rank() > stays.map(|thread| self.rank(thread));
        match std::mem::take(&mut self.choice) {
            Choice::Same if stays.is_some() && !preempts => {}
            Choice::Candidate(candidate) => self.compare(stays, candidate),
            _ => self.run_first(stays),
        }
        let next = self.current.and_then(|current| self.threads[current].context);
        if charge || next != self.current_context {
            self.commit();
        }
        if next != self.current_context {
            self.current_context = next;
            // A constant-bandwidth context can be used from the time of the switch to its thread.
            if let Some(id) = next
                && !self.contexts[id].sporadic
                && let Some(refills) = &mut self.contexts[id].refills
            {
                refills.unblock(self.now);
            }
        }
        if let Some(current) = self.current {
            self.finish_yield(current);
            let thread = &mut self.threads[current];
            if thread.state == State::Restart {
                thread.state = State::Running;
                thread.calls_next = thread.called_last;
            }
        }
    }

    pub fn is_ready(&self, thread: Id) -> bool {
        self.ready.iter().any(|(_, other)| *other == thread)
    }

    fn highest_rank(&self) -> Option<(bool, u8)> {
        self.ready.iter().map(|(_, thread)| self.rank(*thread)).max()
    }

    /// The index of the highest-ranking ready thread; of equals, the one ready for the longest time;
    /// of these, the most critical.
    fn first_ready(&self) -> Option<usize> {
        let order = |index: &usize| {
            let (since, thread) = self.ready[*index];
            (Reverse(self.rank(thread)), since, Reverse(self.criticality(thread)))
        };
        (0..self.ready.len()).min_by_key(order)
    }

    fn compare(&mut self, stays: Option<Id>, candidate: Id) {
        let rank = |thread: Id| self.rank(thread);
        let first = self.highest_rank();
        match stays {
            Some(current) if rank(current) == rank(candidate) => self.ready_last(candidate),
            Some(current) if rank(current) > rank(candidate) => self.ready_first(candidate),
            _ if first > Some(rank(candidate)) => self.ready_first(candidate),
            _ => {
                if let Some(current) = stays {
                    self.ready_first(current);
                }
                self.current = Some(candidate);
                return;
            }
        }
        self.run_first(stays);
    }

    fn run_first(&mut self, stays: Option<Id>) {
        if let Some(current) = stays
            && !self.is_ready(current)
        {
            self.ready_first(current);
        }
        self.current = self.first_ready().map(|first| self.ready.remove(first).1);
    }

    /// When the kernel must be entered at the latest: at the end of the running thread's budget or limit, or
    /// at the release of a higher-ranking thread.
    pub fn latest_entry(&self) -> Time {
        let end = self.current_context.and_then(|id| self.contexts[id].refills.as_ref());
        let end = end.map_or(Time::MAX, |refills| self.now + refills.head().1 - self.used);
        let limit = self.current_context.and_then(|id| self.limit_left(id));
        let end = end.min(limit.map_or(Time::MAX, |limit| self.now + limit));
        let rank = self.current.map(|current| self.rank(current));
        let preempts = |(_, thread): &&(Time, Id)| Some(self.rank(*thread)) > rank;
        let release = self.starved.iter().find(preempts).map_or(Time::MAX, |(time, _)| *time);
        end.min(release)
    }
}
