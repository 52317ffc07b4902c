//! The keys of `system.toml`, as they are written. [`crate::system`] is what they mean.

mod shapes;

pub use shapes::{At, Either, Many, Table, Uses};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Deserialize;

use crate::units::{Duration, Size};

/// A system: its components, their time, and what connects them.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
#[cfg_attr(test, schemars(title = "The description of a system on Escapement"))]
pub struct File {
    /// A title for people.
    pub title: Option<String>,
    /// The platforms on which the system runs, if not all.
    pub platforms: Option<At<Vec<At<String>>>>,
    /// The crate of a root task of your own, which sets everything up. Components without a program are its threads.
    pub root: Option<At<String>>,
    /// Further programs in the image, for this root task.
    pub programs: Vec<At<String>>,
    /// The time of the supervisor, if the system has no root task of its own.
    pub supervisor: Supervisor,
    /// The components.
    pub component: Table<Component>,
    /// Memory that components share.
    pub memory: Table<Memory>,
    /// The turns of the domains, which are repeated for ever.
    pub schedule: Vec<Turn>,
    /// User-level schedulers, for the analysis.
    pub scheduler: Table<Scheduler>,
    /// How often interrupts come, for the analysis, by the names of their devices.
    pub interrupt: Table<InterruptRate>,
    /// What is different on a platform: a description that is laid over this one.
    pub platform: Table<File>,
    /// How a test recognises that a run has ended well.
    pub test: Test,
}

/// A component: a program in an address space of its own, and its time.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Component {
    /// The crate of its program.
    pub program: Option<At<String>>,
    /// How many equal components there are; they are called `NAME-0`, `NAME-1` and so on.
    pub instances: Option<At<i64>>,
    /// The platforms on which it exists, if not all.
    pub platforms: Option<At<Vec<At<String>>>>,
    /// The size of its heap; none by default.
    pub heap: Option<At<Size>>,
    /// The size of its stack; 16 KiB by default.
    pub stack: Option<At<Size>>,
    /// Numbers, flags and texts for the program, by name.
    pub arguments: Table<Argument>,

    /// It may use the floating-point unit, which programs for a target without one do not; false by default.
    pub floating_point: Option<At<bool>>,

    /// The time that it may use in each period.
    pub budget: Option<At<Duration>>,
    /// The time after which used budget comes back.
    pub period: Option<At<Duration>>,
    /// Instead of budget and period: the time after which others of the same priority have their turn.
    pub slice: Option<At<Duration>>,
    /// Instead of budget and period: it has no time of its own and runs on that of its callers.
    pub passive: Option<At<bool>>,
    /// The time that a passive component gets until it first waits for a call.
    pub startup: Option<Startup>,
    /// When used budget comes back.
    pub replenishment: Option<At<Replenishment>>,
    /// Into how many pieces more than two the budget may be split; 8 by default.
    pub extra_refills: Option<At<i64>>,
    /// The budget is used up while it waits in the queue of an endpoint, too.
    pub idling: Option<At<bool>>,
    /// From 0 to 255, which is the highest.
    pub priority: Option<At<i64>>,
    /// The highest priority that it may give to a thread.
    pub max_controlled_priority: Option<At<i64>>,
    /// From 0 to 7, which is the most critical.
    pub criticality: Option<At<i64>>,
    /// The highest criticality that it may give to a thread.
    pub max_controlled_criticality: Option<At<i64>>,
    /// The core on which it runs, counted from 0; for several instances a list.
    pub core: Option<At<Many<i64>>>,
    /// The domain in whose turns it runs.
    pub domain: Option<At<String>>,
    /// What it does with its time, for the analysis.
    pub job: Option<Job>,
    /// The user-level scheduler that runs its jobs, for the analysis.
    pub scheduler: Option<At<String>>,
    /// The tasks of its guest, for the analysis.
    pub guest: Option<At<Guest>>,

    /// The endpoints at which it serves calls.
    pub serves: Uses<Endpoint>,
    /// The endpoints that it calls: `COMPONENT`, or `COMPONENT.ENDPOINT`.
    pub calls: Uses<Either<String, Call>>,
    /// The signals for which it waits.
    pub waits: Vec<At<String>>,
    /// The signals that it sends: `COMPONENT.SIGNAL`.
    pub signals: Uses<String>,
    /// The shared memory that it sees, and its rights to it.
    pub memory: Table<Either<Rights, Mapping>>,
    /// The devices that it drives, with their interrupts, by the names of the platform.
    pub devices: Uses<String>,
    /// Interrupts of devices that it does not drive.
    pub interrupts: Uses<String>,

    /// The components whose use of time it may read.
    pub watches: Vec<At<String>>,
    /// The run ends when it ends, and its result is that of the run.
    pub ends_run: Option<At<bool>>,
    /// It may ask the supervisor for the states of all components, and to start one again; false by default.
    pub asks_supervisor: Option<At<bool>>,

    /// What happens after a fault or a panic; it stops by default.
    pub on_fault: Option<At<FaultAction>>,
    /// What happens when its time is used up; it waits for its next replenishment by default.
    pub on_timeout: Option<At<TimeoutAction>>,
    /// How often it may be restarted.
    pub restarts: Option<Restarts>,
}

