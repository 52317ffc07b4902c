//! Interrupt lines as notifications.

use abi::{Method, Rights, WORD_BITS, slots};
use host_machine::arch::TIMER_LINE;
use host_machine::{CPtr, Machine, Spec, State};
use kernel::arch::Irq;
use kernel::cap::Cap;
use kernel::invoke::Error;

use crate::common::waiter;

const LINE: Irq = Irq(5);

struct Scene {
    machine: Machine,
    handler: CPtr,
    notification: CPtr,
}

impl Scene {
    fn new() -> Self {
        let mut machine = Machine::new();
        let notification = machine.notification();
        let badged = machine.mint(notification, Rights::WRITE, 8);
        let handler = machine.issue_irq(LINE.0).unwrap();
        machine
            .invoke(handler, Method::IrqSetIrqHandler, &[], &[badged])
            .unwrap();
        Self {
            machine,
            handler,
            notification,
        }
    }

    fn is_masked(&self) -> bool {
        self.machine.kernel.arch.lines[LINE.0].masked
    }
}

#[test]
fn an_interrupt_is_a_signal() {
    let mut scene = Scene::new();
    let driver = waiter(&mut scene.machine, "driver", 20, scene.notification);
    let other = scene.machine.spawn(Spec::new("other", 10).active());
    assert!(scene.machine.runs(other) && !scene.is_masked());
    scene.machine.raise(LINE);
    assert!(scene.machine.runs(driver));
    assert_eq!(scene.machine.badge(driver), 8);
    // The line stays masked until it is acknowledged.
    assert!(scene.is_masked());
    scene.machine.raise(LINE);
    scene.machine.nb_wait(driver, scene.notification);
    assert_eq!(scene.machine.badge(driver), 0);
    let answer = scene
        .machine
        .invoke_as(driver, scene.handler, Method::IrqAckIrq, &[], &[]);
    assert_eq!(answer, Ok(vec![]));
    scene.machine.nb_wait(driver, scene.notification);
    assert_eq!(scene.machine.badge(driver), 8);
}

#[test]
fn interrupts_come_to_an_idle_machine() {
    let mut scene = Scene::new();
    let driver = waiter(&mut scene.machine, "driver", 20, scene.notification);
    assert_eq!(scene.machine.running(), "none");
    scene.machine.advance(12345);
    scene.machine.raise(LINE);
    assert!(scene.machine.runs(driver));
}

#[test]
fn without_a_notification_interrupts_are_lost() {
    let mut scene = Scene::new();
    let clear = scene
        .machine
        .invoke(scene.handler, Method::IrqClearIrqHandler, &[], &[]);
    assert_eq!(clear, Ok(vec![]));
    scene.machine.rest();
    scene.machine.raise(LINE);
    assert!(scene.is_masked());
    let ack = scene
        .machine
        .invoke(scene.handler, Method::IrqAckIrq, &[], &[]);
    assert_eq!(ack, Ok(vec![]));
    assert!(!scene.is_masked());
}

#[test]
fn the_notification_is_a_copy_and_can_be_replaced() {
    let mut scene = Scene::new();
    let other = scene.machine.notification();
    let answer = scene
        .machine
        .invoke(scene.handler, Method::IrqSetIrqHandler, &[], &[other]);
    assert_eq!(answer, Ok(vec![]));
    let driver = waiter(&mut scene.machine, "driver", 20, other);
    scene.machine.raise(LINE);
    assert!(scene.machine.runs(driver));
    assert_eq!(scene.machine.badge(driver), 0);
    scene.machine.wait(driver, other);
    // Revocation deletes the handler's copy of the capability.
    scene.machine.revoke(other);
    scene
        .machine
        .invoke(scene.handler, Method::IrqAckIrq, &[], &[])
        .unwrap();
    scene.machine.raise(LINE);
    assert_eq!(scene.machine.state(driver), State::Waiting);
}

