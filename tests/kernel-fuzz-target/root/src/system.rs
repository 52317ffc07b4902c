//! The hostile component and all its objects, made anew for each round.

use abi::sizes::{PAGE_BITS, PAGE_TABLE_BITS};
use abi::{GuardData, Rights, WORD_BITS, slots};
use core::sync::atomic::Ordering::Relaxed;
use hostility::arch::TABLES;
use hostility::kind::Kind;
use hostility::ledger::{CHAIN, HOME, Ledger, OTHER_RADIX, PAGES, PRIORITY, RADIX, SLOTS, THREADS};
use hostility::{Role, names};
use userlib::allocator::{Arena, ArenaAllocator};
use userlib::cap::{
    Attributes, CNode, Endpoint, Frame, Notification, Reply, SchedContext, SchedControl,
    SchedParameters, Slot, Tcb, Untyped, VSpace,
};
use userlib::environment::SharedPage;
use userlib::process::ProcessSize;
use userlib::{
    BootInfo, CPtr, Capability, Environment, Error, Microseconds, Process, Result, boot,
};

use crate::campaign::Grounds;
use crate::{arch, domains};

/// The size of a hostile component.
pub const SIZE: ProcessSize = ProcessSize {
    memory: 1 << 20,
    slots: 256,
    cnode_bits: RADIX,
    stack_pages: 4,
    heap_pages: 0,
};
/// Its further objects: log2 of the bytes, and slots.
const THINGS: (usize, usize) = (20, 128);

/// Scheduling parameters of the hostile component's first thread, and of the others that it begins with.
/// Their sum is less than what the threads below leave over.
const TIME: SchedParameters = SchedParameters::new(Microseconds(4_000), PERIOD);
const LITTLE: SchedParameters = SchedParameters::new(Microseconds(500), PERIOD);
/// The period of these.
pub const PERIOD: Microseconds = Microseconds(10_000);

/// log2 of the bytes for the objects of chains: some 200 bytes for each.
const CHAIN_MEMORY_BITS: usize = 14;

/// Capabilities that cannot be copied: they are put where they can be invoked but not moved.
const LENT: &[(usize, Kind)] = if abi::config::X86_64 {
    &[
        (slots::IRQ_CONTROL, Kind::IrqControl),
        (slots::IO_PORT_CONTROL, Kind::PortsControl),
    ]
} else {
    &[(slots::IRQ_CONTROL, Kind::IrqControl)]
};

/// The root of its CSpace has two slots: for its own CNode, and for one to which it has no capability.
const ROOT_GUARD: GuardData = GuardData {
    guard: 0,
    size: WORD_BITS - RADIX - 1,
};

/// The maximum number of members: one for each core, if there are so many.
pub const MEMBERS: usize = 4;

/// The hostile component of a round; with all cores, one more for each secondary core, which has the same
/// capabilities.
pub struct TestSystem {
    members: [Option<Member>; MEMBERS],
    things: Arena,
    faults: Endpoint,
    makes_time: bool,
}

/// A hostile component.
struct Member {
    process: Process,
    /// The root of its CSpace.
    root: CNode,
    context: SchedContext,
    /// The SchedControl capability of its core.
    control: SchedControl,
}

impl Member {
    /// Makes a member that keeps its state in `page`, on the core of `control`; `home` is its own CNode.
    fn build(
        environment: &mut Environment,
        make: &mut ArenaAllocator,
        program: &[u8],
        page: &SharedPage,
        control: SchedControl,
        home: CNode,
    ) -> Result<Self> {
        let mut process = Process::with_size(environment, program, SIZE)?;
        process.set_name("hostile");
        process.give_number(environment, names::ROLE, Role::Hostile as usize)?;
        process.share(environment, names::LEDGER, page, Rights::READ_WRITE)?;
        let root: CNode = make.create_sized(1)?;
        for (index, half) in [home, process.cnode].into_iter().enumerate() {
            let source = boot::CNODE.slot(half.cptr());
            root.slot_of_table(index, 1)
                .mint_from(source, Rights::ALL, 0)?;
        }
        let context: SchedContext = make.create_sized(8)?;
        control.configure(context, &TIME)?;
        Ok(Self {
            process,
            root,
            context,
            control,
        })
    }
}

/// Fills the hostile component's own CNode.
pub struct Gifts {
    home: CNode,
    next: usize,
    ledger: Ledger,
}

impl Gifts {
    /// The next empty slot, for a capability of this kind.
    pub fn slot(&mut self, kind: Kind) -> Slot {
        let slot = self.home.slot_of_table(self.next, RADIX);
        self.ledger.kind(self.next).store(kind as usize, Relaxed);
        self.next += 1;
        slot
    }

