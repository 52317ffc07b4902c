//! Faults: messages about a thread to its handler, as if it had called.

use crate::caps::{Cap, Place, Rights};
use crate::state::{Id, Model, State, Words};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A capability that does not fit.
    Cap,
    /// A processor exception.
    Exception,
    /// The budget of a context with this badge ran out.
    Timeout { badge: usize },
}

impl Model {
    /// Label and words of the message about a fault. That of a timeout tells the time
    /// that the thread's context has used, if it still has one.
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

    /// The thread faults: without handler it is given up.
    pub fn raise(&mut self, thread: Id, fault: Fault) {
        match self.handler(Place::FaultHandler(thread)) {
            Some((endpoint, badge, rights)) => {
                self.threads[thread].fault = Some(fault);
                let donates = self.threads[thread].context.is_some();
                self.send(thread, endpoint, badge, rights, true, donates);
            }
            None => self.threads[thread].state = State::Inactive,
        }
    }

    /// The budget is used up: whether there is a handler to tell. The context stays.
    pub fn raise_timeout(&mut self, thread: Id) -> bool {
        let handler = self.handler(Place::TimeoutHandler(thread));
        let (Some((endpoint, badge, rights)), Some(id)) = (handler, self.threads[thread].context)
        else {
            return false;
        };
        let timeout = Fault::Timeout { badge: self.contexts[id].badge };
        self.threads[thread].fault = Some(timeout);
        self.send(thread, endpoint, badge, rights, true, false);
        true
    }

    /// What a reply to a fault does.
    pub fn answer_fault(&mut self, thread: Id, fault: Fault, label: usize, words: &Words) {
        let thread = &mut self.threads[thread];
        thread.state = State::Restart;
        if fault != Fault::Cap {
            if !words.is_empty() {
                // Registers, and among them the program counter: it does not point to a call.
                (thread.calls_next, thread.called_last) = (false, false);
                thread.obscure = true;
            }
            if label != 0 {
                thread.state = State::Inactive;
            }
        }
    }
}
