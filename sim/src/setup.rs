//! The environment of a scenario's root task: the userlib's allocator, threads, devices.

use std::rc::Rc;

use abi::registers::PC;
use abi::{BootInfo, Rights};
use userlib::allocator::Allocator;
use userlib::cap::{
    CPtr, Capability, Endpoint, FixedObject, Frame, IrqHandler, Notification, Registers,
    SchedContext, SchedControl, SchedParameters, Tcb,
};
use userlib::{Microseconds, Thread, boot};

use crate::device::{Arrivals, Interrupt, Timer};
use crate::program::{Body, START};
use crate::stage::stage;

/// A thread that the simulation will add.
pub(crate) struct NewThread {
    pub name: String,
    pub tcb: Tcb,
    pub context: SchedContext,
    pub priority: u8,
    pub time: Option<SchedParameters>,
    pub buffer: usize,
    pub body: Body,
}

/// The resources of the root task. None of its operations takes time.
pub struct Setup {
    /// Slots and memory.
    pub allocator: Allocator,
    /// The capabilities to configure scheduling contexts, one for each core.
    pub sched_controls: Vec<SchedControl>,
    seed: u64,
    lines: usize,
}

impl Setup {
    pub(crate) fn new(boot: &BootInfo, seed: u64) -> Self {
        Self {
            allocator: Allocator::from_boot_info(boot),
            sched_controls: boot::sched_controls(boot).collect(),
            seed,
            lines: 0,
        }
    }

    /// The seed of this run.
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Makes an object.
    ///
    /// # Panics
    /// If memory or slots are exhausted.
    pub fn create<T: FixedObject>(&mut self) -> T {
        self.allocator.create().expect("there is memory")
    }

    /// Copies a capability, with a badge.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn badge<T: Capability>(&mut self, capability: T, badge: usize) -> T {
        let minted = self.allocator.mint(capability, Rights::ALL, badge);
        minted.expect("the capability can be minted")
    }

    /// Makes a scheduling context of the first core.
    ///
    /// # Panics
    /// If the parameters are invalid.
    pub fn context(&mut self, time: &SchedParameters) -> SchedContext {
        self.context_on(0, time)
    }

    /// The same of any core.
    ///
    /// # Panics
    /// If the parameters are invalid, or there is no such core.
    pub fn context_on(&mut self, core: usize, time: &SchedParameters) -> SchedContext {
        let bits = time.size_bits();
        let context = self.allocator.create_sized(bits).expect("there is memory");
        let configured = self.sched_controls[core].configure(context, time);
        configured.unwrap_or_else(|error| panic!("{time:?}: {error:?}"));
        context
    }

    /// Describes a thread; [`ThreadBuilder::run`] makes it.
    pub fn thread(&mut self, name: impl Into<String>, priority: u8) -> ThreadBuilder<'_> {
        ThreadBuilder {
            name: name.into(),
            priority,
            criticality: 0,
            core: 0,
            time: Some(SchedParameters::round_robin(Microseconds::from_millis(5))),
            lender: None,
            bound: None,
            fault_endpoint: CPtr::NULL,
            timeout_endpoint: CPtr::NULL,
            setup: self,
        }
    }

    /// A device. `arrivals` returns the time of its next interrupt, given that of the last one.
    ///
    /// # Panics
    /// If no lines are left.
    pub fn device(
        &mut self,
        arrivals: impl FnMut(Microseconds) -> Option<Microseconds> + 'static,
    ) -> Interrupt {
        self.line(Box::new(arrivals)).1
    }

    /// A timer for threads.
    ///
    /// # Panics
    /// As [`Setup::device`].
    pub fn timer(&mut self) -> Timer {
        let (line, interrupt) = self.line(Box::new(|_| None));
        Timer { interrupt, line }
    }

    fn line(&mut self, arrivals: Arrivals) -> (usize, Interrupt) {
        let notification = self.create();
        // Lines and bits have the same numbers.
        let (line, handler) = self.interrupt(notification, self.lines + 1, arrivals);
        let interrupt = Interrupt {
            notification,
            handler,
        };
        (line, interrupt)
    }

    /// A device whose interrupts signal a bit of a notification: its line and its handler.
    ///
    /// # Panics
    /// As [`Setup::device`].
    pub(crate) fn interrupt(
        &mut self,
        notification: Notification,
        bit: usize,
        arrivals: Arrivals,
    ) -> (usize, IrqHandler) {
        self.lines += 1;
        let slot = self.allocator.allocate_slot().expect("there are slots");
        let issued = boot::IRQ_CONTROL.get(self.lines, slot);
        issued.expect("there are 14 interrupt lines");
        let handler = IrqHandler::at(CPtr(slot.index));
        let badged = self.badge(notification, 1 << bit);
        let set = handler.set_notification(badged);
        set.expect("a notification can be signalled");
        stage().devices.borrow_mut().add(self.lines, arrivals);
        (self.lines, handler)
    }
}