/// The time of the generic root task, which stays as supervisor.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Supervisor {
    /// Its budget; 1 ms by default.
    pub budget: Option<At<Duration>>,
    /// Its period; 20 ms by default.
    pub period: Option<At<Duration>>,
    /// Its priority; 255 by default.
    pub priority: Option<At<i64>>,
    /// Its core; 0 by default.
    pub core: Option<At<i64>>,
    /// Its domain; that of the first turn by default.
    pub domain: Option<At<String>>,
}

/// Budget and period of a context that is not a component's own.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Startup {
    /// The time that may be used in each period.
    pub budget: At<Duration>,
    /// The time after which used budget comes back.
    pub period: At<Duration>,
}

/// When used budget comes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Replenishment {
    /// One period after the component was ready to use it.
    #[default]
    Sporadic,
    /// One period after the component began to use it.
    ConstantBandwidth,
}

/// What a component does with its time, for the analysis.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Job {
    /// The longest execution time of a job, without servers; or a list, one for each criticality level.
    pub cost: Option<At<Many<Duration>>>,
    /// The shortest time between two jobs; the component's period by default.
    pub period: Option<At<Duration>>,
    /// Instead of the period, the shortest windows in which two, three, and more jobs arrive; then arrivals repeat.
    pub arrivals: Option<At<Vec<At<Duration>>>>,
    /// The time after its release within which a job must be done; the job's period by default.
    pub deadline: Option<At<Duration>>,
    /// The most by which a release may be late.
    pub jitter: Option<At<Duration>>,
    /// The time of the first release.
    pub offset: Option<At<Duration>>,
}

/// An endpoint at which a component serves calls.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Endpoint {
    /// The crate and module of the protocol: `CRATE::MODULE`.
    pub protocol: Option<At<String>>,
    /// The longest execution time of a request in the server; or a table of those of the protocol's operations.
    pub cost: Option<At<Either<Duration, Table<At<Duration>>>>>,
    /// The longest time from receiving a request to its reply, if the server has time of its own.
    pub service: Option<At<Duration>>,
    /// The budget that a caller must have left.
    pub threshold: Option<At<Duration>>,
    /// The threshold is also the most that the server may use of a caller's budget.
    pub limit: bool,
    /// Only callers that lend their time may call.
    pub donation_required: bool,
    /// The server learns how much time a caller has brought.
    pub tell_budget: bool,
    /// Callers may send capabilities.
    pub accepts_capabilities: bool,
}

/// A call in its long form.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Call {
    /// The endpoint: `COMPONENT`, or `COMPONENT.ENDPOINT`.
    pub to: At<String>,
    /// The number by which the server recognises the caller; chosen by default.
    #[serde(default)]
    pub badge: Option<At<i64>>,
    /// It may send capabilities.
    #[serde(default)]
    pub grant: Option<At<bool>>,
    /// How often a job calls, for the analysis; 1 by default.
    #[serde(default)]
    pub times: Option<At<i64>>,
    /// The longest execution time of a request of this caller, for the analysis; that of the endpoint by default.
    #[serde(default)]
    pub cost: Option<At<Duration>>,
    /// The operations for which this caller asks, which say its cost; all of them by default.
    #[serde(default)]
    pub operations: Vec<At<String>>,
}

/// A user-level scheduler, for the analysis.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Scheduler {
    /// In which order it runs jobs.
    pub policy: At<Policy>,
    /// The cores of its cluster; core 0 by default.
    #[serde(default)]
    pub cores: Option<At<Vec<At<i64>>>>,
    /// The longest time that a decision takes, without the kernel.
    pub decision: At<Duration>,
}

