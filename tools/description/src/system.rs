//! A checked description: names are resolved, values are the kernel's, and everything fits together.
//!
//! An initialiser can be driven from it, and an analysis can be fed from it: it consists of plain data, in the
//! order of the file.

use std::ops::Index;

use crate::file::{Argument, GuestPolicy, Policy, Replenishment, Rights};
use crate::platform::Device;
use crate::units::{Duration, Size};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident: $list:ident of $of:ty;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub usize);

        impl Index<$name> for System {
            type Output = $of;
            fn index(&self, id: $name) -> &$of {
                &self.$list[id.0]
            }
        }
    )*};
}

ids! {
    /// A component, as an index of [`System::components`].
    ComponentId: components of Component;
    /// An endpoint, as an index of [`System::endpoints`].
    EndpointId: endpoints of Endpoint;
    /// A signal, as an index of [`System::signals`].
    SignalId: signals of Signal;
    /// Shared memory, as an index of [`System::regions`].
    RegionId: regions of Region;
    /// A domain, as an index of [`System::domains`]; also its number in the kernel.
    DomainId: domains of String;
    /// A user-level scheduler, as an index of [`System::schedulers`].
    SchedulerId: schedulers of Scheduler;
}

/// A system on a platform.
#[derive(Clone, Debug, Default)]
pub struct System {
    /// Its title, for people.
    pub title: Option<String>,
    /// The platform.
    pub platform: String,
    /// The crate of its root task, if it has one of its own.
    pub root: Option<String>,
    /// The crates of the programs in its image, without the root task; each once.
    pub programs: Vec<String>,
    /// The time of the supervisor, if the system has no root task of its own.
    pub supervisor: Option<Supervisor>,
    /// Its components.
    pub components: Vec<Component>,
    /// Its endpoints.
    pub endpoints: Vec<Endpoint>,
    /// Its signals.
    pub signals: Vec<Signal>,
    /// Its shared memory.
    pub regions: Vec<Region>,
    /// Its domains; one without a name if it has no schedule.
    pub domains: Vec<String>,
    /// The turns of the domains; empty if there is one domain.
    pub schedule: Vec<Turn>,
    /// Its user-level schedulers.
    pub schedulers: Vec<Scheduler>,
    /// How often interrupts come, as far as it is stated.
    pub interrupts: Vec<InterruptRate>,
}

/// The kernel's smallest budget and period: what it takes to enter and leave the kernel once.
pub const SMALLEST: Duration = Duration::from_micros(20);
/// The extra refills of a component that does not say anything else: enough for a job that waits for others.
pub const REFILLS: u32 = 8;

/// The parameters of a scheduling context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The time that may be used in each period: whole microseconds, at least 20 us.
    pub budget: Duration,
    /// The time after which used budget comes back: whole microseconds, above the budget.
    pub period: Duration,
    /// When used budget comes back.
    pub replenishment: Replenishment,
    /// Replenishments beyond the two that each context has.
    pub extra_refills: u32,
    /// Whether it is charged while its thread waits at an endpoint.
    pub idling: bool,
}

/// The time of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// A budget in each period.
    Context(Context),
    /// Round robin: a slice, as often as its turn comes.
    Slice(Duration),
    /// That of its callers. The context is lent to it until it first waits, and after a restart.
    Passive(Context),
}

impl Time {
    /// Whether it is that of its callers.
    pub const fn is_passive(self) -> bool {
        matches!(self, Self::Passive(_))
    }

    /// The time that it can use at once, if it has time of its own.
    pub const fn budget(self) -> Option<Duration> {
        match self {
            Self::Context(context) => Some(context.budget),
            Self::Slice(slice) => Some(slice),
            Self::Passive(_) => None,
        }
    }
}

/// The generic root task after the start.
#[derive(Clone, Copy, Debug)]
pub struct Supervisor {
    /// Its time.
    pub time: Context,
    /// Its priority.
    pub priority: u8,
    /// Its core.
    pub core: u32,
    /// Its domain.
    pub domain: DomainId,
}