    fn give(&mut self, source: Slot, kind: Kind) -> Result {
        let given = self.slot(kind).copy_from(source, Rights::ALL);
        if given.is_err() {
            self.next -= 1;
        }
        given
    }

    fn badged(&mut self, source: Slot, kind: Kind, rights: Rights, badge: usize) -> Result {
        self.slot(kind).mint_from(source, rights, badge)
    }
}

/// Gives the first device memory from which no object was made.
fn give_device_memory(boot: &BootInfo, gifts: &mut Gifts) {
    let descriptors = (boot.untyped.start..boot.untyped.end).zip(&boot.untyped_list);
    for (slot, descriptor) in descriptors {
        let is_page = descriptor.is_device != 0 && usize::from(descriptor.size_bits) >= PAGE_BITS;
        if is_page
            && gifts
                .give(boot::CNODE.slot(CPtr(slot)), Kind::Untyped)
                .is_ok()
        {
            return;
        }
    }
}

impl TestSystem {
    /// Makes the members, on `cores` cores.
    pub fn build(grounds: &mut Grounds, makes_time: bool, cores: usize) -> Result<Self> {
        let ledger = grounds.ledger();
        let environment = &mut *grounds.environment;
        let mut things = environment.allocator.split(THINGS.0, THINGS.1)?;
        let make = &mut things.allocator;
        let home: CNode = make.create_sized(RADIX)?;
        let mut members = [const { None }; MEMBERS];
        let controls = boot::sched_controls(grounds.boot).take(cores);
        for ((member, page), control) in members.iter_mut().zip(&grounds.pages).zip(controls) {
            let program = grounds.program;
            *member = Some(Member::build(
                environment,
                make,
                program,
                page,
                control,
                home,
            )?);
        }
        let Some(Member {
            process, context, ..
        }) = &members[0]
        else {
            return Err(Error::OutOfResources);
        };
        let root = members[0].as_ref().map_or(home, |first| first.root);
        let guarded = process.cnode;
        let faults: Endpoint = make.create()?;

        let mut gifts = Gifts {
            home,
            next: HOME,
            ledger,
        };
        let of = |address: CPtr| boot::CNODE.slot(address);
        // Its own objects, the first of which is its CNode.
        gifts.give(of(home.cptr()), Kind::CNode)?;
        gifts.give(of(process.tcb.cptr()), Kind::Thread)?;
        gifts.give(of(process.vspace.cptr()), Kind::Space)?;
        gifts.give(of(context.cptr()), Kind::SchedContext)?;
        arch::give(&mut gifts)?;
        for &(slot, kind) in LENT {
            guarded
                .slot(CPtr(slot))
                .move_from(boot::CNODE.slot(CPtr(slot)))?;
            ledger.kind(SLOTS + slot).store(kind as usize, Relaxed);
        }
        // Further objects for its use.
        for _ in 0..2 {
            let cnode: CNode = make.create_sized(OTHER_RADIX)?;
            gifts.give(of(cnode.cptr()), Kind::CNode)?;
        }
        for bits in [16, 14, 14, 12, 12, 12, 12] {
            let untyped: Untyped = make.create_sized(bits)?;
            gifts.give(of(untyped.cptr()), Kind::Untyped)?;
        }
        for badge in 1..4 {
            let endpoint: Endpoint = make.create()?;
            gifts.badged(of(endpoint.cptr()), Kind::Endpoint, Rights::ALL, badge)?;
            gifts.badged(
                of(endpoint.cptr()),
                Kind::Endpoint,
                Rights::from_word(badge),
                badge,
            )?;
            // The original capability of the endpoint, which has rights of its own.
            gifts.slot(Kind::Endpoint).move_from(of(endpoint.cptr()))?;
            let notification: Notification = make.create()?;
            gifts.give(of(notification.cptr()), Kind::Notification)?;
            gifts.badged(
                of(notification.cptr()),
                Kind::Notification,
                Rights::ALL,
                badge,
            )?;
            let reply: Reply = make.create()?;
            gifts.give(of(reply.cptr()), Kind::Reply)?;
        }
        for _ in 0..2 {
            let space: VSpace = make.create()?;
            environment.asid_pool.assign(space)?;
            gifts.give(of(space.cptr()), Kind::Space)?;
            for _ in 0..2 {
                let frame: Frame = make.create()?;
                gifts.give(of(frame.cptr()), Kind::Frame)?;
            }
            // There are paging structures at one address at least.
            let frame: Frame = make.create()?;
            space.map(make, frame, PAGES, Rights::READ, Attributes::NO_EXECUTE)?;
        }
        for &(table, kind) in TABLES {
            let table = make.create_any(table, 0, PAGE_TABLE_BITS)?;
            // It cannot be copied before it is mapped.
            gifts.slot(kind).move_from(of(table))?;
        }
        let safe = |address: usize| guarded.slot(CPtr(address - SLOTS));
        for index in 0..THREADS {
            let tcb: Tcb = make.create()?;
            tcb.set_name("hostile thread");
            let time: SchedContext = make.create_sized(8)?;
            environment.sched_control.configure(time, &LITTLE)?;
            let guard = ROOT_GUARD.word();
            tcb.set_space(faults, root, guard, process.vspace)?;
            tcb.set_sched_params(environment.tcb, PRIORITY, PRIORITY, time, faults)?;
            gifts.give(of(tcb.cptr()), Kind::Thread)?;
            gifts.give(of(time.cptr()), Kind::SchedContext)?;
            // It cannot lose these copies.
            safe(CHAIN + index).copy_from(of(tcb.cptr()), Rights::ALL)?;
            safe(CHAIN + THREADS + index).copy_from(of(time.cptr()), Rights::ALL)?;
        }
        for &domain in domains::FURTHER {
            let tcb: Tcb = make.create()?;
            tcb.set_name("hostile thread of a domain");
            boot::DOMAIN.set(domain, tcb)?;
            gifts.give(of(tcb.cptr()), Kind::Thread)?;
        }
        let memory: Untyped = make.create_sized(CHAIN_MEMORY_BITS)?;
        safe(CHAIN + 2 * THREADS).copy_from(of(memory.cptr()), Rights::ALL)?;
        gifts.give(of(boot::ASID_CONTROL.cptr()), Kind::AsidControl)?;
        gifts.give(of(environment.asid_pool.cptr()), Kind::AsidPool)?;
        if !domains::ARE_SEVERAL {
            gifts.give(of(boot::DOMAIN.cptr()), Kind::Domain)?;
        }
        if makes_time {
            for control in boot::sched_controls(grounds.boot).take(cores) {
                gifts.give(of(control.cptr()), Kind::SchedControl)?;
            }
        }
        give_device_memory(grounds.boot, &mut gifts);
        for further in &grounds.pages[1..] {
            let further = Ledger::new(further.words);
            for address in 0..SLOTS {
                let kind = ledger.kind(address).load(Relaxed);
                further.kind(address).store(kind, Relaxed);
            }
        }
        Ok(Self {
            members,
            things,
            faults,
            makes_time,
        })
    }

