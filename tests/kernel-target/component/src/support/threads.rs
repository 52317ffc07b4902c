//! Threads of a test, and how its first thread waits for them.

use super::Test;
use kernel_scenarios::LAST;
use userlib::cap::{Endpoint, SchedParameters, Tcb};
use userlib::thread::ThreadParameters;
use userlib::{CPtr, Capability, Microseconds, Result, Thread, syscall};

/// The priority of a test's first thread, whose maximum controlled priority is 255, one above and one below.
pub use kernel_scenarios::{ABOVE, BELOW, PRIORITY};

/// Scheduling parameters of threads in tests that are not about time: round robin with timeslices of 5 ms.
pub const SLICE: SchedParameters = SchedParameters::round_robin(ms(5));

/// Milliseconds.
pub const fn ms(milliseconds: u64) -> Microseconds {
    Microseconds::from_millis(milliseconds)
}

/// Microseconds.
pub const fn us(microseconds: u64) -> Microseconds {
    Microseconds(microseconds)
}

impl Test {
    /// Makes a thread; [`Thread::start`] starts it. Its faults go to `fault_endpoint`.
    pub fn thread_with<F: FnOnce() + Send + 'static>(
        &mut self,
        priority: u8,
        time: Option<SchedParameters>,
        fault_endpoint: impl Capability,
        work: F,
    ) -> Result<Thread> {
        let parameters = ThreadParameters {
            priority,
            time,
            fault_endpoint: fault_endpoint.cptr(),
        };
        self.create_thread(&parameters, work)
    }

    /// Makes a thread with a scheduling context of its own.
    pub fn thread<F: FnOnce() + Send + 'static>(
        &mut self,
        priority: u8,
        work: F,
    ) -> Result<Thread> {
        self.thread_with(priority, Some(SLICE), self.faults, work)
    }

    /// Makes a thread with the given scheduling parameters.
    pub fn timed<F: FnOnce() + Send + 'static>(
        &mut self,
        priority: u8,
        time: SchedParameters,
        work: F,
    ) -> Result<Thread> {
        self.thread_with(priority, Some(time), self.faults, work)
    }

    /// Makes a passive thread.
    pub fn passive<F: FnOnce() + Send + 'static>(
        &mut self,
        priority: u8,
        work: F,
    ) -> Result<Thread> {
        self.thread_with(priority, None, self.faults, work)
    }

    /// Makes a thread with a scheduling context of its own and starts it.
    pub fn spawn<F: FnOnce() + Send + 'static>(&mut self, priority: u8, work: F) -> Result<Thread> {
        let thread = self.thread(priority, work)?;
        thread.start()?;
        Ok(thread)
    }

    /// Makes a passive thread and gives it a scheduling context until it waits.
    ///
    /// `work` must begin with a receive: then the context is unbound.
    pub fn spawn_passive<F: FnOnce() + Send + 'static>(
        &mut self,
        priority: u8,
        work: F,
    ) -> Result<Thread> {
        self.spawn_passive_with(priority, self.faults, work)
    }

    /// The same, with a fault endpoint.
    pub fn spawn_passive_with<F: FnOnce() + Send + 'static>(
        &mut self,
        priority: u8,
        fault_endpoint: Endpoint,
        work: F,
    ) -> Result<Thread> {
        let thread = self.thread_with(priority, None, fault_endpoint, work)?;
        let time = self.create_sched_context(&SLICE)?;
        time.bind(thread.tcb)?;
        thread.start()?;
        self.let_others_run()?;
        time.unbind_object(thread.tcb)?;
        Ok(thread)
    }

    /// Makes a bare thread of this address space and CSpace: no register values, no buffer, no scheduling
    /// context.
    pub fn bare_thread(&mut self) -> Result<Tcb> {
        let tcb: Tcb = self.create()?;
        let cnode = self.allocator.cnode();
        tcb.set_space(CPtr::NULL, cnode, 0, self.vspace)?;
        Ok(tcb)
    }

    /// Lets all other threads run until they wait, or have no budget.
    pub fn let_others_run(&mut self) -> Result {
        self.tcb.set_priority(self.tcb, LAST)?;
        self.tcb.set_priority(self.tcb, PRIORITY)
    }

    /// Sleeps for a time: until the end of a period of this length.
    pub fn sleep(&mut self, time: Microseconds) -> Result {
        let nap = SchedParameters::new(ms(1), time);
        self.sched_control.configure(self.sched_context, &nap)?;
        syscall::yield_now();
        self.sched_control.configure(self.sched_context, &SLICE)
    }
}