/// A component.
#[derive(Clone, Debug)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// The crate of its program; none in a task set, and for threads of its root task.
    pub program: Option<String>,
    /// Its number, if it is one of several instances.
    pub instance: Option<u32>,
    /// The size of its heap, in whole pages.
    pub heap: Size,
    /// The size of its stack, in whole pages.
    pub stack: Size,
    /// The arguments of its program.
    pub arguments: Vec<(String, Argument)>,
    /// Its time.
    pub time: Time,
    /// Its priority; none only in a task set.
    pub priority: Option<u8>,
    /// The highest priority that it may give to a thread.
    pub max_controlled_priority: u8,
    /// Its criticality, from 0 to 7.
    pub criticality: u8,
    /// The highest criticality that it may give to a thread.
    pub max_controlled_criticality: u8,
    /// Its core.
    pub core: u32,
    /// Its domain.
    pub domain: DomainId,
    /// What it does with its time.
    pub job: Option<Job>,
    /// The user-level scheduler that runs its jobs.
    pub scheduler: Option<SchedulerId>,
    /// What runs inside it.
    pub guest: Option<Guest>,
    /// The endpoints at which it serves.
    pub serves: Vec<EndpointId>,
    /// Its calls.
    pub calls: Vec<Call>,
    /// The signals for which it waits.
    pub waits: Vec<SignalId>,
    /// The signals that it sends, with the names that it uses.
    pub signals: Vec<(String, SignalId)>,
    /// The shared memory that it sees.
    pub maps: Vec<Mapping>,
    /// The devices that it drives.
    pub devices: Vec<DeviceUse>,
    /// The interrupts for which it waits, those of its devices included.
    pub interrupts: Vec<InterruptUse>,
    /// The components whose use of time it may read; each has a context.
    pub watches: Vec<ComponentId>,
    /// Whether the run ends when it ends.
    pub ends_run: bool,
    /// Whether it may ask the supervisor.
    pub asks_supervisor: bool,
    /// Whether it may use the floating-point unit.
    pub floating_point: bool,
    /// What happens after a fault.
    pub on_fault: FaultAction,
    /// What happens when its time is used up.
    pub on_timeout: TimeoutAction,
    /// How often it may be restarted: a number, and the time within which it counts.
    pub restarts: Option<(u32, Duration)>,
}

/// What a component does with its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its longest execution time for each criticality level; if there are fewer than levels, the last one
    /// counts for the others. Empty if it is not known.
    pub costs: Vec<Duration>,
    /// The shortest time between two jobs, if the component has a period.
    pub period: Option<Duration>,
    /// The shortest windows of three and more jobs, after which arrivals repeat. Empty if only the period counts.
    pub bursts: Vec<Duration>,
    /// The time after its release within which a job must be done.
    pub deadline: Option<Duration>,
    /// The most by which a release may be late.
    pub jitter: Duration,
    /// The time of the first release.
    pub offset: Duration,
}

/// What runs inside a component that is a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// How it schedules its tasks.
    pub policy: GuestPolicy,
    /// Its tasks.
    pub tasks: Vec<GuestTask>,
    /// How long after the schedule of domains the first period of its time table begins.
    pub phase: Duration,
}

/// A task of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestTask {
    /// Its name.
    pub name: String,
    /// The longest execution time of a job.
    pub cost: Duration,
    /// The shortest time between two jobs.
    pub period: Duration,
    /// The time after its release within which a job must be done.
    pub deadline: Duration,
    /// In a time table: how long after the start of each period a job is released.
    pub offset: Duration,
}

/// A user-level scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduler {
    /// Its name.
    pub name: String,
    /// In which order it runs jobs.
    pub policy: Policy,
    /// The cores of its cluster.
    pub cores: Vec<u32>,
    /// The longest time that a decision takes, without the kernel.
    pub decision: Duration,
}

/// How often an interrupt comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterruptRate {
    /// Its device.
    pub name: String,
    /// The shortest time between two.
    pub gap: Duration,
    /// The core that gets it.
    pub core: u32,
}

/// An endpoint.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// The component that serves there.
    pub server: ComponentId,
    /// The protocol's crate and module, as a path of Rust.
    pub protocol: Option<String>,
    /// The longest execution time of a request in the server.
    pub cost: Option<Duration>,
    /// Those of the protocol's operations, by their names, if they are known.
    pub operations: Vec<(String, Duration)>,
    /// The longest time from receiving a request to its reply, if the server has time of its own.
    pub service: Option<Duration>,
    /// The budget that a caller must have left.
    pub threshold: Option<Duration>,
    /// Whether the threshold is also the most that the server may use.
    pub limit: bool,
    /// Whether only callers that donate their context may call.
    pub donation_required: bool,
    /// Whether the server learns the donated budget.
    pub tell_budget: bool,
}

/// A component's capability to an endpoint of another one.
#[derive(Clone, Debug)]
pub struct Call {
    /// The name that the caller uses.
    pub name: String,
    /// The endpoint.
    pub to: EndpointId,
    /// The badge of the capability; unique at the endpoint, never 0.
    pub badge: u64,
    /// Whether it may send capabilities.
    pub grant: bool,
    /// How often a job calls.
    pub times: u32,
    /// The longest execution time of a request, if it is known.
    pub cost: Option<Duration>,
}

/// A signal: one bit of the notification of a component.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Its name.
    pub name: String,
    /// The component that waits for it.
    pub receiver: ComponentId,
    /// The bit of the badge.
    pub bit: u32,
}

