//! Resources that a parent gives to a process, each under a name on the startup page.

use super::{Process, parts};
use crate::cap::{
    Attributes, CPtr, Capability, Endpoint, Frame, IrqHandler, Reply, SchedContext,
    SchedParameters, Untyped,
};
use crate::environment::{PAGE, SharedPage, names};
use crate::startup::{RecordKind, Startup};
use crate::{Environment, Error, Result};
use abi::{Rights, SlotRegion, slots};

impl Process {
    /// Gives a copy of a capability, with its rights reduced to `rights`, under a name.
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
        let untyped: Untyped = self.arena.allocator.create_sized(size_bits)?;
        self.lend_untyped(environment, untyped, size_bits)
    }

    /// Moves untyped memory of the parent, 2^`size_bits` bytes, to the process. It is deleted with the process,
    /// unless the parent moves it back from the slot that is returned.
    pub fn lend_untyped(
        &mut self,
        environment: &mut Environment,
        untyped: Untyped,
        size_bits: usize,
    ) -> Result<CPtr> {
        let slot = self.next_slot;
        let source = environment.allocator.slot(untyped);
        self.cnode.slot(CPtr(slot)).move_from(source)?;
        self.next_slot += 1;
        self.record(environment, "untyped", RecordKind::Untyped, slot, size_bits)?;
        Ok(CPtr(slot))
    }

    /// Gives the capabilities with which a component can create objects and threads of its own ([`names`]);
    /// with the parent's ASID pool, processes, too.
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

    /// Maps a shared page of the parent, under a name.
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

    /// Maps a copy of a frame of the smallest size, under a name; returns the address.
    pub fn map(
        &mut self,
        environment: &mut Environment,
        name: &str,
        frame: Frame,
        rights: Rights,
        attributes: Attributes,
    ) -> Result<usize> {
        self.map_all(environment, name, [frame], rights, attributes)
    }

    /// Maps copies of frames of the smallest size at contiguous addresses, under a name; returns the first.
    pub fn map_all(
        &mut self,
        environment: &mut Environment,
        name: &str,
        frames: impl IntoIterator<Item = Frame>,
        rights: Rights,
        attributes: Attributes,
    ) -> Result<usize> {
        let address = self.next_shared;
        for frame in frames {
            // The copy is in a slot of the arena, so that it is deleted with the process.
            let slot = self.arena.allocator.allocate_slot()?;
            slot.copy_from(environment.allocator.slot(frame), Rights::READ_WRITE)?;
            let allocator = &mut self.arena.allocator;
            let copy = Frame(CPtr(slot.index));
            self.vspace
                .map(allocator, copy, self.next_shared, rights, attributes)?;
            self.next_shared += PAGE;
        }
        let bytes = self.next_shared - address;
        self.record(environment, name, RecordKind::Memory, address, bytes)?;
        Ok(address)
    }

    /// Gives the scheduling context of another component, with its parameters, under the name of the component.
    /// `index` is the component's word in the memory [`TIMES`](crate::startup::TIMES).
    pub fn give_watched(
        &mut self,
        environment: &mut Environment,
        name: &str,
        context: SchedContext,
        index: usize,
        parameters: &SchedParameters,
    ) -> Result {
        self.give_as(environment, name, context, RecordKind::Watched, index)?;
        let [budget, period] = [parameters.budget, parameters.period].map(|time| time.0 as usize);
        self.record(environment, name, RecordKind::Time, budget, period)
    }

    /// Gives the right to receive from an endpoint, with the reply object for its callers, under a name.
    pub fn give_server(
        &mut self,
        environment: &mut Environment,
        name: &str,
        endpoint: Endpoint,
        reply: Reply,
    ) -> Result {
        self.give(environment, name, endpoint, Rights::READ)?;
        self.give_as(environment, name, reply, RecordKind::Reply, 0)
    }

    /// Gives a copy of a capability to I/O ports, the first of which is `first`, under a name.
    #[cfg(target_arch = "x86_64")]
    pub fn give_ports(
        &mut self,
        environment: &mut Environment,
        name: &str,
        ports: crate::cap::IoPort,
        first: u16,
    ) -> Result {
        self.give_as(environment, name, ports, RecordKind::Ports, first.into())
    }

    /// Gives a copy of the handler of an interrupt, which is the bit `bit` of its notification, under a name.
    pub fn give_interrupt(
        &mut self,
        environment: &mut Environment,
        name: &str,
        handler: IrqHandler,
        bit: usize,
    ) -> Result {
        self.give_as(environment, name, handler, RecordKind::Interrupt, bit)
    }

    /// Gives a copy of a capability in a record of this kind.
    fn give_as(
        &mut self,
        environment: &mut Environment,
        name: &str,
        capability: impl Capability,
        kind: RecordKind,
        size: usize,
    ) -> Result {
        let slot = self.next_slot;
        let source = environment.allocator.slot(capability);
        self.cnode.slot(CPtr(slot)).copy_from(source, Rights::ALL)?;
        self.next_slot += 1;
        self.record(environment, name, kind, slot, size)
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

    /// Gives a text under a name.
    pub fn give_text(&mut self, environment: &mut Environment, name: &str, text: &str) -> Result {
        self.edit(environment, |startup| startup.add_text(name, text))
    }

    pub(super) fn record(
        &mut self,
        environment: &mut Environment,
        name: &str,
        kind: RecordKind,
        value: usize,
        size: usize,
    ) -> Result {
        self.edit(environment, |startup| startup.add(name, kind, value, size))
    }

    /// Adds to the startup page.
    fn edit(
        &mut self,
        environment: &mut Environment,
        add: impl FnOnce(&mut Startup) -> bool,
    ) -> Result {
        let empty = SlotRegion {
            start: self.next_slot,
            end: 1 << self.cnode_bits,
        };
        let added = parts::edit_startup(environment, self.startup_frame, |startup| {
            startup.set_empty(empty);
            add(startup)
        })?;
        if added {
            Ok(())
        } else {
            Err(Error::OutOfResources)
        }
    }
}
