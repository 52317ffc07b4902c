//! Deletion of objects in use: tables in tables and in themselves, threads in calls, and many objects at
//! once.

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms, spin, us};
use crate::{check, check_eq};
use abi::{LookupFailure, ObjectType};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use userlib::allocator::Allocator;
use userlib::cap::{
    CNode, Endpoint, Frame, Notification, Reply, SchedContext, SchedParameters, SlotRange, Tcb,
    Untyped,
};
use userlib::{CPtr, Fault, Message, Result, Rights, syscall};

tests![
    tables_are_emptied,
    tables_live_as_long_as_one_capability,
    tables_in_tables_are_emptied,
    tables_that_hold_themselves,
    tables_that_hold_each_other,
    a_table_that_holds_the_last_capability_to_its_thread,
    threads_lose_their_space,
    threads_delete_their_space,
    threads_revoke_their_own_memory,
    threads_in_all_states_are_revoked,
    callers_survive_the_death_of_everything,
    long_revocations_can_be_interrupted,
    long_revocations_need_more_than_one_budget,
    long_resets_can_be_interrupted,
    deletion_of_a_running_context,
    deletion_in_any_order,
];

/// log2 of the slots of small tables.
const RADIX: usize = 4;

/// An untyped, and functions that make objects in it.
struct Region {
    untyped: Untyped,
    size_bits: usize,
}

impl Region {
    fn new(test: &mut Test, size_bits: usize) -> Result<Self> {
        let untyped = test.create_sized(size_bits)?;
        Ok(Self { untyped, size_bits })
    }

    fn cnode(&self, test: &mut Test) -> Result<CNode> {
        let slot = test.empty_slot()?;
        self.untyped.make::<CNode>(RADIX, slot)?;
        Ok(CNode(CPtr(slot.index)))
    }

    fn notification(&self, test: &mut Test) -> Result<Notification> {
        let slot = test.empty_slot()?;
        self.untyped.make::<Notification>(0, slot)?;
        Ok(Notification(CPtr(slot.index)))
    }

    /// Checks that the region is empty.
    #[track_caller]
    fn check_free(&self, test: &mut Test) -> Result {
        let slot = test.empty_slot()?;
        let whole = self.size_bits;
        check_eq!(self.untyped.make::<Untyped>(whole, slot), Ok(()));
        slot.delete()
    }
}

/// A thread that waits for a notification, and a thread below that notes `x` when the first one faults. That
/// happens only if the notification is deleted.
fn mourner(test: &mut Test, notification: Notification) -> Outcome {
    let unhandled: Endpoint = test.create()?;
    let thread = test.thread_with(ABOVE, Some(SLICE), unhandled, move || {
        notification.wait();
    })?;
    thread.start()?;
    test.spawn(BELOW, move || {
        let message = unhandled.wait().message.unwrap_or(Message::empty(0));
        if let Fault::Capability { .. } = Fault::from_message(&message) {
            note('x');
        }
    })?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    Ok(())
}

fn tables_are_emptied(test: &mut Test) -> Outcome {
    let region = Region::new(test, 12)?;
    let table = region.cnode(test)?;
    let notification = region.notification(test)?;
    mourner(test, notification)?;
    table
        .slot_of_table(3, RADIX)
        .move_from(test.slot(notification))?;
    test.delete(table)?;
    test.let_others_run()?;
    check_eq!(noted(), "x");
    region.check_free(test)?;
    Ok(())
}

fn tables_live_as_long_as_one_capability(test: &mut Test) -> Outcome {
    let region = Region::new(test, 12)?;
    let table = region.cnode(test)?;
    let copy = test.copy(table)?;
    let notification = region.notification(test)?;
    let place = |table: CNode| table.slot_of_table(3, RADIX);
    place(table).move_from(test.slot(notification))?;
    test.delete(table)?;
    check!(!test.is_empty(place(copy))?);
    test.delete(copy)?;
    region.check_free(test)?;
    Ok(())
}