/// Shared memory.
#[derive(Clone, Debug)]
pub struct Region {
    /// Its name.
    pub name: String,
    /// Its size, in whole pages.
    pub size: Size,
    /// Whether the processor's caches hold it.
    pub cacheable: bool,
}

/// Shared memory, as a component sees it.
#[derive(Clone, Debug)]
pub struct Mapping {
    /// The name that the component uses.
    pub name: String,
    /// The memory.
    pub region: RegionId,
    /// The component's rights to it.
    pub rights: Rights,
}

/// A device, as a component sees it.
#[derive(Clone, Debug)]
pub struct DeviceUse {
    /// The name that the component uses.
    pub name: String,
    /// The platform's name.
    pub device: String,
    /// Its registers and ports.
    pub resources: Device,
}

/// An interrupt for which a component waits.
#[derive(Clone, Debug)]
pub struct InterruptUse {
    /// The name that the component uses; that of a device `NAME` which it drives is `NAME-interrupt`.
    pub name: String,
    /// The platform's name of the device.
    pub device: String,
    /// The line.
    pub interrupt: crate::platform::Interrupt,
    /// The bit of the badge of the component's notification.
    pub bit: u32,
}

/// The turn of a domain.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    /// The domain.
    pub domain: DomainId,
    /// How long it is.
    pub duration: Duration,
}

/// The capability by which the kernel reports to a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handler {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// The badge that tells the handler which component it is; unique at the endpoint, never 0.
    pub badge: u64,
}

/// What happens after a fault; each is reported first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultAction {
    /// The component stops.
    Stop,
    /// It starts again.
    Restart,
    /// A component handles it.
    Handler(Handler),
}

/// What happens when a component's time is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutAction {
    /// It waits for its next replenishment.
    Wait,
    /// As `Wait`, and it is reported.
    Report,
    /// It stops.
    Stop,
    /// It starts again; its caller gets an error.
    Restart,
    /// It gets so much more in each of its periods.
    Extend(Duration),
    /// It completes its job or request in emergency time.
    Emergency(Context),
    /// A component handles it.
    Handler(Handler),
}

impl System {
    /// The ids of all components.
    pub fn ids(&self) -> impl Iterator<Item = ComponentId> + use<> {
        (0..self.components.len()).map(ComponentId)
    }

    /// An endpoint's name for people: `COMPONENT.ENDPOINT`.
    pub fn endpoint_name(&self, id: EndpointId) -> String {
        let endpoint = &self[id];
        format!("{}.{}", self[endpoint.server].name, endpoint.name)
    }

    /// The contexts of a core, with the names of what runs on them: components, their extensions and emergency time,
    /// and the supervisor. Startup time is not among them, as it is used only once.
    pub fn contexts(&self, core: u32) -> Vec<(String, DomainId, Context)> {
        let mut contexts = Vec::new();
        for one in self.components.iter().filter(|one| one.core == core) {
            if let Time::Context(context) = one.time {
                contexts.push((one.name.clone(), one.domain, context));
            }
            if let Some((what, context)) = one.emergency() {
                contexts.push((format!("{} ({what})", one.name), one.domain, context));
            }
        }
        if let Some(supervisor) = self.supervisor.filter(|one| one.core == core) {
            contexts.push(("supervisor".to_string(), supervisor.domain, supervisor.time));
        }
        contexts
    }

    /// The cores on which something runs.
    pub fn cores(&self) -> Vec<u32> {
        let supervisor = self.supervisor.map(|supervisor| supervisor.core);
        let mut cores: Vec<_> = self
            .components
            .iter()
            .map(|one| one.core)
            .chain(supervisor)
            .collect();
        cores.sort_unstable();
        cores.dedup();
        cores
    }
}

impl Component {
    /// The context on which it continues when its time is used up, if one is set aside for this, and what it is called.
    /// An extension is as long as the description says in each period of the component.
    pub fn emergency(&self) -> Option<(&'static str, Context)> {
        match (self.on_timeout, self.time) {
            (TimeoutAction::Emergency(context), _) => Some((EMERGENCY, context)),
            (TimeoutAction::Extend(budget), Time::Context(own)) => {
                Some((EXTENSION, Context { budget, ..own }))
            }
            _ => None,
        }
    }
}

impl Context {
    /// Its share of a core in billionths, rounded down.
    pub fn share(&self) -> u64 {
        let share = u128::from(self.budget.as_nanos()) * u128::from(WHOLE)
            / u128::from(self.period.as_nanos().max(1));
        u64::try_from(share).unwrap_or(u64::MAX)
    }
}

/// What the time is called in which a component completes its job or request.
pub(crate) const EMERGENCY: &str = "emergency";
/// What the time is called that is added to a budget.
pub(crate) const EXTENSION: &str = "extension";

/// A whole core in billionths.
pub const WHOLE: u64 = 1_000_000_000;
