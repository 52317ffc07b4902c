//! Faults: messages about a thread to its handler, as if the thread had called it.

use crate::caps::{Cap, Place, Rights};
use crate::state::{Id, Model, State, Words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// An invalid capability.
    Cap,
    /// A processor exception.
    Exception,
    /// The budget of a context with this badge is used up.
    Timeout { badge: usize },
}

impl Model {
    /// Label and words of a fault message. A timeout message has the consumed time of the thread's
    /// context, if it still has one.
    pub fn fault_message(&mut self, thread: Id, fault: Fault) -> (usize, Words) {
        match (fault, self.threads[thread].context) {
            (Fault::Cap, _) => (1, vec![None; 5]),
            (Fault::Exception, _) => (3, vec![None; 5]),
            (Fault::Timeout { badge }, None) => (5, vec![Some(badge)]),
            (Fault::Timeout { badge }, Some(id)) => {
                let consumed = std::mem::take(&mut self.contexts[id].consumed);
                (5, vec![Some(badge), Some(consumed as usize)])
            }
        }
    }

    fn handler(&self, place: Place) -> Option<(Id, usize, Rights)> {
        match self.cap(place) {
            Cap::Endpoint { id, badge, rights } => Some((id, badge, rights)),
            _ => None,
        }
    }

    /// The thread faults; without a handler it becomes inactive.
    pub fn raise(&mut self, thread: Id, fault: Fault) {
        match self.handler(Place::FaultHandler(thread)) {
            Some((endpoint, badge, rights)) => {
                self.threads[thread].fault = Some(fault);
                let donates = self.threads[thread].context.is_some()
                    && !self.would_lift_limit(thread, endpoint);
                self.send(thread, endpoint, badge, rights, true, donates);
            }
            None => self.threads[thread].state = State::Inactive,
        }
    }

    /// The budget is used up: returns whether there is a handler to report to. The context stays with
    /// the thread.
    pub fn raise_timeout(&mut self, thread: Id) -> bool {
        let context = self.threads[thread].context;
        context.is_some_and(|id| self.report_timeout(thread, self.contexts[id].badge))
    }

    /// Reports a timeout on the context with this badge, to a handler that needs no budget for it.
    pub fn report_timeout(&mut self, thread: Id, of: usize) -> bool {
        let Some((endpoint, badge, rights)) = self.handler(Place::TimeoutHandler(thread)) else {
            return false;
        };
        if self.endpoints[endpoint].threshold.is_some() {
            return false;
        }
        self.threads[thread].fault = Some(Fault::Timeout { badge: of });
        self.send(thread, endpoint, badge, rights, true, false);
        true
    }

    /// Applies a fault reply.
    pub fn answer_fault(&mut self, thread: Id, fault: Fault, label: usize, words: &Words) {
        let thread = &mut self.threads[thread];
        thread.state = State::Restart;
        if fault != Fault::Cap {
            if !words.is_empty() {
                // The words are registers, including the program counter, which does not point to a
                // system call.
                (thread.calls_next, thread.called_last) = (false, false);
                thread.obscure = true;
            }
            if label != 0 {
                thread.state = State::Inactive;
            }
        }
    }
}