fn tables_in_tables_are_emptied(test: &mut Test) -> Outcome {
    const DEPTH: usize = 60;
    let region = Region::new(test, 16)?;
    let notification = region.notification(test)?;
    mourner(test, notification)?;
    let first = region.cnode(test)?;
    let mut last = first;
    for _ in 0..DEPTH {
        // The capability itself moves into the previous table, so that there is no other one.
        let next = region.cnode(test)?;
        let copy = test.copy(next)?;
        last.slot_of_table(5, RADIX).move_from(test.slot(next))?;
        if last != first {
            test.delete(last)?;
        }
        last = copy;
    }
    last.slot_of_table(5, RADIX)
        .move_from(test.slot(notification))?;
    test.delete(last)?;
    check_eq!(noted(), "");
    test.delete(first)?;
    test.let_others_run()?;
    check_eq!(noted(), "x");
    region.check_free(test)?;
    Ok(())
}

fn tables_that_hold_themselves(test: &mut Test) -> Outcome {
    let region = Region::new(test, 12)?;
    for index in [0, 7, 15] {
        let table = region.cnode(test)?;
        let inside = table.slot_of_table(index, RADIX);
        inside.copy_from(test.slot(table), Rights::ALL)?;
        // Deleted from inside while there is another capability, and revoked as a whole.
        inside.delete()?;
        inside.copy_from(test.slot(table), Rights::ALL)?;
        test.slot(table).revoke()?;
        check!(test.is_empty(inside)?);
        // The last capability is the one in the table itself.
        inside.copy_from(test.slot(table), Rights::ALL)?;
        test.delete(table)?;
        test.slot(region.untyped).revoke()?;
        region.check_free(test)?;
    }
    // A table moved into itself can be reached only through its memory.
    let table = region.cnode(test)?;
    table.slot_of_table(2, RADIX).move_from(test.slot(table))?;
    test.slot(region.untyped).revoke()?;
    region.check_free(test)?;
    Ok(())
}

fn tables_that_hold_each_other(test: &mut Test) -> Outcome {
    let region = Region::new(test, 13)?;
    for revoke in [false, true] {
        let tables = [
            region.cnode(test)?,
            region.cnode(test)?,
            region.cnode(test)?,
        ];
        for (index, table) in tables.iter().enumerate() {
            let next = tables[(index + 1) % tables.len()];
            for place in [0, 9] {
                table
                    .slot_of_table(place, RADIX)
                    .copy_from(test.slot(next), Rights::ALL)?;
            }
        }
        if !revoke {
            for table in tables {
                test.delete(table)?;
            }
        }
        test.slot(region.untyped).revoke()?;
        for table in tables {
            check!(test.is_gone(table)?);
        }
        region.check_free(test)?;
    }
    Ok(())
}

fn a_table_that_holds_the_last_capability_to_its_thread(test: &mut Test) -> Outcome {
    let region = Region::new(test, 14)?;
    let table = region.cnode(test)?;
    let slot = test.empty_slot()?;
    region.untyped.make::<Tcb>(0, slot)?;
    let tcb = Tcb(CPtr(slot.index));
    tcb.set_space(CPtr::NULL, table, 0, test.vspace)?;
    // Table and thread refer to each other.
    table.slot_of_table(1, RADIX).move_from(slot)?;
    test.delete(table)?;
    test.slot(region.untyped).revoke()?;
    region.check_free(test)?;
    Ok(())
}

fn threads_lose_their_space(test: &mut Test) -> Outcome {
    let root: CNode = test.create_sized(RADIX)?;
    let notification: Notification = test.create()?;
    let guarded = {
        let guard = CNode::root_guard(RADIX).word();
        test.allocator.mint(root, Rights::ALL, guard)?
    };
    root.slot_of_table(6, RADIX)
        .copy_from(test.slot(notification), Rights::ALL)?;
    let watched = test.watched(|| {
        Notification(CPtr(6)).signal();
        note('a');
        Notification(CPtr(6)).wait();
        note('b');
        Notification(CPtr(6)).wait();
    })?;
    let (endpoint, vspace) = (watched.endpoint, test.vspace);
    watched.thread.tcb.set_space(endpoint, guarded, 0, vspace)?;
    watched.thread.start()?;
    check_eq!(noted(), "ab");
    test.slot(root).revoke()?;
    // It continues to wait, and faults at its next system call.
    check!(watched.is_quiet());
    notification.signal();
    check!(matches!(
        watched.fault(),
        Fault::UnknownSyscall { .. } | Fault::Capability { .. }
    ));
    Ok(())
}

