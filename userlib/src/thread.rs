//! Further threads in the caller's own address space.

use crate::cap::{Attributes, CPtr, Frame, SchedContext, SchedParameters, Tcb};
use crate::environment::PAGE;
use crate::{Environment, Result, Rights, arch};

/// Pages of a thread's stack.
const STACK_PAGES: usize = 4;

/// A thread in the caller's own address space and CSpace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its TCB.
    pub tcb: Tcb,
    /// Its scheduling context; null for a passive thread.
    pub sched_context: SchedContext,
}

/// Parameters of a new thread.
#[derive(Clone, Copy, Debug)]
pub struct ThreadParameters {
    /// Its priority.
    pub priority: u8,
    /// Its scheduling parameters; `None` for a passive thread.
    pub time: Option<SchedParameters>,
    /// The endpoint that receives its faults and its exit; may be null.
    pub fault_endpoint: CPtr,
}

impl Environment {
    /// Creates a thread that will run `work` after [`Thread::start`]. When `work` returns, the thread exits
    /// with a fault. Its stack and objects are freed only with the component.
    pub fn create_thread<F: FnOnce() + Send + 'static>(
        &mut self,
        parameters: &ThreadParameters,
        work: F,
    ) -> Result<Thread> {
        let ipc_buffer: Frame = self.allocator.create()?;
        let ipc_buffer_address =
            self.map(ipc_buffer, Rights::READ_WRITE, Attributes::NO_EXECUTE)?;
        let stack = self.map_new(STACK_PAGES)?;

        // The closure is stored at the top of the stack on which it will run.
        let top = stack + STACK_PAGES * PAGE - size_of::<F>();
        let top = top & !(align_of::<F>().max(16) - 1);
        assert!(top > stack, "the closure is larger than a stack");
        // SAFETY: the memory is mapped, large enough and aligned, and nothing else accesses it.
        unsafe { (top as *mut F).write(work) };

        let tcb: Tcb = self.allocator.create()?;
        let cnode = self.allocator.cnode();
        tcb.configure(cnode, 0, self.vspace, ipc_buffer_address, ipc_buffer)?;
        let sched_context = match &parameters.time {
            Some(time) => self.create_sched_context(time)?,
            None => SchedContext(CPtr::NULL),
        };
        tcb.set_sched_params(
            self.tcb,
            parameters.priority,
            parameters.priority,
            sched_context,
            parameters.fault_endpoint,
        )?;
        let registers = arch::initial_registers(
            run::<F> as *const () as usize,
            arch::initial_stack(top),
            ipc_buffer_address,
            [top, ipc_buffer_address],
        );
        tcb.write_registers(false, &registers)?;
        Ok(Thread { tcb, sched_context })
    }

    /// Creates and starts a thread.
    pub fn spawn<F: FnOnce() + Send + 'static>(
        &mut self,
        parameters: &ThreadParameters,
        work: F,
    ) -> Result<Thread> {
        let thread = self.create_thread(parameters, work)?;
        thread.start()?;
        Ok(thread)
    }
}

impl Thread {
    /// Names the thread for messages of debug kernels.
    pub fn set_name(&self, name: &str) {
        self.tcb.set_name(name);
    }

    /// Starts the thread.
    pub fn start(&self) -> Result {
        self.tcb.resume()
    }
}

/// The first function of a new thread.
extern "C" fn run<F: FnOnce()>(work: usize, ipc_buffer: usize) -> ! {
    // SAFETY: the creator mapped the buffer and registered it with the kernel.
    unsafe { arch::set_ipc_buffer_address(ipc_buffer) };
    // SAFETY: the creator wrote the closure there, and it is read only here: once, or again if the thread starts again,
    // for which it must be `Copy`.
    let work = unsafe { (work as *const F).read() };
    work();
    crate::runtime::exit_thread(0)
}
