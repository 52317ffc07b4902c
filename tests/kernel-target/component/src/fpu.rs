//! Floating point: registers belong to threads, and access can be disabled.

use crate::support::arch::{DENIED_NUMBER, fill_fpu, fpu_holds};
use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test};
use crate::{check, check_eq};
use abi::thread_flags::FPU_DISABLED;
use userlib::cap::Notification;
use userlib::{Fault, Message, syscall};

tests![
    registers_survive_system_calls,
    registers_survive_switches,
    registers_survive_preemption,
    many_threads_have_registers_of_their_own,
    new_threads_start_clean,
    the_deleted_leave_nothing,
    the_denied_fault,
    the_denied_fault_once_allowed_no_more,
    registers_survive_denial,
    denying_one_is_not_denying_others,
];

fn registers_survive_system_calls(test: &mut Test) -> Outcome {
    fill_fpu(0x1234_5678_9abc_def0);
    for _ in 0..10 {
        syscall::yield_now();
        test.tcb.set_priority(test.tcb, 100)?;
    }
    check!(fpu_holds(0x1234_5678_9abc_def0));
    Ok(())
}

fn registers_survive_switches(test: &mut Test) -> Outcome {
    let (ping, pong): (Notification, Notification) = (test.create()?, test.create()?);
    test.spawn(ABOVE, move || {
        fill_fpu(2);
        for _ in 0..100 {
            ping.wait();
            check!(fpu_holds(2));
            pong.signal();
        }
    })?;
    fill_fpu(1);
    for _ in 0..100 {
        ping.signal();
        pong.wait();
        check!(fpu_holds(1));
    }
    Ok(())
}

fn registers_survive_preemption(test: &mut Test) -> Outcome {
    // Round robin among three threads that never wait, while the test sleeps.
    for index in 1..4 {
        test.spawn(BELOW, move || {
            fill_fpu(index);
            loop {
                check!(fpu_holds(index));
            }
        })?;
    }
    fill_fpu(9);
    for _ in 0..5 {
        test.sleep(crate::support::ms(20))?;
        check!(fpu_holds(9));
    }
    Ok(())
}

fn many_threads_have_registers_of_their_own(test: &mut Test) -> Outcome {
    let bell: Notification = test.create()?;
    for index in 1..=32 {
        test.spawn(ABOVE, move || {
            fill_fpu(index);
            bell.wait();
            check!(fpu_holds(index));
            note('x');
        })?;
    }
    for _ in 0..32 {
        bell.signal();
    }
    check_eq!(crate::support::events::count(), 32);
    Ok(())
}

fn new_threads_start_clean(test: &mut Test) -> Outcome {
    fill_fpu(u64::MAX);
    test.spawn(ABOVE, || {
        check!(fpu_holds(0));
        note('a');
    })?;
    check_eq!(noted(), "a");
    check!(fpu_holds(u64::MAX));
    Ok(())
}

fn the_deleted_leave_nothing(test: &mut Test) -> Outcome {
    let never: Notification = test.create()?;
    for round in 1..10 {
        let owner = test.spawn(ABOVE, move || {
            check!(fpu_holds(0));
            fill_fpu(round);
            never.wait();
        })?;
        // The hardware registers may still hold the deleted thread's values.
        test.delete(owner.tcb)?;
        test.spawn(ABOVE, || {
            check!(fpu_holds(0));
            note('c');
        })?;
    }
    check_eq!(noted(), "ccccccccc");
    Ok(())
}

fn is_denial(fault: Fault) -> bool {
    matches!(
        fault,
        Fault::UserException {
            number: DENIED_NUMBER,
            code: 0,
            ..
        }
    )
}

fn the_denied_fault(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        note('a');
        fill_fpu(1);
        note('b');
    })?;
    check_eq!(
        watched.thread.tcb.set_flags(0, FPU_DISABLED),
        Ok(FPU_DISABLED)
    );
    watched.thread.start()?;
    let fault = watched.fault();
    check!(is_denial(fault), "{fault:?}");
    check_eq!(noted(), "a");
    Ok(())
}

fn the_denied_fault_once_allowed_no_more(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        fill_fpu(7);
        check!(fpu_holds(7));
        note('a');
    })?;
    watched.thread.tcb.set_flags(0, FPU_DISABLED)?;
    watched.thread.start()?;
    check!(is_denial(watched.fault()));
    check_eq!(watched.thread.tcb.set_flags(FPU_DISABLED, 0), Ok(0));
    // The answer makes the thread execute the instruction again.
    watched.reply.send(Message::empty(0));
    check_eq!(noted(), "a");
    Ok(())
}

fn registers_survive_denial(test: &mut Test) -> Outcome {
    let bell: Notification = test.create()?;
    let thread = test.spawn(ABOVE, move || {
        fill_fpu(0xabc);
        bell.wait();
        check!(fpu_holds(0xabc));
        note('a');
    })?;
    thread.tcb.set_flags(0, FPU_DISABLED)?;
    fill_fpu(5);
    thread.tcb.set_flags(FPU_DISABLED, 0)?;
    bell.signal();
    check_eq!(noted(), "a");
    check!(fpu_holds(5));
    Ok(())
}

fn denying_one_is_not_denying_others(test: &mut Test) -> Outcome {
    fill_fpu(3);
    let bell: Notification = test.create()?;
    let denied = test.thread(ABOVE, move || {
        for _ in 0..10 {
            bell.wait();
            note('d');
        }
    })?;
    denied.tcb.set_flags(0, FPU_DISABLED)?;
    denied.start()?;
    for round in 0..10 {
        fill_fpu(round);
        bell.signal();
        check!(fpu_holds(round));
    }
    check_eq!(noted(), "dddddddddd");
    Ok(())
}