fn threads_delete_their_space(test: &mut Test) -> Outcome {
    let root: CNode = test.create_sized(RADIX)?;
    let guard = CNode::root_guard(RADIX).word();
    // The original capability is in the table itself.
    let inside = root.slot_of_table(1, RADIX);
    let original = test.allocator.mint(root, Rights::ALL, guard)?;
    inside.move_from(test.slot(original))?;
    let watched = test.watched(|| {
        // All capabilities derived from the table's first one are deleted, including the thread's own.
        note('a');
        syscall::wait(CPtr(3));
    })?;
    let (endpoint, vspace) = (watched.endpoint, test.vspace);
    let outer = test.empty_slot()?;
    outer.copy_from(inside, Rights::ALL)?;
    let own = CNode(CPtr(outer.index));
    watched.thread.tcb.set_space(endpoint, own, 0, vspace)?;
    test.slot(root).revoke()?;
    check!(test.is_empty(outer)? && test.is_empty(inside)?);
    watched.thread.start()?;
    let fault = watched.fault();
    let failure = match fault {
        Fault::Capability { failure, .. } => failure,
        _ => None,
    };
    check_eq!(failure, Some(LookupFailure::InvalidRoot));
    check_eq!(noted(), "a");
    Ok(())
}

fn threads_revoke_their_own_memory(test: &mut Test) -> Outcome {
    // The thread's TCB and its scheduling context come from memory that it revokes itself.
    let region = Region::new(test, 14)?;
    let (tcb_slot, time_slot) = (test.empty_slot()?, test.empty_slot()?);
    region.untyped.make::<Tcb>(0, tcb_slot)?;
    region.untyped.make::<SchedContext>(8, time_slot)?;
    let model = test.thread(ABOVE, {
        let own = test.slot(region.untyped);
        move || {
            note('a');
            let _ = own.revoke();
            note('b');
        }
    })?;
    let (tcb, time) = (
        Tcb(CPtr(tcb_slot.index)),
        SchedContext(CPtr(time_slot.index)),
    );
    test.sched_control.configure(time, &SLICE)?;
    let (cnode, vspace, faults) = (test.allocator.cnode(), test.vspace, test.faults);
    tcb.set_space(faults, cnode, 0, vspace)?;
    tcb.set_sched_params(test.tcb, 0, ABOVE, time, faults)?;
    let (frame, address) = test.create_page()?;
    tcb.set_ipc_buffer(address, frame)?;
    let mut registers = model.tcb.read_registers(false)?;
    // The program's second argument and the TLS register hold the buffer's address.
    registers.0[abi::registers::INFO] = address;
    registers.0[abi::registers::TLS_BASE] = address;
    tcb.write_registers(true, &registers)?;
    check_eq!(noted(), "a");
    check!(test.is_gone(tcb)? && test.is_gone(time)?);
    region.check_free(test)?;
    Ok(())
}

/// Threads in many states, all made from one region of memory.
fn populate(test: &mut Test, region: Untyped, size_bits: usize) -> Outcome<Endpoint> {
    // The page tables for the stacks of later threads must outlive the region, so they are created first.
    test.create_page()?;
    // The test's own allocator is replaced for now, so that all objects come from the region.
    let cnode = test.allocator.cnode();
    let first = test.empty_slot()?.index;
    for _ in 1..600 {
        test.empty_slot()?;
    }
    let mut allocator: Allocator = Allocator::new(cnode, first..first + 600);
    allocator.add_untyped(region, size_bits);
    core::mem::swap(&mut test.allocator, &mut allocator);
    let result = make_threads(test);
    core::mem::swap(&mut test.allocator, &mut allocator);
    result
}

