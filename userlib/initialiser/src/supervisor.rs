//! The supervisor: reports the faults of components, and stops them or starts them again.

mod requests;
mod servers;

use crate::emergency;
use crate::member::Member;
use crate::objects::{Objects, Role, bearer};
use core::fmt::Display;
use core::sync::atomic::Ordering::Relaxed;
use system_table::{Action, Component, MOST_COMPONENTS, OnFault, OnTimeout, Table, TimeSource};
use userlib::supervision::End;
use userlib::time::Clock;
use userlib::{Environment, Fault, Message, Microseconds, Outcome, PostMortem, println};

/// The most requests of a component in a second, for each component of the system: it can ask eight times for all. One that
/// asks more often has failed, since it uses up the time of the supervisor.
const MOST_REQUESTS: u32 = 8;
const SECOND: u64 = 1_000_000;

/// The supervisor.
pub struct Supervisor {
    table: Table<'static>,
    objects: Objects,
    members: [Option<Member>; MOST_COMPONENTS],
    restarts: [Rate; MOST_COMPONENTS],
    /// The requests of each component.
    requests: [Rate; MOST_COMPONENTS],
    /// The components that do not start again.
    stopped: [bool; MOST_COMPONENTS],
    /// The components that have no emergency time any more, and their own not yet.
    returning: [bool; MOST_COMPONENTS],
    clock: Clock,
    /// What each component has used, as far as it is known.
    used: [Microseconds; MOST_COMPONENTS],
    /// The ends of each component so far.
    ends: [Ends; MOST_COMPONENTS],
}

/// How often a component has failed, and how it did the last time.
#[derive(Clone, Copy)]
struct Ends {
    count: u32,
    last: End,
}

/// The restarts or requests of a component since one of them.
#[derive(Clone, Copy, Default)]
struct Rate {
    since: Microseconds,
    count: u32,
}

impl Rate {
    /// Whether one more is within the limit, `most` within this time in microseconds, and counts it.
    fn count(&mut self, now: Microseconds, most: u32, within: u64) -> bool {
        if self.count == 0 || now.0.saturating_sub(self.since.0) > within {
            *self = Self {
                since: now,
                count: 0,
            };
        }
        self.count += 1;
        self.count <= most
    }
}

impl Supervisor {
    /// A supervisor of components that run.
    pub fn new(
        table: Table<'static>,
        objects: Objects,
        members: [Option<Member>; MOST_COMPONENTS],
        clock: Clock,
    ) -> Self {
        Self {
            table,
            objects,
            members,
            restarts: [Rate::default(); MOST_COMPONENTS],
            requests: [Rate::default(); MOST_COMPONENTS],
            stopped: [false; MOST_COMPONENTS],
            returning: [false; MOST_COMPONENTS],
            clock,
            used: [Microseconds(0); MOST_COMPONENTS],
            ends: [const {
                Ends {
                    count: 0,
                    last: End::None,
                }
            }; MOST_COMPONENTS],
        }
    }

    /// Handles faults until a component ends the run; returns its result.
    pub fn run(mut self, environment: &mut Environment) -> usize {
        loop {
            let received = self.objects.faults.recv(self.objects.fault_reply);
            let Some((role, index)) = bearer(received.badge) else {
                continue;
            };
            let Some((message, component)) = received.message.zip(self.component(index)) else {
                continue;
            };
            if role == Role::Request && self.may_ask(index) {
                self.answer(environment, &message);
                continue;
            }
            if role == Role::Notifier {
                // It fails only if the component has been stopped.
                let _ = self.end_emergency(index);
                continue;
            }
            if role == Role::Request {
                self.count_end(index, End::Fault);
                let why = "asks the supervisor too often";
                self.act(environment, index, &component, on_fault(&component), &why);
            } else if let Fault::Timeout {
                badge, consumed, ..
            } = Fault::from_message(&message)
            {
                self.account(badge, consumed);
                self.count_end(index, End::Timeout);
                self.timeout(environment, index, &component, badge);
            } else {
                let outcome = Outcome::from(Fault::from_message(&message));
                if let Outcome::Exited(code) = outcome
                    && component.ends_run
                {
                    return code;
                }
                self.end(environment, index, &component, outcome);
            }
            if component.ends_run && self.stopped[index] {
                return 1;
            }
        }
    }

