//! Processes: components in address spaces of their own.
//!
//! A parent creates a process, loads a program, gives it capabilities, memory and numbers by name
//! ([`crate::Startup`]), sets its fault endpoint and scheduling parameters, and starts it. All objects of the
//! process come from one arena, so that [`Process::destroy`] frees all of them.
//!
//! The CSpace of a process has the layout of the initial thread's: slot 2 is for its CNode, and so on;
//! capabilities that the parent gives are in the slots from 16 on.

mod gifts;
mod high_water;
mod inspection;
mod parts;
mod reset;
mod shared_program;

pub use high_water::HighWater;
pub use inspection::Inspection;
pub use reset::Complete;
pub use shared_program::SharedProgram;

use crate::allocator::Arena;
use crate::cap::{
    CNode, CPtr, Endpoint, Frame, Registers, SchedContext, SchedParameters, Tcb, Untyped, VSpace,
};
use crate::environment::PAGE;
use crate::loader::Program;
use crate::startup::{self, RecordKind};
use crate::{Environment, Result, arch};
use abi::{Rights, slots};
use core::ops::Range;
use parts::{IPC_BUFFER, Parts, STACK_TOP, STARTUP};
use reset::Writable;

/// Address of the first shared page in a process's address space. If it is a parent itself, it maps what it creates
/// after that, from [`FREE_ADDRESSES`](crate::environment::FREE_ADDRESSES) on.
const SHARED: usize = 0x5100_0000;
/// The most pages that a process can share.
pub const MOST_SHARED_PAGES: usize = (crate::environment::FREE_ADDRESSES - SHARED) / PAGE;

/// Address of its heap.
const HEAP: usize = 0x9000_0000;
/// The most pages of its heap, which ends before the kernel's addresses on 32-bit processors.
pub const MOST_HEAP_PAGES: usize = 0x4000_0000 / PAGE;

/// Size of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessSize {
    /// Bytes of its arena, which contains all of its objects.
    pub memory: usize,
    /// The most slots of the parent's CSpace that its objects may use.
    pub slots: usize,
    /// log2 of the number of slots of its own CNode.
    pub cnode_bits: usize,
    /// Pages of its stack.
    pub stack_pages: usize,
    /// Pages of its heap.
    pub heap_pages: usize,
}

impl ProcessSize {
    /// The stack of the first thread in the process's address space.
    pub const fn stack(&self) -> Range<usize> {
        STACK_TOP - self.stack_pages * PAGE..STACK_TOP
    }
}

impl Default for ProcessSize {
    fn default() -> Self {
        Self {
            memory: 1 << 20,
            slots: 192,
            cnode_bits: 8,
            stack_pages: 4,
            heap_pages: 0,
        }
    }
}

/// A process.
pub struct Process {
    /// Its first thread.
    pub tcb: Tcb,
    /// Its address space.
    pub vspace: VSpace,
    /// The root of its CSpace; addresses in it are slot numbers of depth [`abi::WORD_BITS`].
    pub cnode: CNode,
    /// Its scheduling context, if it has one of its own.
    pub sched_context: Option<SchedContext>,
    arena: Arena,
    startup_frame: Frame,
    cnode_bits: usize,
    next_slot: usize,
    next_shared: usize,
    entry: usize,
    thread_memory: Untyped,
    ipc_buffer: Frame,
    writable: Writable,
}

impl Process {
    /// Creates a process of the default size and loads `program`, an ELF file.
    pub fn new(environment: &mut Environment, program: &[u8]) -> Result<Self> {
        Self::with_size(environment, program, ProcessSize::default())
    }

    /// Creates a process and loads `program`, an ELF file.
    pub fn with_size(
        environment: &mut Environment,
        program: &[u8],
        size: ProcessSize,
    ) -> Result<Self> {
        let program = SharedProgram::unshared(Program::parse(program)?);
        Self::of_shared(environment, &program, size)
    }