fn make_threads(test: &mut Test) -> Outcome<Endpoint> {
    let (endpoint, silent): (Endpoint, Endpoint) = (test.create()?, test.create()?);
    let notification: Notification = test.create()?;
    let reply: Reply = test.create()?;
    let other: Reply = test.create()?;
    let service: Endpoint = test.create()?;
    test.spawn(ABOVE, move || silent.send(Message::empty(0)))?;
    test.spawn(ABOVE, move || {
        silent.call(Message::empty(0));
    })?;
    test.spawn(ABOVE, move || {
        notification.wait();
    })?;
    test.spawn(ABOVE, move || {
        endpoint.recv(reply);
        service.call(Message::empty(0));
    })?;
    // A passive server that keeps its caller waiting, on the caller's scheduling context.
    test.spawn_passive(BELOW, move || {
        service.recv(other);
        syscall::wait(silent.0);
    })?;
    test.spawn(ABOVE, move || {
        service.call(Message::empty(0));
    })?;
    test.spawn(BELOW, || spin())?;
    let nap = SchedParameters::new(us(100), ms(60_000));
    test.timed(ABOVE, nap, || {
        loop {
            syscall::yield_now();
        }
    })?
    .start()?;
    test.watched(|| {
        // SAFETY: it only faults.
        unsafe { crate::support::arch::undefined() };
    })?
    .thread
    .start()?;
    let (frame, _) = test.create_page()?;
    test.copy(frame)?;
    let table: CNode = test.create_sized(6)?;
    table
        .slot_of_table(1, 6)
        .copy_from(test.slot(table), Rights::ALL)?;
    Ok(endpoint)
}

fn threads_in_all_states_are_revoked(test: &mut Test) -> Outcome {
    let region = Region::new(test, 21)?;
    for _ in 0..2 {
        populate(test, region.untyped, region.size_bits)?;
        test.slot(region.untyped).revoke()?;
        region.check_free(test)?;
    }
    Ok(())
}

fn callers_survive_the_death_of_everything(test: &mut Test) -> Outcome {
    let region = Region::new(test, 21)?;
    let endpoint = populate(test, region.untyped, region.size_bits)?;
    // One caller that a thread in the region serves, one that waits, one that receives.
    let answer = move || {
        let answer = endpoint.call(Message::empty(0));
        note(if answer.label() == 2 { 'e' } else { 'r' });
    };
    let served = test.spawn(ABOVE, answer)?;
    test.spawn(ABOVE, answer)?;
    test.slot(region.untyped).revoke()?;
    test.let_others_run()?;
    // The queued caller calls an empty slot; the reply object of the other one is deleted, so it is stopped.
    check_eq!(noted(), "e");
    served.start()?;
    check_eq!(noted(), "ee");
    region.check_free(test)?;
    Ok(())
}

static WAKES: AtomicUsize = AtomicUsize::new(0);

/// A thread above the test that wakes five times in a millisecond.
fn waker(test: &mut Test) -> Outcome {
    let often = SchedParameters::new(us(50), us(200));
    let thread = test.timed(ABOVE, often, || {
        loop {
            WAKES.fetch_add(1, Relaxed);
            syscall::yield_now();
        }
    })?;
    thread.start()?;
    Ok(())
}

/// How often a long piece of `work` is repeated: the emulator's timer is late when the host is busy.
const TRIES: usize = 10;

/// Whether other threads run during `work`. Without preemption points there would be at most two wake-ups:
/// one just before `work`, and one at its end.
fn is_interrupted(work: impl FnOnce() -> Result) -> Result<bool> {
    let before = WAKES.load(Relaxed);
    work()?;
    Ok(WAKES.load(Relaxed) - before > 2)
}

