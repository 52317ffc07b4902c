//! Registers of threads: reading, writing and copying them, and registers that are never written.

use crate::support::arch::{self, bare_registers, call_once, spin};
use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, SLICE, Test, ms};
use crate::{check, check_eq};
use abi::registers::{CAP, COUNT, FLAGS, FRAME_COUNT, INFO, PC, SP, TLS_BASE};
use abi::{Method, Syscall};
use userlib::cap::{CopyRegisters, Endpoint, Notification, Registers, Tcb};
use userlib::invoke::invoke;
use userlib::{CPtr, Error, Message, Result, syscall};

tests![
    what_is_written_is_read,
    counts_are_checked_for_reading,
    short_reads_are_prefixes,
    counts_are_checked_for_writing,
    short_writes_leave_the_rest,
    surplus_registers_are_ignored,
    no_thread_reads_or_writes_its_own_registers,
    flags_are_sanitised,
    addresses_are_sanitised,
    registers_survive_preemption,
    registers_survive_a_system_call,
    reading_can_suspend,
    writing_can_resume,
    writing_to_the_blocked_leaves_them_blocked,
    writing_and_resuming_ends_a_wait,
    copying_takes_sets,
    copying_suspends_and_resumes,
    copying_needs_a_source,
    a_blocked_thread_is_at_its_call,
    a_suspended_thread_can_be_restarted_elsewhere,
    the_tls_base_is_set,
    the_own_tls_base_is_set_at_once,
    a_tls_base_that_cannot_be_is_refused,
];

/// A set of values that each register may hold.
fn pattern(seed: usize) -> Registers {
    let mut registers = Registers::default();
    for (index, register) in registers.0.iter_mut().enumerate() {
        *register = ((seed + index) * 0x0101_0101) & 0x00ff_ffff;
    }
    registers.0[FLAGS] = plain_flags();
    registers
}

/// The flags of a thread that has set none.
fn plain_flags() -> usize {
    if abi::config::X86_64 {
        0x202
    } else {
        USER_MODE
    }
}

/// Program status on Arm: user mode, with fast interrupts masked.
const USER_MODE: usize = if abi::config::AARCH64 { 0x40 } else { 0x50 };
/// The condition flags on Arm; 32-bit Arm has one more, for saturation.
const CONDITIONS: usize = if abi::config::AARCH64 {
    0xf000_0000
} else {
    0xf800_0000
};

/// The user's bits of the flags.
fn flags_of(registers: &Registers) -> usize {
    // Release kernels on Arm mask asynchronous aborts, debug kernels do not.
    let mask = if abi::config::ARM { !0x100 } else { !0 };
    registers.0[FLAGS] & mask
}

#[track_caller]
fn check_registers(tcb: Tcb, expected: &Registers) -> Result {
    let found = tcb.read_registers(false)?;
    for index in 0..COUNT {
        if index == FLAGS {
            check_eq!(flags_of(&found), flags_of(expected));
        } else {
            let (name, value) = (abi::registers::NAMES[index], found.0[index]);
            check!(
                value == expected.0[index],
                "{name} is {value:#x}, not {:#x}",
                expected.0[index]
            );
        }
    }
    Ok(())
}

fn what_is_written_is_read(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    for seed in [1, 2, 77] {
        tcb.write_registers(false, &pattern(seed))?;
        check_registers(tcb, &pattern(seed))?;
    }
    Ok(())
}

fn counts_are_checked_for_reading(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    for count in [0, COUNT + 1, usize::MAX] {
        let read = invoke(tcb.0, Method::TcbReadRegisters.number(), &[0, count], &[]);
        check_eq!(
            read.map(drop),
            Err(Error::Range {
                minimum: 1,
                maximum: COUNT
            })
        );
    }
    Ok(())
}

fn short_reads_are_prefixes(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    tcb.write_registers(false, &pattern(9))?;
    for count in 1..=COUNT {
        let read = invoke(tcb.0, Method::TcbReadRegisters.number(), &[0, count], &[])?;
        check_eq!(read.length(), count);
        check_eq!(read.word(0), pattern(9).0[0]);
        if count > FLAGS + 1 {
            check_eq!(read.word(count - 1), pattern(9).0[count - 1]);
        }
    }
    Ok(())
}

fn counts_are_checked_for_writing(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let words = [0; 2 + COUNT];
    let write = |count: usize, length: usize| {
        let mut words = words;
        words[1] = count;
        invoke(
            tcb.0,
            Method::TcbWriteRegisters.number(),
            &words[..length],
            &[],
        )
        .map(drop)
    };
    check_eq!(write(0, 1), Err(Error::TruncatedMessage));
    for count in [1, 5, COUNT] {
        check_eq!(write(count, 1 + count), Err(Error::TruncatedMessage));
        check_eq!(write(count, 2 + count), Ok(()));
    }
    check_eq!(write(usize::MAX, 2 + COUNT), Err(Error::TruncatedMessage));
    check_eq!(write(0, 2), Ok(()));
    Ok(())
}