    /// Creates a process of a program that shares its constant segments with others.
    pub fn of_shared(
        environment: &mut Environment,
        program: &SharedProgram,
        size: ProcessSize,
    ) -> Result<Self> {
        let mut arena = environment.allocator.split_bytes(size.memory, size.slots)?;
        let parts = match Parts::build(environment, &mut arena, program, size) {
            Ok(parts) => parts,
            Err(error) => {
                environment.allocator.reclaim(arena)?;
                return Err(error);
            }
        };
        let mut process = Self {
            tcb: parts.tcb,
            vspace: parts.vspace,
            cnode: parts.cnode,
            sched_context: None,
            arena,
            startup_frame: parts.startup_frame,
            cnode_bits: size.cnode_bits,
            next_slot: slots::FIRST_DYNAMIC,
            next_shared: SHARED,
            entry: program.program.entry(),
            thread_memory: parts.thread_memory,
            ipc_buffer: parts.ipc_buffer,
            writable: parts.writable,
        };
        if size.heap_pages > 0 {
            let bytes = size.heap_pages * PAGE;
            process.record(environment, startup::HEAP, RecordKind::Heap, HEAP, bytes)?;
        }
        Ok(process)
    }

    /// Names the first thread for messages of debug kernels.
    pub fn set_name(&self, name: &str) {
        self.tcb.set_name(name);
    }

    /// Sets the endpoint, with `badge`, that receives the process's faults and its exit.
    pub fn set_fault_endpoint(
        &mut self,
        environment: &mut Environment,
        endpoint: Endpoint,
        badge: usize,
    ) -> Result {
        let handler = self.mint(environment, endpoint, badge)?;
        self.tcb.set_space(handler, self.cnode, 0, self.vspace)
    }

    /// Sets the endpoint, with `badge`, that receives the process's timeout faults.
    pub fn set_timeout_endpoint(
        &mut self,
        environment: &mut Environment,
        endpoint: Endpoint,
        badge: usize,
    ) -> Result {
        let handler = self.mint(environment, endpoint, badge)?;
        self.tcb.set_timeout_endpoint(handler)
    }

    fn mint(
        &mut self,
        environment: &mut Environment,
        endpoint: Endpoint,
        badge: usize,
    ) -> Result<Endpoint> {
        let slot = self.arena.allocator.allocate_slot()?;
        slot.mint_from(environment.allocator.slot(endpoint), Rights::ALL, badge)?;
        Ok(Endpoint(CPtr(slot.index)))
    }

    /// Sets priority and maximum controlled priority.
    pub fn set_priorities(
        &mut self,
        environment: &Environment,
        priority: u8,
        mc_priority: u8,
    ) -> Result {
        self.tcb.set_mc_priority(environment.tcb, mc_priority)?;
        self.tcb.set_priority(environment.tcb, priority)
    }

    /// Sets criticality and maximum controlled criticality.
    pub fn set_criticalities(
        &mut self,
        environment: &Environment,
        criticality: u8,
        mc_criticality: u8,
    ) -> Result {
        self.tcb
            .set_mc_criticality(environment.tcb, mc_criticality)?;
        self.tcb.set_criticality(environment.tcb, criticality)
    }

    /// Creates and binds a scheduling context for the process, or configures its present one.
    pub fn set_time(
        &mut self,
        environment: &mut Environment,
        parameters: &SchedParameters,
    ) -> Result<SchedContext> {
        if let Some(context) = self.sched_context {
            environment.sched_control.configure(context, parameters)?;
            return Ok(context);
        }
        let bits = parameters.size_bits();
        let context: SchedContext = self.arena.allocator.create_sized(bits)?;
        environment.sched_control.configure(context, parameters)?;
        context.bind(self.tcb)?;
        self.sched_context = Some(context);
        Ok(context)
    }

    /// The initial registers of the process, with which a timeout handler can also restart it. Its memory is
    /// not reset.
    pub fn initial_registers(&self) -> Registers {
        initial_registers(self.entry)
    }

    /// Starts the process.
    pub fn start(&self) -> Result {
        self.tcb.write_registers(true, &self.initial_registers())
    }

    /// Deletes all objects of the process and reclaims its memory.
    pub fn destroy(self, environment: &mut Environment) -> Result {
        environment.allocator.reclaim(self.arena)
    }
}

fn initial_registers(entry: usize) -> Registers {
    arch::initial_registers(entry, STACK_TOP, IPC_BUFFER, [STARTUP, 0])
}
