//! Threads with an environment of their own, in the same address space.

use super::{Outcome, SLICE, Test};
use abi::registers::SP;
use core::array;
use userlib::allocator::Allocator;
use userlib::cap::{AsidPool, CNode, SchedControl, Untyped};
use userlib::environment::PAGE;
use userlib::{CPtr, Capability, Environment, Rights, Thread};

/// log2 of the slots of such a thread, and of the bytes of its memory.
pub const CONFINED_RADIX: usize = 9;
const MEMORY_BITS: usize = 20;
/// The addresses that each has for itself, in pages, and its stack, which has room for an environment.
const SPAN: usize = 512;
const STACK_PAGES: usize = 64;

/// The slots that are not empty at first: its CSpace, thread, address space and memory, and the SchedControl capabilities.
const OWN_CNODE: CPtr = CPtr(1);
const OWN_TCB: CPtr = CPtr(2);
const OWN_VSPACE: CPtr = CPtr(3);
const OWN_MEMORY: CPtr = CPtr(4);
const CONTROLS: usize = 5;

impl Test {
    /// Makes a thread of the core `first` whose CSpace has the right to configure contexts of `CORES` cores from that one on,
    /// the capabilities that it needs to make threads, and no other ones. It cannot use `check!`.
    pub fn confined<const CORES: usize>(
        &mut self,
        first: usize,
        priority: u8,
        work: impl FnOnce(Environment, [SchedControl; CORES]) + Send + 'static,
    ) -> Outcome<Thread> {
        let startup = self.startup;
        let thread = self.timed_on(first, priority, SLICE, move || {
            let controls = array::from_fn(|core| SchedControl(CPtr(CONTROLS + core)));
            let mut environment = Environment::from_startup(startup);
            let free = CONTROLS + CORES..1 << CONFINED_RADIX;
            environment.allocator = Allocator::new(CNode(OWN_CNODE), free);
            environment
                .allocator
                .add_untyped(Untyped(OWN_MEMORY), MEMORY_BITS);
            environment.tcb = Capability::at(OWN_TCB);
            environment.vspace = Capability::at(OWN_VSPACE);
            environment.asid_pool = AsidPool(CPtr::NULL);
            environment.sched_control = controls[0];
            environment.reserve(SPAN * (first + 1));
            work(environment, controls);
        })?;
        let stack = self.map_new(STACK_PAGES)?;
        let mut registers = thread.tcb.read_registers(false)?;
        registers.0[SP] = stack + (STACK_PAGES - 1) * PAGE + registers.0[SP] % PAGE;
        thread.tcb.write_registers(false, &registers)?;

        let table: CNode = self.create_sized(CONFINED_RADIX)?;
        let guarded = self.empty_slot()?;
        let guard = CNode::root_guard(CONFINED_RADIX).word();
        guarded.mint_from(self.slot(table), Rights::ALL, guard)?;
        let root = CNode(CPtr(guarded.index));
        let give = |test: &Test, capability: CPtr, to: CPtr| {
            let source = test.slot(capability);
            root.slot(to).copy_from(source, Rights::ALL)
        };
        give(self, root.cptr(), OWN_CNODE)?;
        give(self, thread.tcb.cptr(), OWN_TCB)?;
        give(self, self.vspace.cptr(), OWN_VSPACE)?;
        for core in 0..CORES {
            let control = self.control_of(first + core);
            give(self, control.cptr(), CPtr(CONTROLS + core))?;
        }
        let memory: Untyped = self.create_sized(MEMORY_BITS)?;
        root.slot(OWN_MEMORY).move_from(self.slot(memory))?;
        thread.tcb.set_space(self.faults, root, 0, self.vspace)?;
        Ok(thread)
    }
}
