//! Processes: components in address spaces of their own.
//!
//! A parent creates a process, loads a program, hands out capabilities, memory and numbers by name
//! ([`Startup`]), says who hears of faults and what time it gets, and starts it. All that the process
//! is made of comes from one arena, so that [`Process::destroy`] leaves nothing behind.
//!
//! The CSpace of a process begins like that of the initial thread: slot 2 is for its CNode, and so on;
//! what the parent gives lies from slot 16 up.

use crate::allocator::Arena;
use crate::cap::{
    Attributes, CNode, CPtr, Capability, Endpoint, Frame, Registers, SchedContext, SchedParameters,
    Tcb, VSpace,
};
use crate::environment::{PAGE, SharedPage, names};
use crate::loader::Program;
use crate::startup::{RecordKind, Startup};
use crate::{Environment, Error, Result, arch};
use abi::{Rights, SlotRegion, slots};

/// Layout of a process's address space above the program: each part with an empty page around it.
const STACK_TOP: usize = 0x4fff_0000;
const IPC_BUFFER: usize = 0x5000_0000;
const STARTUP: usize = 0x5000_2000;
const SHARED: usize = 0x5100_0000;

/// How large a process is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessSize {
    /// log2 of the bytes of its arena, from which everything is made.
    pub memory_bits: usize,
    /// Slots of the parent's CNode that its objects may take.
    pub slots: usize,
    /// log2 of the slots of its own CNode.
    pub cnode_bits: usize,
    /// Pages of its stack.
    pub stack_pages: usize,
}

