//! Runs one variant of a benchmark.

use crate::counter::{self, Counter};
use suites::MAX_CORES;
use suites::protocol::{BY_BENCHMARK, BY_CALLER, BY_PARTNER, PRIORITY, SET_TIMER, names};
use userlib::cap::{Attributes, Endpoint, Notification, Reply, SchedContext, SchedParameters};
use userlib::drivers::BoardTimer;
use userlib::environment::{SharedPage, names as own};
use userlib::process::ProcessSize;
use userlib::time::Clock;
use userlib::{
    BootInfo, CPtr, Capability, Environment, Error, Fault, Message, Microseconds, Outcome, Process,
    Result, Rights, archive, boot,
};

/// Size of a benchmark's component: the program, and memory for its objects.
const SIZE: ProcessSize = ProcessSize {
    memory: 1 << 25,
    slots: 1024,
    cnode_bits: 13,
    stack_pages: 64,
    heap_pages: 0,
};
/// Memory for the objects that a benchmark creates.
const UNTYPED_BITS: usize = 24;
/// The benchmark's partner creates no objects.
const PARTNER_SIZE: ProcessSize = ProcessSize {
    memory: 1 << 22,
    slots: 512,
    ..SIZE
};

/// Long timeslices, so that none ends during a measured operation.
const TIME: SchedParameters = SchedParameters::round_robin(Microseconds::from_millis(1000));

/// The parameter with the most attackers of a benchmark; if empty, there is no limit.
const ATTACKERS: &str = "attackers";

/// The resources for running benchmarks.
pub struct Runner<'a> {
    environment: &'a mut Environment,
    program: &'static [u8],
    /// Receives exits of benchmarks and requests for interrupts.
    endpoint: Endpoint,
    reply: Reply,
    timer: BoardTimer,
    clock: Clock,
    counter: Option<Counter>,
    megahertz: usize,
    cores: usize,
}

impl<'a> Runner<'a> {
    /// Takes the program, objects and devices that are needed.
    pub fn new(environment: &'a mut Environment, boot: &'static BootInfo) -> Result<Self> {
        let program = archive::file("benches-component");
        Ok(Self {
            program: program.ok_or(Error::BadProgram("it is not there"))?,
            endpoint: environment.allocator.create()?,
            reply: environment.allocator.create()?,
            timer: BoardTimer::open(environment)?,
            clock: Clock::start(environment, boot)?,
            counter: counter::find(environment)?,
            megahertz: counter::megahertz(boot),
            cores: boot.sched_control.len(),
            environment,
        })
    }

    /// Runs one variant of a benchmark.
    pub fn run(&mut self, suite: usize, benchmark: usize, variant: usize) -> Result<Outcome> {
        let mut process = Process::with_size(self.environment, self.program, SIZE)?;
        let mut partner = Process::with_size(self.environment, self.program, PARTNER_SIZE)?;
        for (name, number) in [
            (names::SUITE, suite),
            (names::BENCHMARK, benchmark),
            (names::VARIANT, variant),
            (names::CORES, self.cores),
            (names::MEGAHERTZ, self.megahertz),
        ] {
            process.give_number(self.environment, name, number)?;
        }
        if let Ok(most) = archive::parameter(ATTACKERS).parse() {
            process.give_number(self.environment, names::ATTACKERS, most)?;
        }
        let shared = self.environment.create_shared_page()?;
        self.connect(&mut process, &mut partner, &shared)?;
        self.prepare(&mut process, &mut partner)?;
        process.start()?;
        let outcome = self.serve();
        partner.destroy(self.environment)?;
        process.destroy(self.environment)?;
        self.environment.allocator.delete(shared.frame)?;
        outcome
    }

    /// Gives both components their shared objects.
    fn connect(
        &mut self,
        process: &mut Process,
        partner: &mut Process,
        shared: &SharedPage,
    ) -> Result {
        let environment = &mut *self.environment;
        let allocator = &mut environment.allocator;
        let endpoint: Endpoint = allocator.create()?;
        let notifications: [Notification; 2] = [allocator.create()?, allocator.create()?];
        let replies: [Reply; 2] = [allocator.create()?, allocator.create()?];
        for (member, reply) in [(&mut *process, replies[0]), (&mut *partner, replies[1])] {
            for (name, capability) in [
                (names::ENDPOINT, endpoint.cptr()),
                (names::NOTIFICATION, notifications[0].cptr()),
                (names::BACK, notifications[1].cptr()),
                (names::REPLY, reply.cptr()),
            ] {
                member.give(environment, name, capability, Rights::ALL)?;
            }
            member.share(environment, names::SHARED, shared, Rights::READ_WRITE)?;
            if let Some((frame, offset)) = self.counter {
                let (rights, attributes) = (Rights::READ, Attributes::DEVICE);
                member.map(environment, names::COUNTER, frame, rights, attributes)?;
                member.give_number(environment, names::COUNTER_OFFSET, offset)?;
            }
        }
        for capability in [endpoint.cptr(), replies[0].cptr(), replies[1].cptr()]
            .into_iter()
            .chain(notifications.map(Capability::cptr))
        {
            environment.allocator.delete(capability)?;
        }
        Ok(())
    }

    /// Gives the benchmark its resources, including its partner, which is ready to be started.
    fn prepare(&mut self, process: &mut Process, partner: &mut Process) -> Result {
        let environment = &mut *self.environment;
        partner
            .tcb
            .write_registers(false, &partner.initial_registers())?;
        partner.set_fault_endpoint(environment, self.endpoint, BY_PARTNER)?;
        let partner_time: SchedContext = partner.set_time(environment, &TIME)?;
        partner_time.unbind()?;

        process.give_own_capabilities(environment)?;
        process.set_fault_endpoint(environment, self.endpoint, BY_BENCHMARK)?;
        process.set_priorities(environment, PRIORITY, u8::MAX - 1)?;
        process.set_criticalities(environment, 0, userlib::abi::MAX_CRITICALITY)?;
        let time = process.set_time(environment, &TIME)?;
        process.give(environment, names::TIME, time.cptr(), Rights::ALL)?;
        for (name, capability) in [
            (own::ASID_POOL, boot::ASID_POOL.cptr()),
            (names::PARTNER, partner.tcb.cptr()),
            (names::PARTNER_TIME, partner_time.cptr()),
            (names::INTERRUPT, self.timer.notification().cptr()),
        ] {
            process.give(environment, name, capability, Rights::ALL)?;
        }
        // All under one name, in contiguous slots.
        let first = environment.sched_control.cptr().0;
        for core in 0..self.cores.min(MAX_CORES) {
            let control = CPtr(first + core);
            process.give(environment, own::SCHED_CONTROL, control, Rights::ALL)?;
        }
        self.timer.give(environment, process)?;
        self.clock.give(environment, process)?;
        let endpoint = self.endpoint;
        process.give_badged(environment, names::RUNNER, endpoint, Rights::ALL, BY_CALLER)?;
        // Last, because it takes the remaining memory.
        process.give_untyped(environment, UNTYPED_BITS)?;
        Ok(())
    }

    /// Handles requests for interrupts until the benchmark has exited.
    fn serve(&mut self) -> Result<Outcome> {
        loop {
            let received = self.endpoint.recv(self.reply);
            let Some(message) = received.message else {
                continue;
            };
            if received.badge != BY_CALLER || message.label() != SET_TIMER {
                return Ok(Outcome::from(Fault::from_message(&message)));
            }
            match message.word(0) {
                0 => self.timer.acknowledge()?,
                time => self.timer.set(Microseconds(time as u64))?,
            }
            self.reply.send(Message::empty(0));
        }
    }
}