fn short_writes_leave_the_rest(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    tcb.write_registers(false, &pattern(1))?;
    let new = pattern(50);
    tcb.write_first_registers(false, &new.0[..6])?;
    let mut expected = pattern(1);
    expected.0[..6].copy_from_slice(&new.0[..6]);
    check_registers(tcb, &expected)?;
    Ok(())
}

fn surplus_registers_are_ignored(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let mut words = [0; COUNT + 20];
    words[1] = COUNT + 10;
    words[2..2 + COUNT].copy_from_slice(&pattern(3).0);
    invoke(tcb.0, Method::TcbWriteRegisters.number(), &words, &[])?;
    check_registers(tcb, &pattern(3))?;
    Ok(())
}

fn no_thread_reads_or_writes_its_own_registers(test: &mut Test) -> Outcome {
    let illegal = Error::IllegalOperation;
    check_eq!(test.tcb.read_registers(false), Err(illegal));
    check_eq!(test.tcb.read_registers(true), Err(illegal));
    check_eq!(test.tcb.write_registers(false, &pattern(0)), Err(illegal));
    Ok(())
}

fn flags_are_sanitised(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    for word in [0, usize::MAX, 0x7_f000, 0x13, 0x1f, 0xf800_01df, 0x3000] {
        let mut registers = pattern(0);
        registers.0[FLAGS] = word;
        tcb.write_registers(false, &registers)?;
        let flags = flags_of(&tcb.read_registers(false)?);
        let expected = if abi::config::X86_64 {
            // Interrupts enabled, no single step, no I/O privilege, no other mode bits.
            word & 0xfff & !0x100 & !0x28 | 0x202
        } else {
            word & CONDITIONS | USER_MODE
        };
        check_eq!(flags, expected);
    }
    Ok(())
}

fn addresses_are_sanitised(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    for address in [
        usize::MAX,
        1 << (usize::BITS - 1),
        (1 << (usize::BITS - 2)) + 1,
    ] {
        let mut registers = pattern(0);
        registers.0[PC] = address;
        registers.0[SP] = address;
        registers.0[TLS_BASE] = address;
        tcb.write_registers(false, &registers)?;
        let read = tcb.read_registers(false)?;
        check_eq!(read.0[SP], address);
        if abi::config::X86_64 {
            // Sign-extended addresses are canonical, including those of the kernel.
            let canonical = (address as isize) << 16 >> 16 == address as isize;
            let expected = if canonical { address } else { 0 };
            check_eq!((read.0[PC], read.0[TLS_BASE]), (expected, expected));
        } else {
            check_eq!(read.0[PC], address);
        }
    }
    // A thread that starts at a kernel address faults.
    let watched = test.watched(|| ())?;
    let mut registers = Registers::default();
    *registers.pc() = if abi::config::X86_64 {
        usize::MAX << 40
    } else {
        0xe000_0000
    };
    watched.thread.tcb.write_registers(true, &registers)?;
    let fault = watched.fault();
    check!(matches!(fault, userlib::Fault::Memory { .. }), "{fault:x?}");
    Ok(())
}

fn registers_survive_preemption(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let time = test.create_sched_context(&SLICE)?;
    tcb.set_sched_params(test.tcb, 0, BELOW, time, CPtr::NULL)?;
    let mut registers = pattern(0x31);
    *registers.pc() = spin as *const () as usize;
    tcb.write_registers(true, &registers)?;
    // It runs while the test sleeps, and is preempted when the test wakes.
    for _ in 0..3 {
        test.sleep(crate::support::ms(3))?;
        check_registers(tcb, &registers)?;
    }
    check!(time.consumed()? > crate::support::ms(0));
    Ok(())
}

fn registers_survive_a_system_call(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let time = test.create_sched_context(&SLICE)?;
    let notification: Notification = test.create()?;
    tcb.set_sched_params(test.tcb, 0, BELOW, time, CPtr::NULL)?;
    // A send changes no registers except those that the instruction itself overwrites.
    let mut registers = pattern(0x11);
    let call = bare_registers(call_once, Syscall::Send, notification.0);
    for index in [PC, abi::registers::SYSCALL, CAP, INFO] {
        registers.0[index] = call.0[index];
    }
    tcb.write_registers(true, &registers)?;
    test.sleep(crate::support::ms(3))?;
    check_eq!(notification.wait(), 0);
    let read = tcb.read_registers(false)?;
    *registers.pc() += abi::registers::SYSCALL_BYTES;
    for index in 0..COUNT {
        // x86-64: the instruction overwrites rcx and r11.
        let taken = abi::config::X86_64 && matches!(abi::registers::NAMES[index], "rcx" | "r11");
        if index != FLAGS && !taken {
            let (name, value) = (abi::registers::NAMES[index], read.0[index]);
            check!(
                value == registers.0[index],
                "{name} is {value:#x}, not {:#x}",
                registers.0[index]
            );
        }
    }
    Ok(())
}

