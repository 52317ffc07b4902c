//! The initial state of the root task.

use abi::config::{BOOT_THREAD_TIME_SLICE, ROOT_CNODE_BITS};
use abi::registers::CAP;
use abi::{Method, slots};
use host_machine::{Machine, Message, Spec, State};
use kernel::cap::Cap;
use kernel::object::ThreadSlot;

#[test]
fn the_root_task_runs_at_the_highest_priority() {
    let machine = Machine::new();
    assert_eq!(machine.running(), "root");
    let thread = machine.thread(machine.root);
    assert_eq!(
        (thread.priority, thread.max_controlled_priority),
        (255, 255)
    );
    assert!(!thread.cap(ThreadSlot::CSpace).is_null());
    assert!(!thread.cap(ThreadSlot::VSpace).is_null());
    assert!(!thread.cap(ThreadSlot::Buffer).is_null());
    assert!(thread.cap(ThreadSlot::FaultHandler).is_null());
    assert!(
        machine.register(machine.root, CAP) > 0,
        "address of the boot information"
    );
    let slice = BOOT_THREAD_TIME_SLICE * 1000;
    assert_eq!(machine.refills(slots::INIT_THREAD_SC)[0].1, slice);
}

#[test]
fn the_initial_slots_hold_what_the_interface_says() {
    let machine = Machine::new();
    let cap = |slot| machine.cap(slot);
    assert!(machine.is_empty(slots::NULL));
    assert!(
        matches!(cap(slots::INIT_THREAD_TCB), Cap::Thread(thread) if thread == machine.root.thread)
    );
    assert!(
        matches!(cap(slots::INIT_THREAD_CNODE), Cap::CNode(cnode) if cnode.radix == ROOT_CNODE_BITS)
    );
    assert!(matches!(cap(slots::IRQ_CONTROL), Cap::IrqControl));
    assert!(matches!(cap(slots::DOMAIN), Cap::Domain));
    assert!(matches!(
        cap(slots::INIT_THREAD_SC),
        Cap::SchedContext { bits: 7, .. }
    ));
    for slot in [
        slots::INIT_THREAD_VSPACE,
        slots::ASID_CONTROL,
        slots::INIT_THREAD_ASID_POOL,
        slots::BOOT_INFO_FRAME,
        slots::INIT_THREAD_IPC_BUFFER,
    ] {
        assert!(matches!(cap(slot), Cap::Arch(_)), "slot {slot}");
    }
}

#[test]
fn the_boot_information_describes_the_slots() {
    let machine = Machine::new();
    let info = &machine.boot_info;
    assert_eq!((info.nodes, info.node_id, info.domain), (1, 0, 0));
    assert_eq!(info.cnode_size_bits, ROOT_CNODE_BITS);
    assert_eq!(info.sched_control.len(), 1);
    assert!(matches!(
        machine.cap(info.sched_control.start),
        Cap::SchedControl { core: 0 }
    ));
    assert_eq!(info.user_image_frames.len(), 1);
    assert_eq!(info.empty.end, 1 << ROOT_CNODE_BITS);
    assert!((info.empty.start..info.empty.end).all(|slot| machine.is_empty(slot)));
    for (slot, descriptor) in (info.untyped.start..info.untyped.end).zip(&info.untyped_list) {
        let Cap::Untyped(untyped) = machine.cap(slot) else {
            panic!("slot {slot} holds untyped memory");
        };
        assert_eq!(untyped.address.0, descriptor.address);
        assert_eq!(untyped.bits, usize::from(descriptor.size_bits));
        assert_eq!(untyped.device, descriptor.is_device == 1);
        assert!(untyped.address.0.is_multiple_of(untyped.size()));
    }
}

#[test]
fn tasks_run_while_the_root_task_rests() {
    let mut machine = Machine::new();
    let task = machine.spawn(Spec::new("task", 10).active());
    assert_eq!(machine.running(), "root");
    machine.rest();
    assert_eq!(machine.running(), "task");
    machine.suspend(task);
    assert_eq!(machine.state(task), State::Inactive);
    assert_eq!(machine.running(), "none");
}

#[test]
fn the_root_task_shares_its_priority_in_turns() {
    let mut machine = Machine::new();
    let equal = machine.spawn(Spec::new("equal", 255).active());
    machine.advance(BOOT_THREAD_TIME_SLICE * 1000);
    assert!(machine.runs(equal));
    let message = Message::new(Method::TcbSuspend.number(), &[]);
    machine.call(equal, equal.tcb, &message);
    assert_eq!(machine.running(), "root");
}

#[test]
fn a_large_image_leaves_slots_to_work_with() {
    // More frames than a CNode of the default size has slots.
    const PAGES: usize = (1 << ROOT_CNODE_BITS) + 100;
    let machine = Machine::with_image(26, PAGES);
    let info = &machine.boot_info;
    assert_eq!(info.user_image_frames.len(), PAGES);
    assert_eq!(info.cnode_size_bits, ROOT_CNODE_BITS + 2);
    assert_eq!(info.empty.end, 4 << ROOT_CNODE_BITS);
    assert!(!info.untyped.is_empty());
    assert!(
        matches!(machine.cap(slots::INIT_THREAD_CNODE), Cap::CNode(cnode) if cnode.radix == ROOT_CNODE_BITS + 2)
    );
}

/// Whatever its size: around the sizes at which the CNode grows, and a system with 1,460 frames, which makes 2,875 objects
/// in a CNode that is to have twice the slots.
#[test]
fn half_of_the_slots_are_the_tasks_own() {
    let half = 1 << (ROOT_CNODE_BITS - 1);
    for pages in [1, 1460, half - 400, half - 250, half - 1, half, 2 * half] {
        let machine = Machine::with_image(26, pages);
        let info = &machine.boot_info;
        let slots = 1 << info.cnode_size_bits;
        assert_eq!(info.empty.end, slots);
        assert!(info.empty.len() >= slots / 2, "{pages} pages");
    }
}