    /// The numbers of the members.
    pub fn members(&self) -> impl Iterator<Item = usize> + use<> {
        0..self.members.iter().flatten().count()
    }

    /// Starts a member, or starts it again, in any state.
    pub fn start(&self, grounds: &mut Grounds, member: usize) -> Result {
        let Some(member) = &self.members[member] else {
            return Ok(());
        };
        let (environment, process) = (&*grounds.environment, &member.process);
        process.tcb.suspend()?;
        member.context.unbind()?;
        // Only a component that can configure contexts may have changed its own, so only then it is
        // configured anew: otherwise this would replenish a budget that was already used.
        if self.makes_time {
            member.control.configure(member.context, &TIME)?;
        }
        let guard = ROOT_GUARD.word();
        let started = process
            .tcb
            .set_space(self.faults, member.root, guard, process.vspace)
            .and_then(|()| {
                process.tcb.set_sched_params(
                    environment.tcb,
                    PRIORITY,
                    PRIORITY,
                    member.context,
                    self.faults,
                )
            })
            .and_then(|()| process.start());
        match started {
            // A hostile thread may have bound another context to it, or made the last capability to a CNode the root of
            // its CSpace, which SetSpace does not replace.
            Err(Error::IllegalOperation) => Ok(()),
            started => started,
        }
    }

    /// Deletes all objects, and takes the lent capabilities back.
    pub fn end(self, grounds: &mut Grounds) -> Result {
        for member in self.members.iter().flatten() {
            member.process.tcb.suspend()?;
        }
        if let Some(first) = &self.members[0] {
            for &(slot, _) in LENT {
                let home = boot::CNODE.slot(CPtr(slot));
                home.move_from(first.process.cnode.slot(CPtr(slot)))?;
                home.revoke()?;
            }
        }
        grounds.environment.allocator.reclaim(self.things)?;
        for member in self.members.into_iter().flatten() {
            member.process.destroy(grounds.environment)?;
        }
        Ok(())
    }
}
