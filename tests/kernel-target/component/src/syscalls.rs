//! System calls: unknown numbers, and registers that must not change.

use crate::support::arch::{SYSTEM_CALL_OFFSET, bare_registers, call_once, system_call};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test};
use crate::{check, check_eq};
use abi::registers::{CAP, COUNT, DESTINATION, FLAGS, INFO, MR, PC, REPLY, SYSCALL, TLS_BASE};
use abi::{MessageInfo, Syscall};
use userlib::cap::{Endpoint, Notification, Registers, Reply, Tcb};
use userlib::{CPtr, Capability, Fault, syscall};

tests![
    unknown_numbers_fault,
    calls_of_other_builds_fault,
    unknown_calls_tell_the_registers,
    sends_change_no_register,
    yield_changes_no_register,
    polls_of_nothing_change_the_badge_only,
    signals_change_the_badge_only,
    answers_change_the_message_only,
    the_tls_base_is_set,
    debug_calls_look_and_change_nothing,
    threads_are_listed_as_they_come_and_go,
];

/// Registers that a system call may change: those that the instruction overwrites on x86-64 (rcx, r11).
const DESTROYED: &[usize] = if abi::config::X86_64 { &[5, 13] } else { &[] };

fn unknown_numbers_fault(test: &mut Test) -> Outcome {
    for number in [
        0,
        1,
        7,
        1 << 31,
        usize::MAX / 2,
        (-34isize) as usize,
        (-999isize) as usize,
        isize::MIN as usize,
    ] {
        let fault = test.fault_of(move || {
            // SAFETY: no kernel has these system calls.
            unsafe { system_call(0x77, 5, number) };
        })?;
        let expected = Fault::UnknownSyscall {
            pc: system_call as *const () as usize + SYSTEM_CALL_OFFSET,
            number,
            argument: 0x77,
        };
        check_eq!(fault, expected);
    }
    Ok(())
}

fn calls_of_other_builds_fault(test: &mut Test) -> Outcome {
    const OF_MANY_CORES: [Syscall; 2] = [Syscall::DebugSendIpi, Syscall::DebugGetThreadAffinity];
    /// Of these, x86-64 has only the second.
    const FIRST: usize = if abi::config::X86_64 { 1 } else { 0 };
    let others = match abi::config::SMP {
        true => &OF_MANY_CORES[..FIRST],
        false => &OF_MANY_CORES[..],
    };
    for &call in others.iter().chain(&[
        Syscall::DebugRun,
        Syscall::BenchmarkGetThreadUtilisation,
        Syscall::BenchmarkReadClock,
        Syscall::BenchmarkSetTimer,
        Syscall::TraceMark,
        Syscall::VmEnter,
    ]) {
        let fault = test.fault_of(move || {
            // SAFETY: this build does not have these system calls.
            unsafe { system_call(0, 0, call.number()) };
        })?;
        check!(
            matches!(fault, Fault::UnknownSyscall { number, .. } if number == call.number()),
            "{fault:?}"
        );
    }
    Ok(())
}

/// Registers with distinct values; pointers that the processor checks are valid.
fn full(call: Syscall, cap: CPtr) -> Registers {
    let mut registers = bare_registers(call_once, call, cap);
    for (index, register) in registers.0.iter_mut().enumerate() {
        if ![PC, FLAGS, CAP, SYSCALL].contains(&index) {
            *register = 0x1000_0000 + index * 0x10_0100;
        }
    }
    registers.0[INFO] = MessageInfo::new(3, 0, 2).0;
    registers
}

/// The registers before and after one system call.
fn registers_of(test: &mut Test, registers: &Registers) -> Outcome<(Registers, Registers)> {
    let tcb: Tcb = test.bare_thread()?;
    let time = test.create_sched_context(&SLICE)?;
    tcb.set_sched_params(test.tcb, 0, BELOW, time, test.faults)?;
    tcb.write_registers(false, registers)?;
    let before = tcb.read_registers(false)?;
    tcb.resume()?;
    // It makes its call and then runs on, below the test.
    let start = before.0[PC];
    let mut after = before;
    while after.0[PC] == start {
        test.sleep(crate::support::ms(10))?;
        after = tcb.read_registers(false)?;
    }
    tcb.suspend()?;
    Ok((before, after))
}

/// Checks that no registers have changed except those listed.
fn check_same(before: &Registers, after: &Registers, outputs: &[usize]) {
    for index in 0..COUNT {
        if index != PC && !DESTROYED.contains(&index) && !outputs.contains(&index) {
            let name = abi::registers::NAMES[index];
            check!(
                before.0[index] == after.0[index],
                "{name} was {:x} and is {:x}",
                before.0[index],
                after.0[index]
            );
        }
    }
}