impl Default for ProcessSize {
    fn default() -> Self {
        Self {
            memory_bits: 20,
            slots: 192,
            cnode_bits: 8,
            stack_pages: 4,
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
}

impl Process {
    /// Makes a process of the usual size and loads `program`, an ELF file.
    pub fn new(environment: &mut Environment, program: &[u8]) -> Result<Self> {
        Self::with_size(environment, program, ProcessSize::default())
    }

    /// Makes a process and loads `program`, an ELF file.
    pub fn with_size(
        environment: &mut Environment,
        program: &[u8],
        size: ProcessSize,
    ) -> Result<Self> {
        let program = Program::parse(program)?;
        let mut arena = environment.allocator.split(size.memory_bits, size.slots)?;
        match Parts::build(environment, &mut arena, &program, size) {
            Ok(parts) => Ok(Self {
                tcb: parts.tcb,
                vspace: parts.vspace,
                cnode: parts.cnode,
                sched_context: None,
                arena,
                startup_frame: parts.startup_frame,
                cnode_bits: size.cnode_bits,
                next_slot: slots::FIRST_DYNAMIC,
                next_shared: SHARED,
                entry: program.entry(),
            }),
            Err(error) => {
                environment.allocator.reclaim(arena)?;
                Err(error)
            }
        }
    }

    /// Gives a copy of a capability, with no more than `rights`, under a name.
    pub fn give(
        &mut self,
        environment: &mut Environment,
        name: &str,
        capability: impl Capability,
        rights: Rights,
    ) -> Result<CPtr> {
        let slot = self.next_slot;
        let source = environment.allocator.slot(capability);
        self.cnode.slot(CPtr(slot)).copy_from(source, rights)?;
        self.record_slot(environment, name)
    }

    /// Gives a copy of a capability with a badge, under a name.
    pub fn give_badged(
        &mut self,
        environment: &mut Environment,
        name: &str,
        capability: impl Capability,
        rights: Rights,
        badge: usize,
    ) -> Result<CPtr> {
        let slot = self.next_slot;
        let source = environment.allocator.slot(capability);
        self.cnode
            .slot(CPtr(slot))
            .mint_from(source, rights, badge)?;
        self.record_slot(environment, name)
    }

    fn record_slot(&mut self, environment: &mut Environment, name: &str) -> Result<CPtr> {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.record(environment, name, RecordKind::Capability, slot, 0)?;
        Ok(CPtr(slot))
    }

    /// Gives 2^`size_bits` bytes of untyped memory from the process's own arena.
    pub fn give_untyped(
        &mut self,
        environment: &mut Environment,
        size_bits: usize,
    ) -> Result<CPtr> {
        let untyped: crate::cap::Untyped = self.arena.allocator.create_sized(size_bits)?;
        let slot = self.next_slot;
        let source = environment.allocator.slot(untyped);
        self.cnode.slot(CPtr(slot)).move_from(source)?;
        self.next_slot += 1;
        self.record(environment, "untyped", RecordKind::Untyped, slot, size_bits)?;
        Ok(CPtr(slot))
    }

    /// Gives what a component needs to make objects and threads of its own ([`names`]); processes
    /// too if the parent's pool for address spaces is included.
    pub fn give_own_capabilities(&mut self, environment: &mut Environment) -> Result {
        let own: [(&str, CPtr, usize); 3] = [
            (names::TCB, self.tcb.cptr(), slots::INIT_THREAD_TCB),
            (names::CNODE, self.cnode.cptr(), slots::INIT_THREAD_CNODE),
            (names::VSPACE, self.vspace.cptr(), slots::INIT_THREAD_VSPACE),
        ];
        for (name, capability, slot) in own {
            let source = environment.allocator.slot(capability);
            self.cnode.slot(CPtr(slot)).copy_from(source, Rights::ALL)?;
            self.record(environment, name, RecordKind::Capability, slot, 0)?;
        }
        Ok(())
    }

    /// Maps a page that the parent shares, under a name.
    pub fn share(
        &mut self,
        environment: &mut Environment,
        name: &str,
        page: &SharedPage,
        rights: Rights,
    ) -> Result<usize> {
        self.map(
            environment,
            name,
            page.frame,
            rights,
            Attributes::NO_EXECUTE,
        )
    }

    /// Maps a copy of a frame of the smallest size, under a name; the address.
    pub fn map(
        &mut self,
        environment: &mut Environment,
        name: &str,
        frame: Frame,
        rights: Rights,
        attributes: Attributes,
    ) -> Result<usize> {
        // Copies belong to the arena's slots, so that they go with the process.
        let slot = self.arena.allocator.allocate_slot()?;
        slot.copy_from(environment.allocator.slot(frame), Rights::READ_WRITE)?;
        let address = self.next_shared;
        self.next_shared += PAGE;
        let allocator = &mut self.arena.allocator;
        let copy = Frame(CPtr(slot.index));
        self.vspace
            .map(allocator, copy, address, rights, attributes)?;
        self.record(environment, name, RecordKind::Memory, address, PAGE)?;
        Ok(address)
    }

    /// Gives a number under a name.
    pub fn give_number(
        &mut self,
        environment: &mut Environment,
        name: &str,
        value: usize,
    ) -> Result {
        self.record(environment, name, RecordKind::Number, value, 0)
    }

    fn record(
        &mut self,
        environment: &mut Environment,
        name: &str,
        kind: RecordKind,
        value: usize,
        size: usize,
    ) -> Result {
        let empty = SlotRegion {
            start: self.next_slot,
            end: 1 << self.cnode_bits,
        };
        let added = edit_startup(environment, self.startup_frame, |startup| {
            startup.set_empty(empty);
            startup.add(name, kind, value, size)
        })?;
        if added {
            Ok(())
        } else {
            Err(Error::OutOfResources)
        }
    }

    /// Sends faults, and the news of the process's end, to `endpoint` under `badge`.
    pub fn set_fault_endpoint(
        &mut self,
        environment: &mut Environment,
        endpoint: Endpoint,
        badge: usize,
    ) -> Result {
        let handler = self.mint(environment, endpoint, badge)?;
        self.tcb.set_space(handler, self.cnode, 0, self.vspace)
    }

    /// Sends word to `endpoint` under `badge` when the budget that the process runs on is used up.
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

    /// Gives the process time of its own.
    pub fn set_time(
        &mut self,
        environment: &mut Environment,
        parameters: &SchedParameters,
    ) -> Result<SchedContext> {
        if let Some(context) = self.sched_context {
            environment.sched_control.configure(context, parameters)?;
            return Ok(context);
        }
        let mut bits = abi::sizes::MIN_SCHED_CONTEXT_BITS;
        while abi::sizes::refill_capacity(bits) < parameters.extra_refills + 2 {
            bits += 1;
        }
        let context: SchedContext = self.arena.allocator.create_sized(bits)?;
        environment.sched_control.configure(context, parameters)?;
        context.bind(self.tcb)?;
        self.sched_context = Some(context);
        Ok(context)
    }

    /// The registers with which the process starts, and with which a timeout handler can start it
    /// over. Its memory is not reset.
    pub fn initial_registers(&self) -> Registers {
        arch::initial_registers(self.entry, STACK_TOP, IPC_BUFFER, [STARTUP, 0])
    }

    /// Lets the process run.
    pub fn start(&self) -> Result {
        self.tcb.write_registers(true, &self.initial_registers())
    }

    /// Deletes everything that the process is made of, and takes its memory back.
    pub fn destroy(self, environment: &mut Environment) -> Result {
        environment.allocator.reclaim(self.arena)
    }
}

fn edit_startup<T>(
    environment: &mut Environment,
    frame: Frame,
    edit: impl FnOnce(&mut Startup) -> T,
) -> Result<T> {
    environment.edit_frame(frame, false, |page| {
        // SAFETY: a page is large enough and aligned, and `Parts::build` put a Startup there, which
        // is made of words and so has no invalid contents.
        edit(unsafe { &mut *page.as_mut_ptr().cast::<Startup>() })
    })
}

/// What a process is made of.
struct Parts {
    tcb: Tcb,
    vspace: VSpace,
    cnode: CNode,
    startup_frame: Frame,
}

impl Parts {
    fn build(
        environment: &mut Environment,
        arena: &mut Arena,
        program: &Program,
        size: ProcessSize,
    ) -> Result<Self> {
        let objects = &mut arena.allocator;
        // Large objects first: what alignment loses is least then.
        let vspace: VSpace = objects.create()?;
        environment.asid_pool.assign(vspace)?;
        let table = objects.create_cnode(size.cnode_bits)?;
        let slot = objects.allocate_slot()?;
        let guard = CNode::root_guard(size.cnode_bits).word();
        slot.mint_from(objects.slot(table), Rights::ALL, guard)?;
        let cnode = CNode(CPtr(slot.index));

        load(environment, arena, vspace, program)?;
        let objects = &mut arena.allocator;
        for page in 1..=size.stack_pages {
            let address = STACK_TOP - page * PAGE;
            map_new(objects, vspace, address, Rights::READ_WRITE)?;
        }
        let ipc_buffer = map_new(objects, vspace, IPC_BUFFER, Rights::READ_WRITE)?;

        let startup_frame: Frame = objects.create()?;
        let empty = SlotRegion {
            start: slots::FIRST_DYNAMIC,
            end: 1 << size.cnode_bits,
        };
        edit_startup(environment, startup_frame, |startup| {
            *startup = Startup::new(IPC_BUFFER, size.cnode_bits, empty);
        })?;
        // The parent goes on editing through its own mapping, so the process gets a copy.
        let slot = objects.allocate_slot()?;
        slot.copy_from(objects.slot(startup_frame), Rights::READ_WRITE)?;
        let copy = Frame(CPtr(slot.index));
        vspace.map(objects, copy, STARTUP, Rights::READ, Attributes::NO_EXECUTE)?;

        let tcb: Tcb = objects.create()?;
        tcb.configure(cnode, 0, vspace, IPC_BUFFER, ipc_buffer)?;
        Ok(Self {
            tcb,
            vspace,
            cnode,
            startup_frame,
        })
    }
}

fn map_new(
    objects: &mut crate::allocator::Allocator<1>,
    vspace: VSpace,
    address: usize,
    rights: Rights,
) -> Result<Frame> {
    let frame: Frame = objects.create()?;
    vspace.map(objects, frame, address, rights, Attributes::NO_EXECUTE)?;
    Ok(frame)
}

/// Copies the segments of a program into new frames and maps them.
fn load(
    environment: &mut Environment,
    arena: &mut Arena,
    vspace: VSpace,
    program: &Program,
) -> Result {
    for segment in program.segments() {
        let segment = segment?;
        if segment.address % PAGE != 0 {
            return Err(Error::BadProgram("a segment does not start at a page"));
        }
        let attributes = if segment.execute {
            Attributes::NORMAL
        } else {
            Attributes::NO_EXECUTE
        };
        for offset in (0..segment.size).step_by(PAGE) {
            let frame: Frame = arena.allocator.create()?;
            let contents = segment.contents.get(offset..).unwrap_or(&[]);
            let contents = &contents[..contents.len().min(PAGE)];
            // New frames are zero.
            if !contents.is_empty() {
                environment.edit_frame(frame, segment.execute, |page| {
                    page[..contents.len()].copy_from_slice(contents);
                })?;
            }
            let address = segment.address + offset;
            vspace.map(
                &mut arena.allocator,
                frame,
                address,
                segment.rights,
                attributes,
            )?;
        }
    }
    Ok(())
}