fn reading_can_suspend(test: &mut Test) -> Outcome {
    let thread = test.spawn(BELOW, || note('a'))?;
    thread.tcb.read_registers(true)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    thread.tcb.read_registers(false)?;
    thread.tcb.resume()?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    Ok(())
}

fn writing_can_resume(test: &mut Test) -> Outcome {
    let notification: Notification = test.create()?;
    let tcb = test.bare_thread()?;
    let time = test.create_sched_context(&SLICE)?;
    tcb.set_sched_params(test.tcb, 0, BELOW, time, CPtr::NULL)?;
    let registers = bare_registers(call_once, Syscall::Send, notification.0);
    let badged = test.badge(notification, 1)?;
    let mut with_badge = registers;
    with_badge.0[CAP] = badged.0.0;
    tcb.write_registers(false, &with_badge)?;
    test.sleep(crate::support::ms(2))?;
    check_eq!(notification.poll(), 0);
    tcb.write_registers(true, &with_badge)?;
    test.sleep(crate::support::ms(2))?;
    check_eq!(notification.poll(), 1);
    Ok(())
}

/// A thread that waits for a message and notes its label as a letter.
fn waiter(test: &mut Test, endpoint: Endpoint) -> Outcome<Tcb> {
    let thread = test.spawn(ABOVE, move || {
        let message = endpoint.wait().message;
        note((b'a' + message.map_or(25, |message| message.label() as u8)) as char);
    })?;
    Ok(thread.tcb)
}

fn writing_to_the_blocked_leaves_them_blocked(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let tcb = waiter(test, endpoint)?;
    let mut registers = tcb.read_registers(false)?;
    // Both the address of return and that of a restart are now after the call.
    *registers.pc() += abi::registers::SYSCALL_BYTES;
    tcb.write_registers(false, &registers)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    check_eq!(tcb.read_registers(false)?, registers);
    // It is still in the wait queue: it receives the message, and continues where the registers say.
    endpoint.nb_send(Message::empty(1));
    check_eq!(noted(), "b");
    Ok(())
}

fn writing_and_resuming_ends_a_wait(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let tcb = waiter(test, endpoint)?;
    let mut registers = tcb.read_registers(false)?;
    // After the call, as if it had returned with an empty message.
    *registers.pc() += abi::registers::SYSCALL_BYTES;
    registers.0[INFO] = abi::MessageInfo::new(2, 0, 0).0;
    tcb.write_registers(true, &registers)?;
    check_eq!(noted(), "c");
    endpoint.nb_send(Message::empty(1));
    check_eq!(noted(), "c");
    Ok(())
}

fn copying_takes_sets(test: &mut Test) -> Outcome {
    let (source, target) = (test.bare_thread()?, test.bare_thread()?);
    for (frame, integer) in [(false, false), (true, false), (false, true), (true, true)] {
        source.write_registers(false, &pattern(40))?;
        target.write_registers(false, &pattern(80))?;
        let what = CopyRegisters {
            frame,
            integer,
            ..CopyRegisters::default()
        };
        target.copy_registers(source, what)?;
        let mut expected = pattern(80);
        let new = pattern(40);
        if frame {
            expected.0[..FRAME_COUNT].copy_from_slice(&new.0[..FRAME_COUNT]);
        }
        if integer {
            expected.0[FRAME_COUNT..].copy_from_slice(&new.0[FRAME_COUNT..]);
        }
        check_registers(target, &expected)?;
        check_registers(source, &pattern(40))?;
    }
    Ok(())
}

fn copying_suspends_and_resumes(test: &mut Test) -> Outcome {
    let source = test.spawn(BELOW, || note('s'))?;
    let target = test.thread(BELOW, || note('t'))?;
    let what = CopyRegisters {
        suspend_source: true,
        resume_target: true,
        ..CopyRegisters::default()
    };
    target.tcb.copy_registers(source.tcb, what)?;
    test.let_others_run()?;
    check_eq!(noted(), "t");
    Ok(())
}

