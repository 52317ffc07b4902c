//! Revocation of memory that another core uses.

use crate::check;
use crate::support::arch::{load, store};
use crate::support::counters::{self, count, moves};
use crate::support::{ABOVE, Outcome, SLICE, Test};
use abi::sizes::SLOT_BITS;
use userlib::cap::{Attributes, CNode, Frame, FrameSize, Tcb, Untyped};
use userlib::{CPtr, Capability, Fault, Message, Rights};

tests![
    if abi::config::SMP;
    unmapped_pages_are_gone_on_all_cores,
    spaces_of_another_core_become_memory,
];

fn unmapped_pages_are_gone_on_all_cores(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let address = test.map(frame, Rights::READ_WRITE, Attributes::NORMAL)?;
    for core in test.secondary_cores() {
        let watched = test.watched(move || {
            loop {
                // SAFETY: the address is mapped, or a fault is expected.
                unsafe { load(address) };
                counters::step(0);
            }
        })?;
        let context = watched.thread.sched_context;
        test.control_of(core).configure(context, &SLICE)?;
        watched.thread.start()?;
        for _ in 0..5 {
            check!(moves(test, 0)?);
            frame.unmap()?;
            let message = watched.endpoint.recv(watched.reply).message;
            let fault = Fault::from_message(&message.unwrap_or(Message::empty(0)));
            check!(matches!(fault, Fault::Memory { address: at, .. } if at == address));
            frame.map(test.vspace, address, Rights::READ_WRITE, Attributes::NORMAL)?;
            watched.reply.send(Message::empty(0));
        }
        test.delete(watched.thread.tcb)?;
    }
    Ok(())
}

/// A kernel with self-checks walks through the capabilities of running threads' CSpaces, a few slots at each
/// entry; its cursor must not outlive the CSpace.
fn spaces_of_another_core_become_memory(test: &mut Test) -> Outcome {
    const PAGE_BITS: usize = FrameSize::SMALLEST.bits();
    const RADIX: usize = PAGE_BITS - SLOT_BITS;
    for core in test.secondary_cores() {
        let thread = test.timed_on(core, ABOVE, SLICE, || {
            let own = Tcb(CPtr(count(1)));
            loop {
                if own.set_priority(own, ABOVE).is_ok() {
                    counters::step(0);
                }
            }
        })?;
        // Every address finds the first slot of the tables below, so the thread's own address is valid there
        // too.
        counters::set(1, thread.tcb.cptr().0);
        // Between two tables, the cursor is in neither of them.
        for _ in 0..8 {
            let untyped: Untyped = test.create_sized(PAGE_BITS)?;
            let slot = test.empty_slot()?;
            untyped.make::<CNode>(RADIX, slot)?;
            let table = CNode(CPtr(slot.index));
            let own = test.slot(thread.tcb);
            table.slot_of_table(0, RADIX).copy_from(own, Rights::ALL)?;
            thread.tcb.set_space(CPtr::NULL, table, 0, test.vspace)?;
            thread.start()?;
            check!(moves(test, 0)?);
            thread.tcb.suspend()?;
            let space = test.allocator.cnode();
            thread.tcb.set_space(CPtr::NULL, space, 0, test.vspace)?;
            test.delete(table)?;
            untyped.make::<Frame>(0, slot)?;
            let frame = Frame(CPtr(slot.index));
            let address = test.map(frame, Rights::READ_WRITE, Attributes::NORMAL)?;
            for place in (address..address + (1 << PAGE_BITS)).step_by(size_of::<usize>()) {
                // SAFETY: the frame is mapped there, and only this test uses it. No capability has this bit
                // pattern.
                unsafe { store(place, usize::MAX) };
            }
            thread.start()?;
            check!(moves(test, 0)?);
            thread.tcb.suspend()?;
            test.delete(frame)?;
        }
        test.delete(thread.tcb)?;
    }
    Ok(())
}