/// A builder for a thread: by default on the first core, round robin with slices of 5 ms, and without handlers.
pub struct ThreadBuilder<'a> {
    setup: &'a mut Setup,
    name: String,
    priority: u8,
    criticality: u8,
    core: usize,
    time: Option<SchedParameters>,
    lender: Option<Notification>,
    bound: Option<Notification>,
    fault_endpoint: CPtr,
    timeout_endpoint: CPtr,
}

impl ThreadBuilder<'_> {
    /// Sets the thread's scheduling parameters.
    #[must_use]
    pub fn time(self, time: SchedParameters) -> Self {
        let time = Some(time);
        Self { time, ..self }
    }

    /// Sets the thread's criticality.
    #[must_use]
    pub fn criticality(self, criticality: u8) -> Self {
        Self {
            criticality,
            ..self
        }
    }

    /// Sets the thread's core, and that of its scheduling context.
    #[must_use]
    pub fn on_core(self, core: usize) -> Self {
        Self { core, ..self }
    }

    /// The thread has a scheduling context until its first receive, as `userlib::server::Passive`
    /// lends it, and then runs on its callers' contexts.
    #[must_use]
    pub fn passive(self) -> Self {
        let lender = self.setup.create();
        self.lent_by(lender)
    }

    /// The same by a notification with other uses, of which each signal lends the context.
    #[must_use]
    pub fn lent_by(self, lender: Notification) -> Self {
        let lender = Some(lender);
        Self { lender, ..self }
    }

    /// Binds a notification, which signals it while it receives.
    #[must_use]
    pub fn signalled_by(self, notification: Notification) -> Self {
        let bound = Some(notification);
        Self { bound, ..self }
    }

    /// Sets the handler of the thread's faults and its end.
    #[must_use]
    pub fn on_fault(self, endpoint: Endpoint) -> Self {
        let fault_endpoint = endpoint.cptr();
        Self {
            fault_endpoint,
            ..self
        }
    }

    /// Sets the handler of the thread's timeouts.
    #[must_use]
    pub fn on_timeout(self, endpoint: Endpoint) -> Self {
        let timeout_endpoint = endpoint.cptr();
        Self {
            timeout_endpoint,
            ..self
        }
    }

    /// Makes the thread. It starts when the root task is done, and restarts from the beginning
    /// whenever its program counter is set to [`START`].
    ///
    /// # Panics
    /// If memory or slots are exhausted.
    pub fn run(self, body: impl Fn() + 'static) -> Thread {
        let thread = self.start(Rc::new(body));
        thread.expect("a thread can be made")
    }

    /// Makes the thread, as [`ThreadBuilder::run`] does. It repeats `body` for ever.
    ///
    /// # Panics
    /// As [`ThreadBuilder::run`].
    pub fn repeat(self, body: impl Fn() + 'static) -> Thread {
        self.run(move || {
            loop {
                body();
            }
        })
    }

    fn start(self, body: Body) -> userlib::Result<Thread> {
        let Self {
            setup,
            priority,
            time,
            ..
        } = self;
        let tcb: Tcb = setup.create();
        let frame: Frame = setup.create();
        // There is no address translation: the frame's physical address is its address.
        let buffer = frame.physical_address()?;
        let cnode = setup.allocator.cnode();
        tcb.configure(cnode, 0, boot::VSPACE, buffer, frame)?;
        let context = match &time {
            Some(time) => setup.context_on(self.core, time),
            None => SchedContext(CPtr::NULL),
        };
        if let Some(notification) = self.lender {
            context.bind_notification(notification)?;
        }
        if let Some(notification) = self.bound.or(self.lender) {
            tcb.bind_notification(notification)?;
        }
        tcb.set_sched_params(boot::TCB, 255, priority, context, self.fault_endpoint)?;
        if self.criticality > 0 {
            tcb.set_criticality(boot::TCB, self.criticality)?;
        }
        tcb.set_timeout_endpoint(self.timeout_endpoint)?;
        let mut registers = Registers::default();
        registers.0[PC] = START;
        tcb.write_registers(true, &registers)?;
        stage().spawned.borrow_mut().push(NewThread {
            name: self.name,
            tcb,
            context,
            priority,
            time: time.filter(|_| self.lender.is_none()),
            buffer,
            body,
        });
        Ok(Thread {
            tcb,
            sched_context: context,
        })
    }
}
