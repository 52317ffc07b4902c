//! From the description to the models of the analyses.

use schedulability::Time;
use schedulability::fixed::{deadline_monotonic, is_covered, priorities};
use schedulability::model::{
    Call, Context, Core, Parameters, Priority, Replenishment, Server, ServerId, Task, Thread, Waits,
};
use schedulability::supply::{Processor, Supply, Table};
use system_description::System;
use system_description::file;
use system_description::system::{self, ComponentId, DomainId, TimeoutAction};

use crate::analyse::turns;
use crate::waits::waiting;
use crate::{Figures, time};

/// The costs that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    /// At a criticality level: threads below it do not count.
    At(u8),
    /// Both of two, for the change between them.
    Both,
}

/// What a thread of the model stands for.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The component; none for the kernel's own work.
    pub(crate) component: Option<ComponentId>,
    pub(crate) name: String,
    /// Whether it has jobs, so that they count instead of its budget.
    pub(crate) has_job: bool,
    /// Whether nothing bounds what it takes.
    pub(crate) is_unbounded: bool,
    /// The kernel's part of the cost.
    pub(crate) kernel: Time,
    /// What it waits for, each with the longest time of a job.
    pub(crate) waiting: Vec<(String, Time)>,
}

/// The threads of one core in one domain.
pub(crate) struct Partition {
    pub(crate) number: u32,
    pub(crate) core: Core,
    /// In the order of the threads.
    pub(crate) members: Vec<Member>,
    pub(crate) supply: Box<dyn Supply>,
    /// The endpoints of the servers, in their order.
    pub(crate) servers: Vec<String>,
}

/// A partition in the making.
struct Draft<'a> {
    system: &'a System,
    figures: &'a Figures,
    /// How many cores run threads.
    cores: usize,
    level: Level,
    threads: Vec<Thread>,
    members: Vec<Member>,
    problems: Vec<String>,
}

/// The priority of each component: what the description says, or in a task set the deadline-monotonic one.
pub(crate) fn prioritised(system: &System) -> Result<System, String> {
    let mut system = system.clone();
    let without: Vec<_> = system
        .ids()
        .filter(|id| system[*id].priority.is_none())
        .collect();
    if without.is_empty() {
        return Ok(system);
    }
    if without.len() < system.components.len() {
        let name = &system[without[0]].name;
        return Err(format!(
            "`{name}` has no priority, and other components have; add `priority = N`, or remove all for \
             deadline-monotonic ones"
        ));
    }
    let task = |one: &system::Component| {
        let job = one.job.as_ref().and_then(|job| job.deadline);
        let context = match one.time {
            system::Time::Context(context) => Some(context.period),
            _ => None,
        };
        let deadline = job.or(context).map_or(Time::LONGEST, time);
        // The order is by deadlines only.
        Task::periodic(
            &*one.name,
            Time::from_nanos(1),
            deadline.max(Time::from_nanos(1)),
        )
    };
    let tasks: Result<Vec<_>, _> = system.components.iter().map(task).collect();
    let tasks = tasks.map_err(|error| error.to_string())?;
    let order = deadline_monotonic(&tasks).value;
    let found = priorities(&order, Priority(254)).map_err(|error| error.to_string())?;
    for (one, priority) in system.components.iter_mut().zip(found) {
        // A server's priority is that of its highest caller or above.
        one.priority = Some(if one.time.is_passive() {
            254
        } else {
            priority.0
        });
    }
    Ok(system)
}

impl Partition {
    /// The partition of a core and domain.
    ///
    /// # Errors
    /// What is not known or impossible.
    pub(crate) fn new(
        system: &System,
        figures: &Figures,
        number: u32,
        domain: DomainId,
        level: Level,
    ) -> Result<Self, Vec<String>> {
        let mut draft = Draft {
            system,
            figures,
            cores: system.cores().len(),
            level,
            threads: Vec::new(),
            members: Vec::new(),
            problems: Vec::new(),
        };
        for id in system.ids() {
            let one = &system[id];
            let is_here = one.core == number && one.domain == domain;
            let counts = match level {
                Level::At(level) => one.criticality >= level,
                Level::Both => true,
            };
            if is_here && counts && !is_scheduler(system, id) {
                draft.component(id);
            }
        }
        draft.others(number, domain);
        let (servers, names) = draft.servers();
        let supply = draft.supply(domain);
        let core = draft.core(servers);
        match (core, supply) {
            (Some(core), Some(supply)) if draft.problems.is_empty() => Ok(Self {
                number,
                core,
                members: draft.members,
                supply,
                servers: names,
            }),
            _ => {
                draft.problems.dedup();
                Err(draft.problems)
            }
        }
    }
}

/// Whether a component is the program of a user-level scheduler, whose time counts as its decisions.
pub(crate) fn is_scheduler(system: &System, id: ComponentId) -> bool {
    let mut scheduled = system
        .components
        .iter()
        .filter(|one| one.scheduler.is_some());
    scheduled.any(|one| match one.on_timeout {
        TimeoutAction::Handler(handler) => system[handler.endpoint].server == id,
        _ => false,
    })
}

