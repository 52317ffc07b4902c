//! A system on the kernel on the host: time, rights and handlers are those of its description, and a test says what its
//! components do.
//!
//! ```
//! use simulator::{System, ms, us, work};
//! use userlib::syscall;
//!
//! userlib::protocol! {
//!     /// Additions.
//!     pub mod addition, version 1 {
//!         /// The sum of two numbers.
//!         fn add(a: usize, b: usize) -> usize;
//!     }
//! }
//!
//! struct Adder;
//!
//! impl addition::Service for Adder {
//!     fn add(&mut self, _caller: usize, a: usize, b: usize) -> usize {
//!         a + b
//!     }
//! }
//!
//! # fn main() {
//! let mut system = System::new(r#"
//!     [component.server]
//!     program = "server"
//!     passive = true
//!     priority = 150
//!     serves.requests = { protocol = "protocols::addition", cost = { add = "200 us" } }
//!     [component.client]
//!     program = "client"
//!     budget = "5 ms"
//!     period = "20 ms"
//!     priority = 100
//!     calls = ["server"]
//! "#);
//! // Each request takes its cost in the description.
//! system.serve("server", addition::Protocol, |_| Adder);
//! system.component("client", |given| {
//!     let server = addition::Client::find(given, "server").expect("the description gives it");
//!     loop {
//!         work(us(500));
//!         assert_eq!(server.add(1, 2), Ok(3));
//!         syscall::yield_now();
//!     }
//! });
//! let run = system.run(ms(200));
//! let client = run.of("client");
//! assert_eq!(client.responses().count(), 10);
//! assert!(client.longest_response() >= us(700) && client.longest_response() < us(720));
//! assert_eq!((client.misses(), client.used_up().count()), (0, 0));
//! # }
//! ```

mod build;
mod observed;
mod supervisor;

use std::fs;
use std::path::Path;
use std::rc::Rc;

use kernel::config::CORES;
use system_description::system::{Component, FaultAction, Handler, TimeoutAction};
use system_description::{Platform, Source, check, system};
use userlib::given::Server;
use userlib::protocol::{MOST_OPERATIONS, Protocol};
use userlib::{Message, Microseconds, Startup};

use crate::platform;
use crate::simulation::{Options, Simulation};
use crate::stage::work;

pub use observed::{Observed, Run};

/// The platform whose variant is taken, unless the system does not run there.
const USUAL: &str = "pc99";

