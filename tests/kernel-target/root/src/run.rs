//! Running one test.

use crate::clock::{self, PATIENCE, PATIENCE_IN_HOST_TIME, QUIET_PATIENCE, Ticker};
use crate::verdict::{How, Verdict};
use abi::slots;
use core::ops::Range;
use suite::support::protocol::{BY_TEST, BY_THREAD, CNODE_BITS, QUIET, Report, names};
use suite::support::{PRIORITY, SLICE};
use userlib::cap::{Endpoint, Frame, Reply, SchedControl, Untyped};
use userlib::environment::SharedPage;
use userlib::environment::names as own;
use userlib::process::{ProcessSize, SharedProgram};
use userlib::time::Clock;
use userlib::{BootInfo, CPtr, Environment, Error, Process, Result, Rights, abi, archive, boot};

/// The size of a test's component, without its memory for objects.
const SIZE: ProcessSize = ProcessSize {
    memory: 1 << 20,
    slots: 1024,
    cnode_bits: CNODE_BITS,
    stack_pages: 24,
    heap_pages: 0,
};
/// Memory for the objects of a test. One test after the other gets the same memory, so that the kernel clears
/// only what a test has used.
const UNTYPED_BITS: usize = 23;

/// Capabilities that cannot be copied: they are moved to each test and back.
const LENT: &[usize] = if abi::config::X86_64 {
    &[slots::IRQ_CONTROL, slots::IO_PORT_CONTROL]
} else {
    &[slots::IRQ_CONTROL]
};

/// The parameter that is not empty if time is the host's.
const REAL_TIME: &str = "real-time";

/// The state of the runner.
pub struct Runner<'a> {
    environment: &'a mut Environment,
    clock: Clock,
    /// Ends tests that take too long.
    ticker: Ticker,
    program: SharedProgram<'static>,
    memory: Untyped,
    /// The endpoint at which tests report their end.
    endpoint: Endpoint,
    reply: Reply,
    report: SharedPage,
    /// Registers of a timer.
    timer: Option<Frame>,
    /// The SchedControl capabilities of secondary cores.
    secondary: Range<usize>,
}

/// Moves a capability from a slot of a process back to its own slot, and deletes what was derived from it.
fn take_back(process: &Process, slot: CPtr, home: CPtr) -> Result {
    let lent = process.cnode.slot(slot);
    lent.revoke()?;
    boot::CNODE.slot(home).move_from(lent)
}

impl<'a> Runner<'a> {
    /// Creates the runner with all resources of the machine.
    pub fn new(environment: &'a mut Environment, boot: &'static BootInfo) -> Result<Self> {
        let program =
            archive::file("kernel-target-component").ok_or(Error::BadProgram("it is not there"))?;
        let clock = Clock::start(environment, boot)?;
        Ok(Self {
            clock,
            ticker: clock::start(environment)?,
            program: SharedProgram::load(environment, program)?,
            memory: environment.allocator.create_sized(UNTYPED_BITS)?,
            endpoint: environment.allocator.create()?,
            reply: environment.allocator.create()?,
            report: environment.create_shared_page()?,
            timer: timer(environment)?,
            secondary: boot.sched_control.start + 1..boot.sched_control.end,
            environment,
        })
    }

    /// The report of the last test.
    pub fn report(&self) -> Report {
        Report(self.report.words)
    }

    /// Runs a test.
    pub fn run(&mut self, group: usize, index: usize) -> Result<Verdict> {
        self.report().clear();
        let mut process = Process::of_shared(self.environment, &self.program, SIZE)?;
        let prepared = self.prepare(&mut process, group, index);
        let verdict = prepared.and_then(|memory| {
            let verdict = process.start().and_then(|()| self.watch());
            take_back(&process, memory, self.memory.0)?;
            verdict
        });
        // In every case, the lent capabilities are moved back, and the component is deleted.
        for &slot in LENT {
            take_back(&process, CPtr(slot), CPtr(slot))?;
        }
        process.destroy(self.environment)?;
        verdict
    }