/// A context of the description, for the analyses.
pub(crate) fn context(context: &system::Context) -> Result<Context, String> {
    let replenishment = match context.replenishment {
        file::Replenishment::Sporadic => Replenishment::Sporadic,
        file::Replenishment::ConstantBandwidth => Replenishment::OnDispatch,
    };
    let (budget, period) = (time(context.budget), time(context.period));
    Context::new(budget, period, context.extra_refills, replenishment)
        .map_err(|error| error.to_string())
}

impl Draft<'_> {
    fn keep<T>(&mut self, result: Result<T, impl ToString>) -> Option<T> {
        result
            .map_err(|error| self.problems.push(error.to_string()))
            .ok()
    }

    fn component(&mut self, id: ComponentId) {
        let (system, figures) = (self.system, self.figures);
        let one = &system[id];
        let mut own = match &one.time {
            system::Time::Context(written) => self.keep(context(written)),
            system::Time::Slice(_) => None,
            system::Time::Passive(_) => return self.emergency(id),
        };
        if let (Some(given), TimeoutAction::Extend(more)) = (own, one.on_timeout) {
            let (budget, period) = (given.budget() + time(more), given.period());
            let refills = given.refills() - 2;
            own = self.keep(Context::new(
                budget.min(period),
                period,
                refills,
                given.replenishment(),
            ));
        }
        let (mut calls, mut waiting_for, mut count) = (Vec::new(), Vec::new(), 0);
        let job = one
            .job
            .as_ref()
            .filter(|job| !job.costs.is_empty() && job.period.is_some());
        for call in &one.calls {
            if system[system[call.to].server].time.is_passive() {
                calls.extend(self.call(&one.name, call));
            } else if job.is_some()
                && call.times > 0
                && one.scheduler.is_none()
                && let Some(longest) = self.keep(waiting(system, id, call))
            {
                count += call.times;
                let name = system.endpoint_name(call.to);
                waiting_for.push((name, longest * i128::from(call.times)));
            }
        }
        let kernel = figures.job(!one.interrupts.is_empty(), self.cores);
        let kernel = kernel + figures.wait(self.cores) * i128::from(count);
        let parameters = match (job, own) {
            (Some(job), _) => {
                let period = time(job.period.unwrap_or_default());
                let mut parameters = Parameters::new(&*one.name, Time::ZERO, period);
                parameters.bursts = job.bursts.iter().copied().map(time).collect();
                let levels = job.costs.len().min(usize::from(one.criticality) + 1);
                let known = job.costs[..levels].iter().map(|cost| time(*cost) + kernel);
                let known: Vec<_> = known.collect();
                parameters.costs = match self.level {
                    Level::At(level) => vec![known[usize::from(level).min(levels - 1)]],
                    Level::Both => known,
                };
                parameters.deadline = job.deadline.map_or(period, time);
                parameters.jitter = time(job.jitter);
                parameters.offset = time(job.offset);
                parameters
            }
            (None, Some(own)) => Parameters::new(&*one.name, own.budget(), own.period()),
            (None, None) => Parameters::new(&*one.name, Time::from_nanos(1), Time::LONGEST),
        };
        let parameters = Parameters {
            criticality: one.criticality,
            ..parameters
        };
        let waits = Waits {
            count,
            time: waiting_for.iter().map(|(_, time)| *time).sum(),
            is_charged: matches!(one.time, system::Time::Context(context) if context.idling),
        };
        let Some(task) = self.keep(Task::new(parameters)) else {
            return;
        };
        self.threads.push(Thread {
            task,
            priority: Priority(one.priority.unwrap_or_default()),
            context: own,
            calls,
            waits,
        });
        self.members.push(Member {
            component: Some(id),
            name: one.name.clone(),
            has_job: job.is_some(),
            is_unbounded: job.is_none() && own.is_none(),
            kernel: if job.is_some() { kernel } else { Time::ZERO },
            waiting: waiting_for,
        });
        self.emergency(id);
    }

    /// Emergency time can be used whenever a budget ends.
    fn emergency(&mut self, id: ComponentId) {
        let one = &self.system[id];
        if let TimeoutAction::Emergency(written) = &one.on_timeout {
            let name = format!("{} (emergency)", one.name);
            let priority = one.priority.unwrap_or_default();
            let given = context(written);
            if let Some(given) = self.keep(given) {
                self.add(name, given.budget(), given.period(), priority, Some(given));
            }
        }
    }

    /// A thread that is not a component's own.
    fn add(
        &mut self,
        name: String,
        cost: Time,
        period: Time,
        priority: u8,
        context: Option<Context>,
    ) {
        // A kernel that costs nothing needs no threads of its own.
        if cost == Time::ZERO {
            return;
        }
        let Some(task) = self.keep(Task::periodic(&*name, cost, period)) else {
            return;
        };
        self.threads.push(Thread {
            context,
            ..Thread::new(task, Priority(priority))
        });
        self.members.push(Member {
            component: None,
            name,
            has_job: context.is_none(),
            is_unbounded: false,
            kernel: Time::ZERO,
            waiting: Vec::new(),
        });
    }

    /// The supervisor, and the interrupts of the core.
    fn others(&mut self, number: u32, domain: DomainId) {
        let system = self.system;
        if let Some(one) = system
            .supervisor
            .filter(|one| one.core == number && one.domain == domain)
            && let Some(given) = self.keep(context(&one.time))
        {
            let name = "supervisor".to_string();
            self.add(
                name,
                given.budget(),
                given.period(),
                one.priority,
                Some(given),
            );
        }
        for rate in system.interrupts.iter().filter(|rate| rate.core == number) {
            let cost = self.figures.interrupt(self.cores);
            if cost >= time(rate.gap) {
                self.problems.push(format!(
                    "an interrupt of `{}` takes {cost} in the kernel, and the next one comes after {}; \
                     lengthen the gap",
                    rate.name, rate.gap
                ));
                continue;
            }
            self.add(
                format!("interrupts of {}", rate.name),
                cost,
                time(rate.gap),
                255,
                None,
            );
        }
    }

    /// A call of a passive server. Only the server's own work is known here; what it calls is added by the model.
    fn call(&mut self, caller: &str, call: &system::Call) -> Option<Call> {
        let endpoint = self.system.endpoint_name(call.to);
        let Some(cost) = call.cost else {
            self.problems.push(format!(
                "`{caller}` calls `{endpoint}` for an unknown time; add `cost = \"...\"` to the endpoint or to the call"
            ));
            return None;
        };
        let place = passive_endpoints(self.system).position(|id| id == call.to)?;
        Some(Call {
            server: ServerId(place),
            count: call.times,
            length: time(cost) + self.figures.call(self.cores),
        })
    }

    /// The endpoints of all passive servers.
    fn servers(&mut self) -> (Vec<Server>, Vec<String>) {
        let system = self.system;
        let (mut servers, mut names) = (Vec::new(), Vec::new());
        for id in passive_endpoints(system) {
            let server = &system[system[id].server];
            let name = system.endpoint_name(id);
            let mut calls = Vec::new();
            for call in &server.calls {
                if system[system[call.to].server].time.is_passive() {
                    calls.extend(self.call(&server.name, call));
                } else if call.times > 0 && self.is_called(id) {
                    self.problems.push(format!(
                        "`{name}` calls `{}`, which has time of its own, on the time of its callers; make that \
                         server passive, too",
                        system.endpoint_name(call.to)
                    ));
                }
            }
            servers.push(Server {
                name: name.clone(),
                ceiling: Priority(server.priority.unwrap_or_default()),
                threshold: system[id].threshold.map(time),
                calls,
                aborts: !matches!(
                    server.on_timeout,
                    TimeoutAction::Wait | TimeoutAction::Report | TimeoutAction::Extend(_)
                ),
            });
            names.push(name);
        }
        (servers, names)
    }

    fn is_called(&self, id: system::EndpointId) -> bool {
        let mut components = self.system.components.iter();
        components.any(|one| one.calls.iter().any(|call| call.to == id))
    }

    /// The processor, or the turns of a domain.
    fn supply(&mut self, domain: DomainId) -> Option<Box<dyn Supply>> {
        let turns = turns(self.system, self.figures, domain);
        let Some((turns, lost)) = turns.filter(|_| !self.threads.is_empty()) else {
            return Some(Box::new(Processor));
        };
        let table = Table::new(&turns, lost);
        let table = table.map_err(|error| format!("domain `{}`: {error}", self.system[domain]));
        self.keep(table)
            .map(|table| Box::new(table) as Box<dyn Supply>)
    }

    /// The core, with what the kernel does when budgets end.
    fn core(&mut self, servers: Vec<Server>) -> Option<Core> {
        // A replenishment also loses what its thread finds no longer in the caches.
        let kernel = time(self.figures.smallest_budget) + time(self.figures.cache_refill);
        let first = Core::new(self.threads.clone(), servers.clone(), kernel);
        let first = self.keep(first)?;
        for place in 0..self.threads.len() {
            let Some(context) = self.threads[place].context else {
                continue;
            };
            if is_covered(&first, place) || context.is_round_robin() {
                continue;
            }
            // The budget of a period comes in at most so many pieces, and the end of each is charged to others.
            let smallest = time(self.figures.smallest_budget).max(Time::from_nanos(1));
            let pieces = context.budget().covered_by(smallest) + 1;
            let pieces = pieces.min(i128::from(context.refills()));
            let cost = self.figures.end_of_budget(self.cores) * pieces;
            let name = format!("ends of the budget of {}", self.members[place].name);
            let priority = self.threads[place].priority.0;
            self.add(
                name,
                cost.min(context.period()),
                context.period(),
                priority,
                None,
            );
        }
        let core = Core::new(self.threads.clone(), servers, kernel);
        let core = core.and_then(|core| core.with_section(self.figures.section(self.cores)));
        self.keep(core)
    }
}

/// The endpoints of passive servers.
fn passive_endpoints(system: &System) -> impl Iterator<Item = system::EndpointId> {
    let all = (0..system.endpoints.len()).map(system::EndpointId);
    all.filter(|id| system[system[*id].server].time.is_passive())
}