/// What a component does, given what the description gives it.
type Behaviour = Rc<dyn Fn(&'static Startup)>;
/// The time of a device's next interrupt, given that of the last one.
type Arrivals = Box<dyn FnMut(Microseconds) -> Option<Microseconds>>;

/// A system: its description, and what its components do in this test. Components of which nothing is said do not run.
pub struct System {
    description: system::System,
    behaviours: Vec<Option<Behaviour>>,
    /// Interrupts: the component, their name there, and when they come.
    arrivals: Vec<(usize, String, Arrivals)>,
    /// Changes of the criticality level, with their times.
    levels: Vec<(Microseconds, u8)>,
    options: Options,
}

impl System {
    /// The system of a description.
    ///
    /// # Panics
    /// With the mistakes in the description, or what of it the simulator cannot do.
    #[track_caller]
    pub fn new(description: &str) -> Self {
        let made = Self::of(description, "system.toml", None);
        made.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The system of the description in a file.
    ///
    /// # Panics
    /// As [`System::new`], or if there is no such file.
    #[track_caller]
    pub fn read(path: impl AsRef<Path>) -> Self {
        let made = Self::of_file(path.as_ref(), None);
        made.unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same with the variant of the description for a platform.
    ///
    /// # Panics
    /// As [`System::read`], or if the system is not made for this platform.
    #[track_caller]
    pub fn read_for(path: impl AsRef<Path>, platform: &str) -> Self {
        let made = Self::of_file(path.as_ref(), Some(platform));
        made.unwrap_or_else(|error| panic!("{error}"))
    }

    fn of_file(path: &Path, platform: Option<&str>) -> Result<Self, String> {
        let shown = path.display().to_string();
        let text = fs::read_to_string(path);
        let text = text.map_err(|error| format!("cannot read {shown}: {error}"))?;
        Self::of(&text, &shown, platform)
    }

    fn of(text: &str, path: &str, wanted: Option<&str>) -> Result<Self, String> {
        let platforms: Vec<Platform> = platform::all()?;
        let checked = check(Source { path, text }, &platforms);
        if !checked.is_good() {
            let lines = checked.diagnostics.iter();
            let lines = lines.map(|one| one.line(Source { path, text }).to_string());
            return Err(lines.collect::<Vec<_>>().join("\n"));
        }
        let is_wanted = |one: &system::System| one.platform == wanted.unwrap_or(USUAL);
        let mut systems = checked.systems;
        let place = match (systems.iter().position(is_wanted), wanted) {
            (Some(place), _) => place,
            (None, None) if !systems.is_empty() => 0,
            _ => return Err(format!("{path} is made for other platforms only")),
        };
        let description = systems.swap_remove(place);
        refuse(&description)?;
        let options = Options {
            cores: cores(&description)?,
            ..Options::default()
        };
        Ok(Self {
            behaviours: vec![None; description.components.len()],
            description,
            arrivals: Vec::new(),
            levels: Vec::new(),
            options,
        })
    }

    /// What a component does. It gets what the description gives it, by name, and ends when the closure does; `work`
    /// takes time. A panic fails the test.
    ///
    /// # Panics
    /// If the description has no such component.
    #[track_caller]
    pub fn component(&mut self, name: &str, behaviour: impl Fn(&'static Startup) + 'static) {
        let index = self.index(name);
        self.behaviours[index] = Some(Rc::new(behaviour));
    }

    /// A server, with a service that `make` makes at each start: that of its own program, or another one in its place. `make`
    /// gets what the description gives the component, by name. It serves at the first endpoint of the component, and each
    /// request takes the longest execution time that the description says, beside what the service takes by `work` and by
    /// calls.
    ///
    /// # Panics
    /// If the description has no such component, or an operation of which the protocol knows nothing.
    #[track_caller]
    pub fn serve<P: Protocol<S>, S>(
        &mut self,
        name: &str,
        _: P,
        make: impl Fn(&'static Startup) -> S + 'static,
    ) {
        let component = &self.description.components[self.index(name)];
        let Some(&id) = component.serves.first() else {
            panic!("`{name}` serves nothing in its description");
        };
        let endpoint = &self.description[id];
        for (operation, _) in &endpoint.operations {
            let is_known = P::OPERATIONS.contains(&&**operation);
            assert!(
                is_known,
                "the protocol of `{name}` has no operation `{operation}`"
            );
        }
        let cost = |operation: &&str| {
            let mut costs = endpoint.operations.iter();
            let own = costs.find(|(name, _)| name == operation);
            own.map(|(_, cost)| *cost).or(endpoint.cost)
        };
        let costs = P::OPERATIONS.iter().map(cost);
        let costs: Vec<_> = costs
            .map(|cost| Microseconds(cost.map_or(0, |cost| cost.as_micros())))
            .collect();
        let endpoint = endpoint.name.clone();
        self.component(name, move |given| {
            let server = Server::find(given, &endpoint).expect("the description gives it");
            let mut service = make(given);
            server.serve(|received| match received.message {
                Some(message) => {
                    let operation = message.label() % MOST_OPERATIONS;
                    work(costs.get(operation).copied().unwrap_or_default());
                    P::answer(&mut service, received.badge, &message)
                }
                None => {
                    P::signals(&mut service, received.badge);
                    Message::empty(0)
                }
            })
        });
    }

    /// When the interrupts of a component come: the time of the next one, given that of the last one. `interrupt` is the
    /// component's name for it.
    ///
    /// # Panics
    /// If the component has no such interrupt.
    #[track_caller]
    pub fn interrupts(
        &mut self,
        component: &str,
        interrupt: &str,
        arrivals: impl FnMut(Microseconds) -> Option<Microseconds> + 'static,
    ) {
        let index = self.index(component);
        let mut known = self.description.components[index].interrupts.iter();
        assert!(
            known.any(|one| one.name == interrupt),
            "`{component}` has no interrupt `{interrupt}` in its description"
        );
        self.arrivals
            .push((index, interrupt.to_string(), Box::new(arrivals)));
    }

    /// Changes the criticality level of all cores at a time, as a root task of one's own can. It is 0 before.
    pub fn criticality_level(&mut self, time: Microseconds, level: u8) {
        self.levels.push((time, level));
        self.levels.sort_by_key(|(time, _)| *time);
    }

    /// Sets the seed of random numbers, and the cost of a kernel entry. The number of cores is that of the description.
    pub fn options(&mut self, options: Options) {
        let cores = self.options.cores;
        self.options = Options { cores, ..options };
    }

    /// Runs the system from its start for a time.
    ///
    /// # Panics
    /// If a component panics, or one is called of which nothing is said.
    #[track_caller]
    pub fn run(self, time: Microseconds) -> Run {
        if let Some(missing) = self.missing() {
            panic!(
                "{missing}, and nothing is said about what that does; say it by `serve` or `component`"
            );
        }
        let Self {
            description,
            behaviours,
            arrivals,
            levels,
            options,
        } = self;
        let reports = supervisor::Reports::default();
        let (kept, told) = (description.clone(), reports.clone());
        let root = move |setup: &mut crate::Setup| {
            build::build(setup, description, &behaviours, arrivals, told);
            build::change_levels(setup, levels);
        };
        let mut simulation = Simulation::new(root, options);
        simulation.run_until(time.0);
        Run::new(kept, simulation, reports)
    }

    /// Which component needs one that does nothing.
    fn missing(&self) -> Option<String> {
        let components = self.description.components.iter().zip(&self.behaviours);
        let running = components.filter(|(_, behaviour)| behaviour.is_some());
        let needs = running.flat_map(|(one, _)| {
            let calls = one.calls.iter().map(|call| ("calls", call.to));
            let handlers = handlers(one).map(|handler| ("is handled by", handler.endpoint));
            let needs = calls.chain(handlers);
            needs.map(move |(what, endpoint)| (one, what, self.description[endpoint].server))
        });
        let mut missing = needs.filter(|(.., server)| self.behaviours[server.0].is_none());
        let (one, what, server) = missing.next()?;
        let server = &self.description[server].name;
        Some(format!("`{}` {what} `{server}`", one.name))
    }

    #[track_caller]
    fn index(&self, name: &str) -> usize {
        index(&self.description, name)
    }
}

/// The place of a component.
///
/// # Panics
/// If there is none.
#[track_caller]
fn index(system: &system::System, name: &str) -> usize {
    let place = system.components.iter().position(|one| one.name == name);
    place.unwrap_or_else(|| {
        let names = system.components.iter().map(|one| &*one.name);
        let names: Vec<_> = names.collect();
        panic!(
            "no component is named `{name}`; there are: {}",
            names.join(", ")
        )
    })
}

/// The handlers of a component's faults and timeouts that are components.
fn handlers(one: &Component) -> impl Iterator<Item = Handler> {
    let of_faults = match one.on_fault {
        FaultAction::Handler(handler) => Some(handler),
        FaultAction::Stop | FaultAction::Restart => None,
    };
    let of_timeouts = match one.on_timeout {
        TimeoutAction::Handler(handler) => Some(handler),
        _ => None,
    };
    of_faults.into_iter().chain(of_timeouts)
}

/// The number of cores: that of the last one on which something runs.
fn cores(system: &system::System) -> Result<usize, String> {
    let last = system.cores().last().copied().unwrap_or_default() as usize;
    match last {
        last if last < CORES => Ok(last + 1),
        last if CORES == 1 => Err(format!(
            "something runs on core {last}, and this simulator has one core; give its dependency in the manifest of the \
             tests `features = [\"smp\"]`"
        )),
        last => Err(format!(
            "something runs on core {last}, and this simulator has {CORES} cores; set ESCAPEMENT_CORES = \"{}\" below \
             [env] in .cargo/config.toml",
            last + 1
        )),
    }
}

/// Refuses what the simulator cannot do.
fn refuse(system: &system::System) -> Result<(), String> {
    if system.domains.len() > 1 {
        return Err("the simulator has one domain, and this system several".to_string());
    }
    if let Some(one) = system.schedulers.first() {
        return Err(format!(
            "the simulator has no user-level scheduler `{}`",
            one.name
        ));
    }
    for one in &system.components {
        let why = complaint(one);
        if let Some(why) = why {
            return Err(format!("the simulator cannot run `{}`: {why}", one.name));
        }
    }
    Ok(())
}

fn complaint(one: &Component) -> Option<&'static str> {
    match one {
        _ if one.guest.is_some() => Some("it is a virtual machine"),
        _ if one.asks_supervisor => Some("its supervisor answers no requests"),
        _ if !one.watches.is_empty() => Some("it may read the time of others"),
        _ if one.priority.is_none() => Some("it has no priority"),
        _ if matches!(
            one.on_timeout,
            TimeoutAction::Extend(_) | TimeoutAction::Emergency(_)
        ) =>
        {
            Some("it gets more time after a timeout")
        }
        _ => None,
    }
}
