//! Kernel entries.

use abi::{ErrorCode, Syscall};

use crate::caps::{Cap, Place};
use crate::faults::Fault;
use crate::state::{Id, Model, Time};

/// A system call, as given in the registers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Call {
    pub number: usize,
    pub cap: usize,
    pub reply: usize,
    pub destination: usize,
    pub label: usize,
    pub words: Vec<usize>,
    pub caps: Vec<usize>,
}

/// The cause of a kernel entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    Call(Call),
    /// The running thread causes a processor exception.
    Exception,
    Line(Id),
    Timer,
}

impl Event {
    const fn is_of_thread(&self) -> bool {
        matches!(self, Self::Call(_) | Self::Exception)
    }
}

impl Model {
    /// Enters the kernel at a time, with all effects of that entry.
    ///
    /// Consumed time is committed at the latest when another context becomes current. The kernel may
    /// commit it earlier, with a visible effect; so `charge` says whether it did.
    pub fn enter(&mut self, now: Time, event: Event, charge: bool) {
        if self.current_context.is_some() {
            self.used += now - self.now;
        }
        self.now = now;
        self.release();
        if let Some(current) = self.current {
            let thread = &mut self.threads[current];
            match &event {
                Event::Call(call) => {
                    if thread.calls_next {
                        assert_eq!(*call, thread.call, "a call is repeated as it was");
                    } else {
                        thread.call = call.clone();
                        thread.badge = call.cap;
                        thread.label = call.label;
                        thread.words = call.words.iter().copied().map(Some).collect();
                    }
                    (thread.calls_next, thread.called_last) = (false, true);
                    thread.obscure = false;
                }
                _ => thread.called_last = thread.calls_next,
            }
        }
        let performs = self.check_budget();
        if let Some(current) = self.current.filter(|_| performs && event.is_of_thread()) {
            self.retry = self.threads[current].deferred.take();
        }
        match (event, self.current) {
            (Event::Call(call), Some(current)) if performs => self.perform(current, &call),
            (Event::Exception, Some(current)) if performs => self.raise(current, Fault::Exception),
            (Event::Line(line), _) => self.interrupt(line),
            _ => {}
        }
        self.retry = None;
        self.leave(charge);
    }

    fn perform(&mut self, thread: Id, call: &Call) {
        let number = |syscall: Syscall| syscall.number() == call.number;
        let cap = self.cap(Place::Address(call.cap));
        if number(Syscall::Yield) {
            self.give_up_slice(thread);
        } else if number(Syscall::YieldUntilBudget) {
            self.yield_until(thread, call.words.first().map_or(0, |word| *word as Time));
        } else if number(Syscall::Call) {
            self.invoke_as_call(thread, cap, call);
        } else if number(Syscall::Send) {
            self.invoke_plainly(thread, cap, true, false);
        } else if number(Syscall::NBSend) {
            self.invoke_plainly(thread, cap, false, false);
        } else if number(Syscall::Recv) || number(Syscall::NBRecv) {
            self.receive_from(thread, cap, Some(call.reply), number(Syscall::Recv));
        } else if number(Syscall::Wait) || number(Syscall::NBWait) {
            self.receive_from(thread, cap, None, number(Syscall::Wait));
        } else {
            let (target, reply) = if number(Syscall::ReplyRecv) {
                (call.reply, Some(call.reply))
            } else if number(Syscall::NBSendRecv) {
                (call.destination, Some(call.reply))
            } else {
                (call.reply, None)
            };
            // A context with a limit is lent only with a limit; the message is dropped.
            match self.cap(Place::Address(target)) {
                Cap::Endpoint { id, .. } if self.would_lift_limit(thread, id) => {}
                target => self.invoke_plainly(thread, target, false, true),
            }
            self.receive_from(thread, cap, reply, true);
        }
    }

    /// An invocation without a result, by one of the sends or in a combined call. Only messages,
    /// signals and replies are modelled here, not methods of objects.
    fn invoke_plainly(&mut self, thread: Id, cap: Cap, blocking: bool, donate: bool) {
        match cap {
            Cap::Endpoint { id, badge, rights } if rights.write => {
                if blocking {
                    self.send(thread, id, badge, rights, false, false);
                } else {
                    self.send_if_waiting(thread, id, badge, donate);
                }
            }
            Cap::Notification { id, badge, rights } if rights.write => self.signal(id, badge),
            Cap::Reply { id } => self.reply(thread, id),
            _ => {}
        }
    }

    fn receive_from(&mut self, thread: Id, source: Cap, reply: Option<usize>, blocking: bool) {
        match source {
            Cap::Notification { id, rights, .. }
                if rights.read && self.notifications[id].thread.is_none_or(|one| one == thread) =>
            {
                self.wait(thread, id, blocking);
            }
            Cap::Endpoint { id, rights, .. } if rights.read => {
                let reply = reply.map(|address| self.cap(Place::Address(address)));
                match reply {
                    None => self.receive(thread, id, None, blocking),
                    Some(Cap::Reply { id: reply }) => {
                        self.receive(thread, id, Some(reply), blocking);
                    }
                    Some(_) => self.raise(thread, Fault::Cap),
                }
            }
            _ => self.raise(thread, Fault::Cap),
        }
    }

    /// A call: on an endpoint it waits for a reply, on any other object the kernel replies.
    fn invoke_as_call(&mut self, thread: Id, cap: Cap, call: &Call) {
        match cap {
            Cap::Endpoint { id, .. } if self.would_lift_limit(thread, id) => {
                self.set_result(thread, ErrorCode::IllegalOperation as usize, Vec::new());
            }
            Cap::Endpoint { id, badge, rights } if rights.write => {
                self.send(thread, id, badge, rights, true, true);
            }
            _ => {
                let answer = match cap {
                    Cap::Notification { id, badge, rights } if rights.write => {
                        self.signal(id, badge);
                        Ok(Vec::new())
                    }
                    Cap::Reply { id } => {
                        self.reply(thread, id);
                        Ok(Vec::new())
                    }
                    cap => self.invoke(thread, cap, call),
                };
                // A thread that yielded to a context gets the result later, and a thread that is not
                // runnable gets none.
                if self.is_runnable(thread) && self.threads[thread].yielded_to.is_none() {
                    let (label, words) = match answer {
                        Ok(words) => (0, words),
                        Err((error, words)) => (error as usize, words),
                    };
                    self.set_result(thread, label, words);
                }
            }
        }
    }
}