#[test]
fn a_notification_must_be_writable() {
    let mut scene = Scene::new();
    let mute = scene.machine.mint(scene.notification, Rights::READ, 0);
    let endpoint = scene.machine.endpoint();
    for other in [mute, endpoint] {
        let answer = scene
            .machine
            .invoke(scene.handler, Method::IrqSetIrqHandler, &[], &[other]);
        assert_eq!(answer, Err(Error::InvalidCapability(0)));
    }
    let answer = scene
        .machine
        .invoke(scene.handler, Method::IrqSetIrqHandler, &[], &[]);
    assert_eq!(answer, Err(Error::Truncated));
    let answer = scene
        .machine
        .invoke(scene.handler, Method::TcbResume, &[], &[]);
    assert_eq!(answer, Err(Error::IllegalOperation));
}

#[test]
fn lines_are_issued_once() {
    let mut scene = Scene::new();
    let machine = &mut scene.machine;
    assert_eq!(machine.issue_irq(LINE.0), Err(Error::RevokeFirst));
    assert_eq!(machine.issue_irq(TIMER_LINE.0), Err(Error::RevokeFirst));
    let range = Err(Error::Range {
        minimum: 0,
        maximum: 15,
    });
    assert_eq!(machine.issue_irq(16), range);
    let root = slots::INIT_THREAD_CNODE;
    let issue = |machine: &mut Machine, words: [usize; 3]| {
        machine.invoke(
            slots::IRQ_CONTROL,
            Method::IrqIssueIrqHandler,
            &words,
            &[root],
        )
    };
    let bad_depth = Err(Error::Range {
        minimum: 1,
        maximum: WORD_BITS,
    });
    let (full, handler) = (scene.notification, scene.handler);
    assert_eq!(issue(machine, [6, full, 0]), bad_depth);
    assert_eq!(
        issue(machine, [6, full, WORD_BITS]),
        Err(Error::DeleteFirst)
    );
    // The line is issued as long as a copy exists; deleting the last one frees it, masked.
    let copy = machine.copy(handler);
    machine.delete(handler);
    assert_eq!(machine.issue_irq(LINE.0), Err(Error::RevokeFirst));
    machine.delete(copy);
    assert!(machine.kernel.arch.lines[LINE.0].masked);
    let again = machine.issue_irq(LINE.0).unwrap();
    assert!(matches!(machine.cap(again), Cap::IrqHandler(LINE)));
    assert!(!machine.kernel.arch.lines[LINE.0].masked);
    machine.revoke(slots::IRQ_CONTROL);
    assert!(machine.is_empty(again));
}

#[test]
fn issuing_a_handler_has_a_preemption_point_after_each_lookup() {
    const MANY: usize = 100;
    let mut machine = Machine::new();
    machine.kernel.arch.ambush = Some((MANY, LINE));
    machine.issue_irq(LINE.0).unwrap();
    let left = machine.kernel.arch.ambush.map(|(looks, _)| looks);
    // Lookups of the control capability, of the CNode and of the slot.
    assert_eq!(left, Some(MANY - 3));
}

#[test]
fn a_handler_is_the_parent_of_its_copies() {
    let Scene {
        mut machine,
        handler,
        ..
    } = Scene::new();
    let copy = machine.copy(handler);
    machine.revoke(handler);
    assert!(machine.is_empty(copy) && !machine.is_empty(handler));
}

#[test]
fn an_interrupt_charges_the_interrupted_thread() {
    let mut scene = Scene::new();
    let machine = &mut scene.machine;
    let budget = host_machine::Budget::new(100, 1000);
    let task = machine.spawn(Spec::new("task", 10).budget(budget));
    machine.rest();
    machine.advance(90);
    assert!(machine.runs(task));
    // Less than the smallest budget is left, so its slice ends with the interrupt.
    machine.raise(LINE);
    assert_eq!(machine.running(), "none");
    assert_eq!(machine.refills(task.context), [(990, 100)]);
}

#[test]
fn the_last_capability_to_a_notification_may_be_in_a_line() {
    let mut scene = Scene::new();
    let waiter = waiter(&mut scene.machine, "waiter", 20, scene.notification);
    // All other capabilities are deleted; then the handler, and with it the notification.
    scene.machine.delete(scene.notification);
    let badged = scene.notification + 1;
    scene.machine.delete(badged);
    assert_eq!(scene.machine.state(waiter), State::Waiting);
    scene.machine.delete(scene.handler);
    assert_eq!(scene.machine.state(waiter), State::Inactive);
}
