//! The supervisor of a simulated system: it does with components that have failed or used up their time what the
//! description says, as the generic initialiser does on a target.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use system_description::system::{Component, FaultAction, System, TimeoutAction};
use userlib::cap::{Endpoint, Registers, Reply, Slot};
use userlib::server::{ABORTED, STOPPED};
use userlib::{Fault, Message, Outcome, Thread};

use crate::program::START;
use crate::stage::now;

/// How often a component is restarted if its description does not say it: so often within so many microseconds.
const RESTARTS: (u32, u64) = (5, 10_000_000);

/// What the supervisor has reported.
pub(super) type Reports = Rc<RefCell<Vec<Report>>>;

/// A report.
#[derive(Clone, Debug)]
pub(super) struct Report {
    /// When, in microseconds.
    pub(super) time: u64,
    /// The component whose time was used up, if that is the reason.
    pub(super) spent: Option<usize>,
    /// What it would print.
    pub(super) text: String,
}

/// A component that runs.
pub(super) struct Member {
    pub(super) thread: Thread,
    /// Its endpoints, each with the reply object for its callers.
    pub(super) served: Vec<(Slot, Reply)>,
}

/// The supervisor.
pub(super) struct Supervisor {
    system: System,
    members: Vec<Option<Member>>,
    /// For each component, when its restarts began to count, and their number.
    restarts: Vec<Cell<(u64, u32)>>,
    reports: Reports,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Action {
    Report,
    Restart,
    Stop,
}

impl Supervisor {
    pub(super) fn new(system: System, members: Vec<Option<Member>>, reports: Reports) -> Self {
        Self {
            restarts: vec![Cell::default(); members.len()],
            system,
            members,
            reports,
        }
    }

    /// Handles faults for ever.
    pub(super) fn run(&self, faults: Endpoint, reply: Reply) {
        loop {
            let received = faults.recv(reply);
            let (Some(message), Some(index)) = (received.message, received.badge.checked_sub(1))
            else {
                continue;
            };
            let one = &self.system.components[index];
            let fault = Fault::from_message(&message);
            if let Fault::Timeout { badge, .. } = fault {
                self.timeout(index, one, badge.saturating_sub(1), reply);
            } else if let Outcome::Exited(_) = Outcome::from(fault) {
                self.stop(index);
            } else {
                let action = match one.on_fault {
                    FaultAction::Restart => Action::Restart,
                    _ => Action::Stop,
                };
                self.act(index, action, "has failed", None, reply);
            }
        }
    }

    fn timeout(&self, index: usize, one: &Component, spent: usize, reply: Reply) {
        let action = match one.on_timeout {
            TimeoutAction::Restart => Action::Restart,
            TimeoutAction::Stop => Action::Stop,
            _ => Action::Report,
        };
        if spent == index && one.time.is_passive() {
            // That which is lent to it until it first waits: it continues with the next replenishment.
            return reply.send(Message::empty(0));
        }
        let why = match self.system.components.get(spent) {
            Some(other) if spent != index => format!("has used up the time of `{}`", other.name),
            _ => "has used up its time".to_string(),
        };
        self.act(index, action, &why, Some(spent), reply);
    }

    /// Does with a component what the description says, and reports it.
    fn act(&self, index: usize, action: Action, why: &str, spent: Option<usize>, reply: Reply) {
        let name = &self.system.components[index].name;
        let end = match action {
            Action::Report => {
                reply.send(Message::empty(0));
                ""
            }
            Action::Restart if self.may_restart(index) => {
                self.restart(index, reply, spent.is_some());
                "; it starts again"
            }
            _ => {
                self.stop(index);
                "; it stops"
            }
        };
        self.reports.borrow_mut().push(Report {
            time: now().0,
            spent,
            text: format!("`{name}` {why}{end}"),
        });
    }

    /// Whether a component may start once more, and counts it.
    fn may_restart(&self, index: usize) -> bool {
        let own = self.system.components[index].restarts;
        let (most, within) = own.map_or(RESTARTS, |(most, within)| (most, within.as_micros()));
        let (since, count) = self.restarts[index].get();
        let (since, count) = match count == 0 || now().0 - since > within {
            true => (now().0, 1),
            false => (since, count + 1),
        };
        self.restarts[index].set((since, count));
        count <= most
    }

    /// Starts a component again, after an error for its caller.
    fn restart(&self, index: usize, reply: Reply, is_timeout: bool) {
        let Some(member) = &self.members[index] else {
            return;
        };
        self.answer_caller(member);
        if self.system.components[index].time.is_passive() {
            // It may still have the context, if it failed before it first waited.
            let Thread { tcb, sched_context } = member.thread;
            let _ = sched_context.unbind_object(tcb);
            let lent = sched_context.bind(tcb);
            lent.expect("no thread has it");
        }
        let mut registers = Registers::default();
        *registers.pc() = START;
        match is_timeout {
            true => reply.send(registers.timeout_reply()),
            false => {
                let written = member.thread.tcb.write_registers(true, &registers);
                written.expect("the thread is there");
            }
        }
    }

    /// Stops a component for good: its callers get an error, now and later.
    fn stop(&self, index: usize) {
        let Some(member) = &self.members[index] else {
            return;
        };
        let stopped = member.thread.tcb.suspend();
        stopped.expect("the thread is there");
        self.answer_caller(member);
        for (slot, _) in &member.served {
            let refused = slot.set_endpoint_threshold(STOPPED, 0);
            refused.expect("the endpoint is there");
        }
    }

    fn answer_caller(&self, member: &Member) {
        for (_, reply) in &member.served {
            reply.send(Message::empty(ABORTED));
        }
    }
}