    /// Whether a component may ask now, and counts it.
    fn may_ask(&mut self, index: usize) -> bool {
        let most = MOST_REQUESTS * self.table.components().count() as u32;
        self.requests[index].count(self.clock.now(), most, SECOND)
    }

    /// Handles the end of a component, in whatever way it came.
    fn end(
        &mut self,
        environment: &mut Environment,
        index: usize,
        component: &Component,
        outcome: Outcome,
    ) {
        if let Outcome::Exited(code) = outcome {
            println!("supervisor: `{}` has ended with {code}", component.name);
            self.ends[index].last = End::Done;
            return self.stop(environment, index);
        }
        self.count_end(
            index,
            match outcome {
                Outcome::Faulted(_) => End::Fault,
                _ => End::Panic,
            },
        );
        let action = on_fault(component);
        // Before a restart gives it a new thread and fresh memory.
        let member = self.members[index].as_ref();
        let inspection = member.and_then(|one| one.inspect(environment, component).ok());
        match outcome {
            Outcome::Faulted(fault) => {
                self.act(environment, index, component, action, &"has failed");
                self.post_mortem(index, component, fault);
            }
            _ => self.act(environment, index, component, action, &"has panicked"),
        }
        if let Some(inspection) = inspection {
            println!("{inspection}");
        }
    }

    fn timeout(
        &mut self,
        environment: &mut Environment,
        index: usize,
        component: &Component,
        context: usize,
    ) {
        let is_passive = component.time_source == TimeSource::Callers;
        let spent = bearer(context);
        if spent == Some((Role::Own, index)) && is_passive {
            // Not a caller's time, but that which is lent to it until it first waits: it continues with the next
            // replenishment.
            return self.go_on();
        }
        let owner = spent.filter(|(_, owner)| *owner != index);
        let owner = owner.and_then(|(_, owner)| self.table.component(owner));
        let why = match owner {
            Some((caller, _)) => Spent::Of(caller.name),
            None if spent == Some((Role::Emergency, index)) => Spent::Emergency,
            None => Spent::Own,
        };
        match component.on_timeout {
            OnTimeout::Supervisor { action } => {
                self.act(environment, index, component, action, &why);
            }
            OnTimeout::Emergency { time } => {
                let name = component.name;
                let continues = match spent {
                    Some((Role::Emergency, owner)) if owner == index => {
                        println!("supervisor: `{name}` {why}");
                        if is_passive {
                            self.go_on();
                            return;
                        }
                        self.end_emergency(index)
                    }
                    _ => {
                        let more = Microseconds(time.budget);
                        println!("supervisor: `{name}` {why}; it gets {more} more");
                        self.begin_emergency(index, component, spent)
                    }
                };
                if continues.is_err() {
                    self.act(environment, index, component, Action::Stop, &why);
                }
            }
            OnTimeout::Wait | OnTimeout::Handler { .. } => {}
        }
    }

    /// Lets a component continue in emergency time that has used up other time.
    fn begin_emergency(
        &mut self,
        index: usize,
        component: &Component,
        spent: Option<(Role, usize)>,
    ) -> userlib::Result {
        self.returning[index] = false;
        let missing = Err(userlib::Error::IllegalOperation);
        let own = &self.objects.own[index];
        let (Some(member), Some(emergency)) = (&self.members[index], own.emergency) else {
            return missing;
        };
        let spent = match spent {
            Some((Role::Own, owner)) => self.objects.own[owner].context,
            Some((Role::Emergency, owner)) => match self.objects.own[owner].emergency {
                Some(other) => other.context,
                None => return missing,
            },
            _ => return missing,
        };
        let thread = (member.thread(), self.objects.fault_reply);
        emergency.begin(own, component.time_source, thread, spent)
    }