    /// Gives a test its capabilities and parameters; returns the slot of its memory.
    fn prepare(&mut self, process: &mut Process, group: usize, index: usize) -> Result<CPtr> {
        for &slot in LENT {
            let (lent, home) = (process.cnode.slot(CPtr(slot)), boot::CNODE.slot(CPtr(slot)));
            lent.move_from(home)?;
        }
        let environment = &mut *self.environment;
        process.set_name("test");
        process.give_own_capabilities(environment)?;
        let control = environment.sched_control;
        for (name, capability) in [
            (own::ASID_POOL, boot::ASID_POOL.0),
            (own::SCHED_CONTROL, control.0),
            (names::ROOT_CNODE, boot::CNODE.0),
            (names::ASID_CONTROL, boot::ASID_CONTROL.0),
            (names::DOMAIN, boot::DOMAIN.0),
        ] {
            process.give(environment, name, capability, Rights::ALL)?;
        }
        for (name, control) in names::SCHED_CONTROLS.iter().zip(self.secondary.clone()) {
            process.give(environment, name, CPtr(control), Rights::ALL)?;
        }
        let endpoint = self.endpoint;
        process.give_badged(environment, names::RUNNER, endpoint, Rights::ALL, BY_THREAD)?;
        process.set_fault_endpoint(environment, endpoint, BY_TEST)?;
        process.share(environment, names::REPORT, &self.report, Rights::READ_WRITE)?;
        process.map(
            environment,
            names::BOOT_INFO,
            boot::BOOT_INFO_FRAME,
            Rights::READ,
            userlib::cap::Attributes::NO_EXECUTE,
        )?;
        if let Some(timer) = self.timer {
            let attributes = userlib::cap::Attributes::DEVICE;
            process.map(
                environment,
                names::TIMER,
                timer,
                Rights::READ_WRITE,
                attributes,
            )?;
        }
        self.clock.give(environment, process)?;
        process.give_number(environment, names::GROUP, group)?;
        process.give_number(environment, names::INDEX, index)?;
        process.give_number(environment, names::REAL_TIME, is_in_host_time().into())?;
        process.set_priorities(environment, PRIORITY, u8::MAX)?;
        process.set_criticalities(environment, 0, userlib::abi::MAX_CRITICALITY)?;
        if userlib::abi::MAX_CRITICALITY > 0 {
            // The previous test may have left another level.
            environment.sched_control.set_criticality_level(0)?;
            for control in self.secondary.clone() {
                SchedControl(CPtr(control)).set_criticality_level(0)?;
            }
        }
        let context = process.set_time(environment, &SLICE)?;
        process.give(environment, names::SCHED_CONTEXT, context, Rights::ALL)?;
        process.lend_untyped(environment, self.memory, UNTYPED_BITS)
    }

    /// Waits for the end of a test.
    fn watch(&self) -> Result<Verdict> {
        let usual = match is_in_host_time() {
            true => PATIENCE_IN_HOST_TIME,
            false => PATIENCE,
        };
        let (mut ticks, mut patience) = (0, usual);
        while ticks < patience {
            let received = self.endpoint.recv(self.reply);
            match received.message {
                Some(message) if message.label() == QUIET => {
                    self.ticker.be_silent(self.environment, true)?;
                    (ticks, patience) = (0, QUIET_PATIENCE);
                }
                Some(message) => {
                    if let Some(verdict) = Verdict::of(received.badge, &message) {
                        return self.end(patience, verdict);
                    }
                }
                None => ticks += 1,
            }
        }
        self.end(patience, Verdict::Failed(How::Endless))
    }

    /// Restores the clock to its usual rate for the next test.
    fn end(&self, patience: usize, verdict: Verdict) -> Result<Verdict> {
        if patience == QUIET_PATIENCE {
            self.ticker.be_silent(self.environment, false)?;
        }
        Ok(verdict)
    }
}

/// The registers of a timer, on boards where they are memory-mapped.
#[cfg(any(feature = "devices-imx31", feature = "devices-imx6"))]
fn timer(environment: &mut Environment) -> Result<Option<Frame>> {
    let address = userlib::board::EPIT1;
    environment.allocator.create_device_frame(address).map(Some)
}

/// The timer has I/O ports, or belongs to the core.
#[cfg(not(any(feature = "devices-imx31", feature = "devices-imx6")))]
fn timer(_: &mut Environment) -> Result<Option<Frame>> {
    Ok(None)
}

/// Whether the run is in the host's time.
fn is_in_host_time() -> bool {
    !archive::parameter(REAL_TIME).is_empty()
}