fn copying_needs_a_source(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    let endpoint: Endpoint = test.create()?;
    let all = CopyRegisters::default();
    check_eq!(
        tcb.copy_registers(Tcb(endpoint.0), all),
        Err(Error::InvalidCapability(1))
    );
    check_eq!(
        tcb.copy_registers(Tcb(CPtr::NULL), all),
        Err(Error::InvalidCapability(1))
    );
    check_eq!(tcb.copy_registers(tcb, all), Ok(()));
    Ok(())
}

fn a_blocked_thread_is_at_its_call(test: &mut Test) -> Outcome {
    use arch::{SYSTEM_CALL_OFFSET, system_call};
    let endpoint: Endpoint = test.create()?;
    let thread = test.spawn(ABOVE, move || {
        // SAFETY: waiting changes no memory.
        unsafe { system_call(endpoint.0.0, 0, Syscall::Wait.number()) };
        note('a');
    })?;
    let call = system_call as *const () as usize + SYSTEM_CALL_OFFSET;
    let registers = thread.tcb.read_registers(true)?;
    check_eq!(registers.0[PC], call);
    check_eq!(registers.0[CAP], endpoint.0.0);
    check_eq!(registers.0[abi::registers::SYSCALL], Syscall::Wait.number());
    thread.start()?;
    endpoint.nb_send(Message::empty(0));
    check_eq!(noted(), "a");
    Ok(())
}

fn a_suspended_thread_can_be_restarted_elsewhere(test: &mut Test) -> Outcome {
    // This is how libraries handle an aborted call: they skip the instruction and continue.
    let endpoint: Endpoint = test.create()?;
    let thread = test.spawn(ABOVE, move || {
        syscall::send(endpoint.0, Message::empty(0));
        note('a');
    })?;
    let mut registers = thread.tcb.read_registers(true)?;
    *registers.pc() += abi::registers::SYSCALL_BYTES;
    thread.tcb.write_registers(true, &registers)?;
    check_eq!(noted(), "a");
    check!(endpoint.nb_wait().is_none());
    Ok(())
}

fn the_tls_base_is_set(test: &mut Test) -> Outcome {
    let tcb = test.bare_thread()?;
    tcb.write_registers(false, &pattern(1))?;
    tcb.set_tls_base(0x1234_5000)?;
    let mut expected = pattern(1);
    // 32-bit Arm has a second register for this, which is the one that programs use.
    let all = if abi::config::AARCH32 { 2 } else { 1 };
    expected.0[TLS_BASE..TLS_BASE + all].fill(0x1234_5000);
    check_registers(tcb, &expected)?;
    Ok(())
}

fn the_own_tls_base_is_set_at_once(test: &mut Test) -> Outcome {
    // Userlib finds the IPC buffer by this register, so the test moves its buffer.
    let (frame, address) = test.create_page()?;
    // SAFETY: the page belongs to the test and becomes the buffer; its first word is its address.
    unsafe { arch::store(address, address) };
    test.tcb.set_ipc_buffer(address, frame)?;
    test.tcb.set_tls_base(address)?;
    check_eq!(userlib::arch::ipc_buffer_address(), address);
    userlib::ipc_buffer::set_message_word(9, 0x77);
    // SAFETY: as above.
    let word = unsafe { arch::load(address + 10 * size_of::<usize>()) };
    check_eq!(word, 0x77);
    // The kernel uses this buffer, too.
    let result = test.tcb.read_registers(false);
    check_eq!(result, Err(Error::IllegalOperation));
    let other = test.bare_thread()?;
    other.write_registers(false, &pattern(4))?;
    check_registers(other, &pattern(4))?;
    Ok(())
}

fn a_tls_base_that_cannot_be_is_refused(test: &mut Test) -> Outcome {
    const GOOD: usize = 0x1234_5000;
    // On x86-64 a non-canonical address, in neither the user's nor the kernel's part. Arm accepts any
    // address.
    let bad: usize = 1 << (usize::BITS - 2);
    let expected = if abi::config::X86_64 { GOOD } else { bad };
    let tcb = test.bare_thread()?;
    tcb.set_tls_base(GOOD)?;
    check_eq!(tcb.set_tls_base(bad), Ok(()));
    check_eq!(tcb.read_registers(false)?.0[TLS_BASE], expected);
    // The system call, made by a thread without stack or buffer.
    let mut registers = arch::bare_registers(arch::call_once, Syscall::SetTlsBase, CPtr(bad));
    registers.0[TLS_BASE] = GOOD;
    tcb.set_sched_params(test.tcb, 0, BELOW, CPtr::NULL, CPtr::NULL)?;
    let time = test.create_sched_context(&SLICE)?;
    tcb.write_registers(true, &registers)?;
    time.bind(tcb)?;
    test.sleep(ms(2))?;
    check_eq!(tcb.read_registers(true)?.0[TLS_BASE], expected);
    Ok(())
}
