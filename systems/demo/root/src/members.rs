//! The components, with their promised and received shares.

use crate::recovery::{self, Recovery};
use core::cell::Cell;
use demo_protocol::Report;
use userlib::cap::{Endpoint, Reply, SchedContext, SchedParameters};
use userlib::server::Passive;
use userlib::thread::ThreadParameters;
use userlib::time::Clock;
use userlib::{CPtr, Capability, Environment, Microseconds, Process, Result, Rights, tar};

/// The scheduling parameters of a component.
pub struct Plan {
    pub name: &'static str,
    program: &'static str,
    priority: u8,
    pub budget: Microseconds,
    pub period: Microseconds,
}

const fn ms(milliseconds: u64) -> Microseconds {
    Microseconds::from_millis(milliseconds)
}

/// The number of components that call the server.
pub const COUNT: usize = 3;

/// The components that call the server. The hog is last.
static PLANS: [Plan; COUNT] = [
    Plan {
        name: "client-a",
        program: "demo-client",
        priority: 100,
        budget: ms(45),
        period: ms(100),
    },
    Plan {
        name: "client-b",
        program: "demo-client",
        priority: 110,
        budget: ms(10),
        period: ms(40),
    },
    Plan {
        name: "hog",
        program: "demo-hog",
        priority: 140,
        budget: ms(2),
        period: ms(20),
    },
];

/// The name and the program of the component with this badge in fault messages.
pub fn names(badge: usize) -> (&'static str, &'static str) {
    match badge.checked_sub(1).and_then(|index| PLANS.get(index)) {
        Some(plan) => (plan.name, plan.program),
        None => (SERVER, SERVER),
    }
}

const SERVER: &str = "demo-server";
/// The server has a higher priority than its callers, so that they delay it as little as possible.
const SERVER_PRIORITY: u8 = 150;
/// Parameters of the context lent to the server until its first receive.
const LENT: SchedParameters = SchedParameters::new(ms(1), ms(20)).with_badge(recovery::SERVER);

const RECOVERY_PRIORITY: u8 = 200;
const RECOVERY: SchedParameters = SchedParameters::new(ms(1), ms(20));

/// A component that calls the server.
pub struct Member {
    pub plan: &'static Plan,
    pub report: Report,
    /// Identifies the component in timeout fault messages.
    badge: usize,
    process: Process,
    time: SchedContext,
    /// Time that it has used since the start.
    used: Cell<Microseconds>,
}

impl Member {
    /// Its promised share, in thousandths of the processor.
    pub fn promised(&self) -> u64 {
        1000 * self.plan.budget.0 / self.plan.period.0
    }

    /// Its received share until now, in thousandths of the processor.
    pub fn received(&self, time: Microseconds) -> u64 {
        1000 * self.used.get().0 / time.0.max(1)
    }

    /// How often its budget ran out in the server.
    pub fn overruns(&self) -> usize {
        recovery::overruns(self.badge)
    }
}

/// All components.
pub struct Members {
    list: [Member; COUNT],
    start: Microseconds,
    now: Microseconds,
}

impl Members {
    /// Creates all components and starts the server; [`start`](Self::start) starts the others.
    pub fn create(environment: &mut Environment, clock: &Clock) -> Result<Self> {
        let requests: Endpoint = environment.allocator.create()?;
        let faults: Endpoint = environment.allocator.create()?;
        start_server(environment, requests, faults)?;

        let create = |index: usize| {
            Member::create(
                environment,
                clock,
                &PLANS[index],
                index + 1,
                requests,
                faults,
            )
        };
        let [a, b, hog] = [0, 1, 2].map(create);
        Ok(Self {
            list: [a?, b?, hog?],
            start: Microseconds(0),
            now: Microseconds(0),
        })
    }

    /// Starts all components.
    pub fn start(&self) -> Result {
        for member in &self.list {
            member.process.start()?;
        }
        Ok(())
    }