/// Fills a region with small objects.
fn fill(test: &mut Test, region: &Region, tables: usize) -> Outcome {
    for _ in 0..tables {
        let slot = test.empty_slot()?;
        region.untyped.make::<CNode>(8, slot)?;
        let range = SlotRange {
            root: CNode(CPtr(slot.index)),
            index: 0,
            depth: 0,
            offset: 0,
        };
        region
            .untyped
            .retype(ObjectType::Notification, 0, range, 256)?;
    }
    Ok(())
}

fn long_revocations_can_be_interrupted(test: &mut Test) -> Outcome {
    let region = Region::new(test, 20)?;
    let slot = test.slot(region.untyped);
    waker(test)?;
    for _ in 0..TRIES {
        fill(test, &region, 12)?;
        let interrupted = is_interrupted(|| slot.revoke())?;
        region.check_free(test)?;
        if interrupted {
            return Ok(());
        }
    }
    crate::support::fail(format_args!("others waited for its end"))
}

fn long_revocations_need_more_than_one_budget(test: &mut Test) -> Outcome {
    let region = Region::new(test, 20)?;
    fill(test, &region, 12)?;
    let slot = test.slot(region.untyped);
    // The budget suffices for a small part of the work, which continues with the next replenishment.
    let little = SchedParameters::new(us(200), ms(1));
    let thread = test.timed(ABOVE, little, move || {
        check_eq!(slot.revoke(), Ok(()));
        note('a');
    })?;
    thread.start()?;
    for _ in 0..1000 {
        if noted() == "a" {
            break;
        }
        test.sleep(ms(2))?;
    }
    check_eq!(noted(), "a");
    region.check_free(test)?;
    Ok(())
}

fn long_resets_can_be_interrupted(test: &mut Test) -> Outcome {
    let region = Region::new(test, 22)?;
    let slot = test.empty_slot()?;
    waker(test)?;
    for _ in 0..TRIES {
        region.untyped.make::<Untyped>(22, slot)?;
        slot.delete()?;
        // Four megabytes are cleared before the first object is made.
        let interrupted = is_interrupted(|| region.untyped.make::<Frame>(0, slot))?;
        slot.delete()?;
        if interrupted {
            return Ok(());
        }
    }
    crate::support::fail(format_args!("others waited for its end"))
}

fn deletion_of_a_running_context(test: &mut Test) -> Outcome {
    // A thread that deletes its current scheduling context stops there.
    static TIME: AtomicUsize = AtomicUsize::new(0);
    let cnode = test.allocator.cnode();
    let thread = test.thread(ABOVE, move || {
        note('a');
        let result = cnode.slot(CPtr(TIME.load(Relaxed))).delete();
        note(if result.is_ok() { 'b' } else { 'c' });
    })?;
    TIME.store(thread.sched_context.0.0, Relaxed);
    thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    let time = test.create_sched_context(&SLICE)?;
    time.bind(thread.tcb)?;
    check_eq!(noted(), "ab");
    Ok(())
}

fn deletion_in_any_order(test: &mut Test) -> Outcome {
    let mut random = crate::support::Random::new(0x00de_1e7e);
    let unhandled: Endpoint = test.create()?;
    for _ in 0..40 {
        let endpoint: Endpoint = test.create()?;
        let reply: Reply = test.create()?;
        let notification: Notification = test.create()?;
        let server = test.spawn_passive_with(BELOW, unhandled, move || {
            endpoint.recv(reply);
            loop {
                endpoint.reply_recv(Message::empty(0), reply);
            }
        })?;
        server.tcb.bind_notification(notification)?;
        let client = test.thread_with(ABOVE, Some(SLICE), unhandled, move || {
            loop {
                endpoint.call(Message::empty(0));
            }
        })?;
        client.start()?;
        let mut victims = [
            endpoint.0,
            reply.0,
            notification.0,
            server.tcb.0,
            client.tcb.0,
            client.sched_context.0,
        ];
        for rest in (1..victims.len()).rev() {
            victims.swap(rest, random.below(rest + 1));
        }
        for victim in victims {
            test.delete(victim)?;
            notification.signal();
        }
    }
    Ok(())
}