    /// Lets a component continue on its own time again.
    fn end_emergency(&mut self, index: usize) -> userlib::Result {
        let own = &self.objects.own[index];
        let (Some(member), Some(emergency)) = (&self.members[index], own.emergency) else {
            return Err(userlib::Error::IllegalOperation);
        };
        let thread = (member.thread(), self.objects.fault_reply);
        let end = emergency.end(own, thread, self.returning[index])?;
        self.returning[index] = end == emergency::End::Later;
        Ok(())
    }

    /// Adds time that the kernel has reported, and does not report again, for each watcher.
    fn account(&mut self, context: usize, consumed: Microseconds) {
        let Some((_, index)) = bearer(context) else {
            return;
        };
        self.used[index] = self.used[index] + consumed;
        for times in self.objects.own.iter().filter_map(|own| own.times) {
            if let Some(word) = times.words.get(index) {
                word.fetch_add(consumed.0 as usize, Relaxed);
            }
        }
    }

    fn count_end(&mut self, index: usize, last: End) {
        let count = self.ends[index].count.saturating_add(1);
        self.ends[index] = Ends { count, last };
    }

    /// Lets a component continue after a timeout.
    fn go_on(&self) {
        self.objects.fault_reply.send(Message::empty(0));
    }

    /// Does with a component what the description says, and reports it.
    fn act(
        &mut self,
        environment: &mut Environment,
        index: usize,
        component: &Component,
        action: Action,
        why: &dyn Display,
    ) {
        let name = component.name;
        let (most, within) = (component.most_restarts, component.restarts_within);
        let again =
            action == Action::Restart && self.restarts[index].count(self.clock.now(), most, within);
        match action {
            Action::Report => {
                self.go_on();
                return println!("supervisor: `{name}` {why}");
            }
            Action::Restart if again => {
                self.answer_callers(index);
                if self.restart(environment, index, component) {
                    return println!("supervisor: `{name}` {why}; it starts again");
                }
            }
            Action::Restart => println!("supervisor: `{name}` fails too often"),
            Action::Stop => {}
        }
        self.stop(environment, index);
        println!("supervisor: `{name}` {why}; it stops");
    }

    /// Starts a component again; returns whether this was possible.
    fn restart(&self, environment: &mut Environment, index: usize, component: &Component) -> bool {
        let Some((member, (_, gifts))) = self.members[index]
            .as_ref()
            .zip(self.table.component(index))
        else {
            return false;
        };
        let restarted = member.restart(environment, &self.objects, index, component, gifts);
        restarted.is_ok()
    }

    /// Stops a component for good. Its callers get an error, now and later. If it handles faults, the supervisor takes
    /// its place.
    fn stop(&mut self, environment: &mut Environment, index: usize) {
        self.stopped[index] = true;
        if let Some(member) = &self.members[index] {
            // A thread can always be suspended.
            let _ = member.stop();
        }
        for endpoint in self.endpoints(index) {
            self.take_over(environment, endpoint);
        }
        self.answer_callers(index);
        for endpoint in self.endpoints(index) {
            // This cannot fail: the endpoint stays, and a slot is free, as for restarts.
            let _ = self.objects.refuse(environment, &self.table, endpoint);
        }
    }

    fn post_mortem(&self, index: usize, component: &Component, fault: Fault) {
        let stack = match &self.members[index] {
            Some(member) => member.size.stack(),
            None => 0..0,
        };
        let post_mortem = PostMortem {
            program: component.program,
            fault,
            stack,
        };
        println!("{post_mortem}");
    }
}

/// What the supervisor does with a component that has failed.
fn on_fault(component: &Component) -> Action {
    match component.on_fault {
        OnFault::Supervisor { action } => action,
        OnFault::Handler { .. } => Action::Stop,
    }
}

/// The time that a component has used up.
enum Spent<'a> {
    /// Its own.
    Own,
    /// That of a caller.
    Of(&'a str),
    /// That which was set aside for it.
    Emergency,
}

impl Display for Spent<'_> {
    fn fmt(&self, out: &mut core::fmt::Formatter) -> core::fmt::Result {
        match self {
            Self::Own => out.write_str("has used up its time"),
            Self::Of(caller) => write!(out, "has used up the time of `{caller}`"),
            Self::Emergency => out.write_str("has used up the time set aside for it"),
        }
    }
}
