//! The environment of a benchmark.

use crate::measure::Counter;
use crate::partner::{Peer, Place, Shared};
use crate::protocol::{PRIORITY, SET_TIMER, names};
use core::ops::{Deref, DerefMut};
use userlib::cap::{
    Attributes, Endpoint, Frame, Notification, SchedContext, SchedControl, SchedParameters, Tcb,
};
use userlib::drivers::BoardTimer;
use userlib::thread::ThreadParameters;
use userlib::time::Clock;
use userlib::{CPtr, Capability, Environment, Message, Microseconds, Result, Rights, Startup};

/// While the benchmark's first thread has this priority, all other threads run before it.
const LAST: u8 = 1;

/// The most cores that benchmarks use.
pub const MAX_CORES: usize = 8;

/// Long timeslices, so that none ends during a measured operation.
pub const TIME: SchedParameters = SchedParameters::round_robin(Microseconds::from_millis(1000));

/// The scheduling context that a peer runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// Its own.
    Own,
    /// Those of its callers. Until it first waits, it runs on a context lent to it.
    Callers,
}

/// The environment of a benchmark: the resources of a parent, and a partner.
pub struct Bench {
    /// The suite that the benchmark belongs to.
    pub suite: &'static str,
    /// The objects that the benchmark and its partner share.
    pub peer: Peer,
    /// The notification of the interrupt.
    pub interrupt: Notification,
    /// The most attackers, if there is a limit.
    pub attackers: Option<usize>,
    /// The number of cores.
    pub cores: usize,
    /// Counter frequency in megahertz, for runs in which instructions are not counted.
    pub megahertz: usize,
    startup: &'static Startup,
    environment: Environment,
    /// The `SchedControl` capability of the first core; those of the other cores are in the slots after it.
    controls: SchedControl,
    time: SchedContext,
    partner: Tcb,
    partner_time: SchedContext,
    runner: Endpoint,
}

impl Deref for Bench {
    type Target = Environment;
    fn deref(&self) -> &Environment {
        &self.environment
    }
}

impl DerefMut for Bench {
    fn deref_mut(&mut self) -> &mut Environment {
        &mut self.environment
    }
}

impl Bench {
    pub(crate) fn new(suite: &'static str, startup: &'static Startup) -> Self {
        let environment = Environment::from_startup(startup);
        Self {
            suite,
            peer: Peer::new(startup),
            interrupt: startup.capability(names::INTERRUPT),
            attackers: startup.find_number(names::ATTACKERS),
            cores: startup.number(names::CORES).min(MAX_CORES),
            megahertz: startup.number(names::MEGAHERTZ),
            controls: environment.sched_control,
            time: startup.capability(names::TIME),
            environment,
            startup,
            partner: startup.capability(names::PARTNER),
            partner_time: startup.capability(names::PARTNER_TIME),
            runner: startup.capability(names::RUNNER),
        }
    }

    /// The clock.
    pub fn clock(&self) -> Clock {
        Clock::from_startup(self.startup)
    }

    /// The board's timer, for benchmarks that do not request interrupts of the runner.
    pub fn timer(&self) -> BoardTimer {
        BoardTimer::from_startup(self.startup)
    }

    /// The counter of instructions or cycles.
    pub fn counter(&self) -> Counter {
        self.peer.counter
    }

    /// The shared page.
    pub fn shared(&self) -> Shared {
        self.peer.shared
    }

    /// Configures this thread's own context.
    pub fn set_own_time(&self, parameters: &SchedParameters) -> Result {
        self.controls.configure(self.time, parameters)
    }

    /// Configures the partner's context.
    pub fn set_partners_time(&self, parameters: &SchedParameters) -> Result {
        self.controls.configure(self.partner_time, parameters)
    }

    /// Sets flags of this thread and of the partner.
    pub fn set_flags(&self, own: usize, partners: usize) -> Result {
        self.tcb.set_flags(0, own)?;
        self.partner.set_flags(0, partners)?;
        Ok(())
    }

    /// Starts a peer with `role` and waits until it blocks.
    pub fn start(
        &mut self,
        place: Place,
        priority: u8,
        time: Time,
        role: fn(&Peer),
    ) -> Result<Tcb> {
        let (tcb, context) = match place {
            Place::Same => self.thread(priority, role)?,
            Place::Other => {
                self.shared().set_role(role);
                self.partner.set_priority(self.tcb, priority)?;
                (self.partner, self.partner_time)
            }
        };
        context.bind(tcb)?;
        tcb.resume()?;
        self.let_others_run()?;
        if time == Time::Callers {
            context.unbind_object(tcb)?;
        }
        Ok(tcb)
    }

    /// A thread in this address space, and a context for it that is not bound.
    fn thread(&mut self, priority: u8, role: fn(&Peer)) -> Result<(Tcb, SchedContext)> {
        let parameters = ThreadParameters {
            priority,
            time: None,
            fault_endpoint: CPtr::NULL,
        };
        let peer = self.peer;
        let thread = self.create_thread(&parameters, move || role(&peer))?;
        Ok((thread.tcb, self.create_sched_context(&TIME)?))
    }

    /// Runs `work` on a core, in a thread of this address space with a scheduling context of its own.
    pub fn run_on(
        &mut self,
        core: usize,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(Tcb, SchedContext)> {
        self.run_with(core, PRIORITY, &TIME, work)
    }

    /// The same with another priority and other scheduling parameters.
    pub fn run_with(
        &mut self,
        core: usize,
        priority: u8,
        time: &SchedParameters,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<(Tcb, SchedContext)> {
        let parameters = ThreadParameters {
            priority,
            time: None,
            fault_endpoint: CPtr::NULL,
        };
        let tcb = self.create_thread(&parameters, work)?.tcb;
        let context = self.create_sched_context(time)?;
        self.sched_control_of(core).configure(context, time)?;
        context.bind(tcb)?;
        tcb.resume()?;
        Ok((tcb, context))
    }

    /// Migrates this thread to another core. Threads that it creates later without a core run there, too.
    pub fn move_to(&mut self, core: usize) -> Result {
        let control = self.sched_control_of(core);
        control.configure(self.time, &TIME)?;
        self.environment.sched_control = control;
        Ok(())
    }

    /// The `SchedControl` capability of a core.
    pub fn sched_control_of(&self, core: usize) -> SchedControl {
        SchedControl(CPtr(self.controls.cptr().0 + core))
    }

    /// Maps a frame of the smallest size for reading and writing.
    pub fn map_at(&mut self, frame: Frame, address: usize) -> Result {
        let environment = &mut self.environment;
        let (rights, attributes) = (Rights::READ_WRITE, Attributes::NO_EXECUTE);
        environment.vspace.map(
            &mut environment.allocator,
            frame,
            address,
            rights,
            attributes,
        )
    }

    /// Lets all other threads run until they are blocked or out of budget.
    pub fn let_others_run(&self) -> Result {
        self.tcb.set_priority(self.tcb, LAST)?;
        self.tcb.set_priority(self.tcb, PRIORITY)
    }

    /// Requests an interrupt after a time.
    pub fn interrupt_in(&self, time: Microseconds) {
        self.runner
            .call(Message::new(SET_TIMER, &[time.0 as usize]));
    }

    /// Acknowledges an interrupt, so that the next one can arrive.
    pub fn acknowledge(&self) {
        self.runner.call(Message::new(SET_TIMER, &[0]));
    }
}