/// In which order a user-level scheduler runs jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The earliest deadline first; on several cores jobs migrate.
    Edf,
    /// The same with virtual deadlines, for two levels of criticality.
    EdfVd,
}

/// How often an interrupt comes, for the analysis.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct InterruptRate {
    /// The shortest time between two interrupts.
    pub gap: At<Duration>,
    /// The core that gets them; 0 by default.
    #[serde(default)]
    pub core: Option<At<i64>>,
}

/// What runs inside a component that is a guest's virtual machine, for the analysis.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Guest {
    /// How the guest schedules its tasks.
    pub policy: At<GuestPolicy>,
    /// Its tasks.
    pub task: Table<At<GuestTask>>,
    /// Of a time table: how long after the schedule of domains its first period begins; 0 by default.
    #[serde(default)]
    pub phase: Option<At<Duration>>,
}

/// How a guest schedules its tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GuestPolicy {
    /// Fixed priorities; the shorter the period, the higher.
    RateMonotonic,
    /// The earliest deadline first.
    Edf,
    /// By a table of its own, in step with the schedule of domains.
    TimeTable,
}

/// A task of a guest.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct GuestTask {
    /// The longest execution time of a job.
    pub cost: At<Duration>,
    /// The shortest time between two jobs.
    pub period: At<Duration>,
    /// The time after its release within which a job must be done; what is left of the period by default.
    #[serde(default)]
    pub deadline: Option<At<Duration>>,
    /// In a time table: how long after the start of each period a job is released; 0 by default.
    #[serde(default)]
    pub offset: Option<At<Duration>>,
}

/// Memory that components share.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Memory {
    /// Its size, in whole pages of 4 KiB.
    pub size: At<Size>,
    /// The most rights that a component may have to it.
    #[serde(default)]
    pub rights: Option<At<Rights>>,
    /// Whether the processor's caches hold it; true by default.
    #[serde(default)]
    pub cacheable: Option<bool>,
}

/// Rights to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Rights {
    /// Read.
    Read,
    /// Read and write.
    ReadWrite,
    /// Read and execute.
    ReadExecute,
}

/// Shared memory under another name than the region's.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Mapping {
    /// The name of the memory.
    pub region: At<String>,
    /// The component's rights to it.
    pub rights: At<Rights>,
}

/// A turn of a domain.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Turn {
    /// The domain.
    pub domain: At<String>,
    /// How long the turn is.
    pub duration: At<Duration>,
}

/// What happens after a fault or a panic. Each is reported first.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FaultAction {
    /// The component stops.
    Stop,
    /// It starts again, with fresh memory; callers that waited for it get an error.
    Restart,
    /// An endpoint of a component receives the fault: `COMPONENT`, or `COMPONENT.ENDPOINT`.
    Handler(At<String>),
}

/// What happens when the time is used up.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimeoutAction {
    /// The component waits for its next replenishment.
    Wait,
    /// As `wait`, and it is reported.
    Report,
    /// It is reported, and the component stops.
    Stop,
    /// It starts again, with fresh memory; its caller gets an error.
    Restart,
    /// It gets so much more in each of its periods.
    Extend(At<Duration>),
    /// It completes its job or request in emergency time, which is set aside for it.
    Emergency(Startup),
    /// An endpoint of a component receives the timeout: `COMPONENT`, or `COMPONENT.ENDPOINT`.
    Handler(At<String>),
}

/// A limit of restarts.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Restarts {
    /// After so many restarts it stops;
    pub most: At<i64>,
    /// if they were within this time.
    pub within: At<Duration>,
}

/// An argument of a program.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(untagged)]
pub enum Argument {
    /// A flag.
    Flag(bool),
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// How a test recognises that a run has ended well.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Test {
    /// The run must end with failure, after it has printed each of these texts.
    pub fails_after: Vec<String>,
    /// The run must print each of these texts.
    pub prints: Vec<String>,
    /// What is typed on the console, one after the other.
    pub types: Vec<Typed>,
}

/// A line that is typed on the console.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Typed {
    /// When the run has printed this text, after it printed that of the line before.
    pub after: String,
    /// The line, without its end.
    pub line: String,
}