    /// Starts to count. Here as in each later [`look`](Self::look), the caller runs when the others have used
    /// up their budgets; so the counted time has as many budgets as periods.
    pub fn count_from_now(&mut self, clock: &Clock) -> Result {
        self.look(clock)?;
        for member in &self.list {
            member.used.set(Microseconds(0));
        }
        self.start = self.now;
        Ok(())
    }

    /// Reads the time that each component has used; returns how long they have been running.
    pub fn look(&mut self, clock: &Clock) -> Result<Microseconds> {
        for member in &self.list {
            let used = member.time.consumed()? + recovery::take_accounted(member.badge);
            member.used.set(member.used.get() + used);
        }
        self.now = clock.now();
        Ok(self.time())
    }

    /// How long they had been running at the last reading.
    pub fn time(&self) -> Microseconds {
        self.now - self.start
    }

    /// All components.
    pub fn iter(&self) -> impl Iterator<Item = &Member> {
        self.list.iter()
    }

    /// The hog.
    pub fn hog(&self) -> &Member {
        &self.list[COUNT - 1]
    }
}

fn program(name: &str) -> &'static [u8] {
    match tar::find(userlib::components!(), name) {
        Some(program) => program,
        None => panic!("the image has no component named `{name}`"),
    }
}

impl Member {
    fn create(
        environment: &mut Environment,
        clock: &Clock,
        plan: &'static Plan,
        badge: usize,
        requests: Endpoint,
        faults: Endpoint,
    ) -> Result<Self> {
        let mut process = Process::new(environment, program(plan.program))?;
        process.set_name(plan.name);
        let page = environment.create_shared_page()?;
        process.share(environment, "report", &page, Rights::READ_WRITE)?;
        let rights = Rights::WRITE.union(Rights::GRANT_REPLY);
        process.give_badged(environment, "server", requests, rights, badge)?;
        clock.give(environment, &mut process)?;
        process.set_fault_endpoint(environment, faults, badge)?;
        process.set_priorities(environment, plan.priority, 0)?;
        let parameters = SchedParameters::new(plan.budget, plan.period)
            .with_badge(badge)
            .with_extra_refills(EXTRA_REFILLS)
            .sporadic();
        let time = process.set_time(environment, &parameters)?;
        Ok(Self {
            plan,
            report: Report(page.words),
            badge,
            process,
            time,
            used: Cell::new(Microseconds(0)),
        })
    }
}

/// Frequent preemption splits a budget into as many replenishments. (As sporadic servers, the components do
/// not lose budget by it.)
const EXTRA_REFILLS: usize = 8;

/// Starts the server, and the thread that restarts it.
fn start_server(environment: &mut Environment, requests: Endpoint, faults: Endpoint) -> Result {
    let reply: Reply = environment.allocator.create()?;
    let mut process = Process::new(environment, program(SERVER))?;
    process.set_name(SERVER);
    process.give(environment, "endpoint", requests, Rights::READ)?;
    process.give(environment, "reply", reply, Rights::ALL)?;
    process.set_fault_endpoint(environment, faults, recovery::SERVER)?;
    process.set_timeout_endpoint(environment, faults, recovery::SERVER)?;
    process.set_priorities(environment, SERVER_PRIORITY, 0)?;
    let lent = environment.create_sched_context(&LENT)?;
    let server = Passive::start(environment, &process, lent)?;

    let recovery = Recovery {
        faults,
        fault_reply: environment.allocator.create()?,
        server,
        client_reply: reply,
        first_registers: process.initial_registers(),
    };
    let parameters = ThreadParameters {
        priority: RECOVERY_PRIORITY,
        time: Some(RECOVERY),
        fault_endpoint: CPtr::NULL.cptr(),
    };
    let thread = environment.spawn(&parameters, move || recovery.run())?;
    thread.set_name("recovery");
    Ok(())
}