fn unknown_calls_tell_the_registers(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let mut registers = full(Syscall::Yield, CPtr(0x99));
    registers.0[SYSCALL] = 12345;
    let tcb: Tcb = test.create()?;
    let cnode = test.allocator.cnode();
    tcb.set_space(endpoint, cnode, 0, test.vspace)?;
    let time = test.create_sched_context(&SLICE)?;
    tcb.set_sched_params(test.tcb, 0, ABOVE, time, endpoint)?;
    tcb.write_registers(true, &registers)?;
    let message = endpoint.recv(reply).message;
    let Some(message) = message else {
        crate::support::fail(format_args!("a signal"));
    };
    let list = abi::registers::UNKNOWN_SYSCALL;
    check_eq!(message.length(), list.len() + 1);
    check_eq!(message.word(list.len()), 12345);
    for (place, index) in list.into_iter().enumerate() {
        if !DESTROYED.contains(&index) && index != FLAGS && index != abi::registers::SP {
            check_eq!((index, message.word(place)), (index, registers.0[index]));
        }
    }
    Ok(())
}

fn sends_change_no_register(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let endpoint: Endpoint = test.create()?;
    for (call, cap) in [
        (Syscall::Send, notification.0),
        (Syscall::NBSend, notification.0),
        (Syscall::NBSend, endpoint.0),
        (Syscall::Send, test.vspace.0),
    ] {
        let (before, after) = registers_of(test, &full(call, cap))?;
        check_same(&before, &after, &[]);
    }
    Ok(())
}

fn yield_changes_no_register(test: &mut Test) -> Outcome {
    let (before, after) = registers_of(test, &full(Syscall::Yield, CPtr(0xabcd)))?;
    check_same(&before, &after, &[]);
    Ok(())
}

fn polls_of_nothing_change_the_badge_only(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    for call in [Syscall::NBWait, Syscall::NBRecv] {
        for cap in [notification.0, endpoint.0] {
            let mut registers = full(call, cap);
            registers.0[REPLY] = reply.0.0;
            let (before, after) = registers_of(test, &registers)?;
            check_same(&before, &after, &[CAP]);
            check_eq!(after.0[CAP], 0);
        }
    }
    Ok(())
}

fn signals_change_the_badge_only(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let badged = test.badge(notification, 0x55)?;
    for call in [Syscall::NBWait, Syscall::Wait, Syscall::NBSendWait] {
        badged.signal();
        let mut registers = full(call, notification.0);
        registers.0[REPLY] = notification.0.0;
        let (before, after) = registers_of(test, &registers)?;
        check_same(&before, &after, &[CAP]);
        check_eq!(after.0[CAP], 0x55);
    }
    badged.signal();
    let mut registers = full(Syscall::NBSendRecv, notification.0);
    registers.0[REPLY] = 0;
    registers.0[DESTINATION] = notification.0.0;
    let (before, after) = registers_of(test, &registers)?;
    check_same(&before, &after, &[CAP]);
    Ok(())
}

fn answers_change_the_message_only(test: &mut Test) -> Outcome {
    // The root has no method with this label, so the answer is an error without words.
    let mut registers = full(Syscall::Call, test.tcb.0);
    registers.0[INFO] = 0;
    let (before, after) = registers_of(test, &registers)?;
    check_same(&before, &after, &[CAP, INFO]);
    check_eq!(after.0[CAP], 0);
    check_eq!(
        MessageInfo(after.0[INFO]),
        MessageInfo::new(abi::ErrorCode::IllegalOperation as usize, 0, 0)
    );
    check_eq!(after.0[MR[0]], before.0[MR[0]]);
    Ok(())
}

fn the_tls_base_is_set(test: &mut Test) -> Outcome {
    const BASE: usize = 0x1234_5000;
    let (before, after) = registers_of(test, &full(Syscall::SetTlsBase, CPtr(BASE)))?;
    // 32-bit Arm has two registers, and programs that use either of them.
    let last = COUNT - 1;
    let outputs = if abi::config::AARCH32 {
        &[TLS_BASE, last][..]
    } else {
        &[TLS_BASE]
    };
    check_same(&before, &after, outputs);
    check_eq!(after.0[TLS_BASE], BASE);
    if abi::config::AARCH32 {
        check_eq!(after.0[last], BASE);
    }
    Ok(())
}

fn debug_calls_look_and_change_nothing(test: &mut Test) -> Outcome {
    check!(syscall::debug_cap_identify(test.tcb.cptr()) != 0);
    let empty = test.empty_slot()?;
    check_eq!(syscall::debug_cap_identify(CPtr(empty.index)), 0);
    for address in [0, 4095, 4096, usize::MAX, 1 << 31] {
        check_eq!(syscall::debug_cap_identify(CPtr(address)), 0);
    }
    syscall::debug_name_thread(test.tcb, "test");
    syscall::debug_name_thread(test.tcb, "");
    Ok(())
}

fn threads_are_listed_as_they_come_and_go(test: &mut Test) -> Outcome {
    // The output is for people; an inconsistent list would stop the kernel.
    let never: Notification = test.create()?;
    let mut threads = [None; 4];
    for thread in &mut threads {
        *thread = Some(test.spawn(ABOVE, move || {
            never.wait();
        })?);
    }
    syscall::debug_snapshot();
    for index in [2, 0, 3, 1] {
        if let Some(thread) = threads[index].take() {
            test.delete(thread.tcb)?;
        }
        syscall::debug_dump_scheduler();
    }
    Ok(())
}
