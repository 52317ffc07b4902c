//! Faults: the contents of the message, and the effect of the reply.

use crate::support::arch::{
    self, STATUS_READ, STATUS_WRITE, STATUS_WRITE_PROTECTED, SYSTEM_CALL_OFFSET, UNDEFINED_BYTES,
    UNDEFINED_NUMBER,
};
use crate::support::events::{note, noted};
use crate::support::{ABOVE, Outcome, SLICE, Test};
use crate::{check, check_eq};
use abi::fault::FaultLabel;
use abi::registers::{FLAGS, PC, SYSCALL_BYTES, UNKNOWN_SYSCALL};
use userlib::cap::{Attributes, Endpoint, Frame, Reply};
use userlib::{CPtr, Fault, Message, Rights};

tests![
    reading_nothing,
    writing_nothing,
    jumping_nowhere,
    writing_to_read_only_memory,
    a_reply_repeats_the_access,
    the_label_of_a_memory_reply_is_ignored,
    undefined_instructions,
    undefined_instructions_can_be_skipped,
    a_refused_exception_stops_the_thread,
    unknown_system_calls,
    unknown_system_calls_show_all_registers,
    unknown_system_calls_can_be_emulated,
    unknown_system_calls_are_repeated,
    capability_faults_can_be_resolved,
    faults_carry_the_badge,
    faults_without_a_handler_stop_the_thread,
    deleting_the_handler_stops_the_thread,
    handlers_may_be_replaced_after_the_fault,
    faults_in_a_fault_handler,
    long_messages_are_cut_without_a_buffer,
    buffers_do_not_matter_to_the_faulter,
];

/// An address where nothing is mapped.
const NOWHERE: usize = 0x1000_0000;

fn address_of(function: *const ()) -> usize {
    function as usize
}

fn reading_nothing(test: &mut Test) -> Outcome {
    for address in [0, NOWHERE, NOWHERE + 0x123] {
        let fault = test.fault_of(move || {
            // SAFETY: nothing is mapped there.
            unsafe { arch::load(address) };
        })?;
        check_eq!(
            fault,
            Fault::Memory {
                pc: address_of(arch::load as *const ()),
                address,
                instruction: false,
                status: STATUS_READ
            }
        );
    }
    Ok(())
}

fn writing_nothing(test: &mut Test) -> Outcome {
    let fault = test.fault_of(|| {
        // SAFETY: nothing is mapped there.
        unsafe { arch::store(NOWHERE + 8, 1) };
    })?;
    let Fault::Memory {
        pc,
        address,
        instruction,
        status,
    } = fault
    else {
        crate::support::fail(format_args!("{fault:x?}"))
    };
    check_eq!(pc, address_of(arch::store as *const ()));
    check_eq!((address, instruction), (NOWHERE + 8, false));
    // The status shows that it was a write.
    check_eq!(status, STATUS_WRITE);
    Ok(())
}

fn jumping_nowhere(test: &mut Test) -> Outcome {
    let watched = test.watched(|| ())?;
    let mut registers = watched.thread.tcb.read_registers(false)?;
    *registers.pc() = NOWHERE;
    watched.thread.tcb.write_registers(true, &registers)?;
    let fault = watched.fault();
    let Fault::Memory {
        pc,
        address,
        instruction,
        ..
    } = fault
    else {
        crate::support::fail(format_args!("{fault:x?}"))
    };
    check_eq!((pc, address, instruction), (NOWHERE, NOWHERE, true));
    Ok(())
}

fn writing_to_read_only_memory(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let address = test.map(frame, Rights::READ, Attributes::NORMAL)?;
    let fault = test.fault_of(move || {
        // SAFETY: the page belongs to the test.
        unsafe { arch::store(address, 1) };
    })?;
    check_eq!(
        fault,
        Fault::Memory {
            pc: address_of(arch::store as *const ()),
            address,
            instruction: false,
            status: STATUS_WRITE_PROTECTED
        }
    );
    Ok(())
}

fn a_reply_repeats_the_access(test: &mut Test) -> Outcome {
    let address = test.reserve(1);
    let watched = test.watched(move || {
        // SAFETY: no Rust object is there.
        check_eq!(unsafe { arch::load(address) }, 0);
        note('a');
    })?;
    watched.thread.start()?;
    for _ in 0..3 {
        check!(matches!(watched.fault(), Fault::Memory { .. }));
        watched.reply.send(Message::empty(0));
        check_eq!(noted(), "");
    }
    check!(matches!(watched.fault(), Fault::Memory { .. }));
    let frame: Frame = test.create()?;
    let (vspace, rights) = (test.vspace, Rights::READ_WRITE);
    vspace.map(
        &mut test.allocator,
        frame,
        address,
        rights,
        Attributes::NORMAL,
    )?;
    watched.reply.send(Message::empty(0));
    check_eq!(noted(), "a");
    Ok(())
}

fn the_label_of_a_memory_reply_is_ignored(test: &mut Test) -> Outcome {
    let watched = test.watched(|| {
        // SAFETY: nothing is mapped there.
        unsafe { arch::load(NOWHERE) };
    })?;
    watched.thread.start()?;
    watched.message();
    watched.reply.send(Message::new(1, &[1, 2, 3]));
    check!(matches!(watched.fault(), Fault::Memory { .. }));
    Ok(())
}

fn undefined(test: &mut Test) -> Outcome<crate::support::Watched> {
    let watched = test.watched(|| {
        // SAFETY: it only faults.
        unsafe { arch::undefined() };
        note('a');
    })?;
    watched.thread.start()?;
    Ok(watched)
}

fn undefined_instructions(test: &mut Test) -> Outcome {
    let message = undefined(test)?.message();
    check_eq!(message.label(), FaultLabel::UserException as usize);
    check_eq!(message.length(), abi::fault::USER_EXCEPTION_LENGTH);
    let Fault::UserException {
        pc,
        number,
        code,
        flags,
        sp,
    } = Fault::from_message(&message)
    else {
        crate::support::fail(format_args!("another fault"))
    };
    check_eq!(pc, address_of(arch::undefined as *const ()));
    check_eq!((number, code), (UNDEFINED_NUMBER, 0));
    check!(flags != 0 && sp != 0);
    Ok(())
}

fn undefined_instructions_can_be_skipped(test: &mut Test) -> Outcome {
    let watched = undefined(test)?;
    let message = watched.message();
    // Only the program counter is written back.
    let next = message.word(0) + UNDEFINED_BYTES;
    watched.reply.send(Message::new(0, &[next]));
    check_eq!(noted(), "a");
    // An empty reply executes the instruction again.
    let other = undefined(test)?;
    other.message();
    other.reply.send(Message::empty(0));
    let (pc, words) = (address_of(arch::undefined as *const ()), other.message());
    check_eq!(words.word(0), pc);
    let all = [pc + UNDEFINED_BYTES, words.word(1), words.word(2)];
    other.reply.send(Message::new(0, &all));
    check_eq!(noted(), "aa");
    Ok(())
}

fn a_refused_exception_stops_the_thread(test: &mut Test) -> Outcome {
    let watched = undefined(test)?;
    let message = watched.message();
    let next = message.word(0) + UNDEFINED_BYTES;
    watched.reply.send(Message::new(1, &[next]));
    test.let_others_run()?;
    check_eq!(noted(), "");
    check!(watched.is_quiet());
    // The registers were written all the same.
    watched.thread.start()?;
    check_eq!(noted(), "a");
    Ok(())
}

/// A system call number that no kernel has.
const UNKNOWN: usize = (-999isize) as usize;

fn unknown(test: &mut Test, number: usize) -> Outcome<crate::support::Watched> {
    let watched = test.watched(move || {
        // SAFETY: it only faults.
        let result = unsafe { arch::system_call(0x1111, 0x2222, number) };
        check_eq!(result, 0x3333);
        note('a');
    })?;
    watched.thread.start()?;
    Ok(watched)
}

/// The index of a register in an UnknownSyscall message.
fn place(register: usize) -> usize {
    let place = UNKNOWN_SYSCALL.iter().position(|&entry| entry == register);
    place.unwrap_or(usize::MAX)
}

fn unknown_system_calls(test: &mut Test) -> Outcome {
    for number in [UNKNOWN, 0, 1, 7, usize::MAX - 4000, 1 << 31] {
        let message = unknown(test, number)?.message();
        check_eq!(message.label(), FaultLabel::UnknownSyscall as usize);
        check_eq!(message.length(), UNKNOWN_SYSCALL.len() + 1);
        let call = address_of(arch::system_call as *const ()) + SYSTEM_CALL_OFFSET;
        check_eq!(
            Fault::from_message(&message),
            Fault::UnknownSyscall {
                pc: call,
                number,
                argument: 0x1111
            }
        );
    }
    Ok(())
}

fn unknown_system_calls_show_all_registers(test: &mut Test) -> Outcome {
    let watched = test.watched(|| ())?;
    let mut registers = userlib::cap::Registers::default();
    for (index, register) in registers.0.iter_mut().enumerate() {
        *register = 0x4000 + index;
    }
    *registers.pc() = address_of(arch::call_once as *const ());
    registers.0[FLAGS] = 0;
    registers.0[abi::registers::SYSCALL] = UNKNOWN;
    watched.thread.tcb.write_registers(true, &registers)?;
    let message = watched.message();
    for (index, &register) in UNKNOWN_SYSCALL.iter().enumerate() {
        let name = abi::registers::NAMES[register];
        // Registers that the kernel entry does not capture: as in seL4, programs cannot rely on them. The
        // flags hold more than was written.
        let unknown = abi::config::X86_64 && matches!(name, "rsp" | "rcx" | "r11");
        // The address after the system call, which the reference kernel reports here.
        let link = abi::config::ARM && name == "r14";
        if unknown || link || register == FLAGS {
            continue;
        }
        let (word, expected) = (message.word(index), registers.0[register]);
        check!(word == expected, "{name} is {word:#x}, not {expected:#x}");
    }
    check_eq!(message.word(UNKNOWN_SYSCALL.len()), UNKNOWN);
    Ok(())
}

fn unknown_system_calls_can_be_emulated(test: &mut Test) -> Outcome {
    let watched = unknown(test, UNKNOWN)?;
    let message = watched.message();
    let mut words = [0; UNKNOWN_SYSCALL.len()];
    for (index, word) in words.iter_mut().enumerate() {
        *word = message.word(index);
    }
    words[place(abi::registers::CAP)] = 0x3333;
    words[place(PC)] += SYSCALL_BYTES;
    watched.reply.send(Message::new(0, &words));
    check_eq!(noted(), "a");
    Ok(())
}

fn unknown_system_calls_are_repeated(test: &mut Test) -> Outcome {
    let watched = unknown(test, UNKNOWN)?;
    for _ in 0..3 {
        let message = watched.message();
        let call = address_of(arch::system_call as *const ()) + SYSTEM_CALL_OFFSET;
        check_eq!(message.word(place(PC)), call);
        watched.reply.send(Message::empty(0));
    }
    check_eq!(noted(), "");
    Ok(())
}

fn capability_faults_can_be_resolved(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let slot = test.empty_slot()?;
    let address = CPtr(slot.index);
    let watched = test.watched(move || {
        let message = Endpoint(address).wait().message;
        check_eq!(message.map(|message| message.label()), Some(8));
        note('a');
    })?;
    watched.thread.start()?;
    check!(matches!(watched.fault(), Fault::Capability { .. }));
    slot.copy_from(test.slot(endpoint), Rights::ALL)?;
    watched.reply.send(Message::empty(99));
    endpoint.send(Message::empty(8));
    check_eq!(noted(), "a");
    Ok(())
}

fn faults_carry_the_badge(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    for badge in [0, 7, 0xabc_def] {
        let handler = test.badge(endpoint, badge)?;
        let thread = test.thread_with(ABOVE, Some(SLICE), handler, || {
            // SAFETY: it only faults.
            unsafe { arch::undefined() };
        })?;
        thread.start()?;
        let received = endpoint.nb_recv(reply);
        check_eq!(received.map(|received| received.badge), Some(badge));
        let capabilities = received.and_then(|received| received.message);
        check_eq!(capabilities.map(|message| message.capabilities()), Some(0));
    }
    Ok(())
}

fn faults_without_a_handler_stop_the_thread(test: &mut Test) -> Outcome {
    let thread = test.thread_with(ABOVE, Some(SLICE), CPtr::NULL, || {
        note('a');
        // SAFETY: it only faults.
        unsafe { arch::undefined() };
        note('b');
    })?;
    thread.start()?;
    test.let_others_run()?;
    check_eq!(noted(), "a");
    let mut registers = thread.tcb.read_registers(false)?;
    check_eq!(*registers.pc(), address_of(arch::undefined as *const ()));
    *registers.pc() += UNDEFINED_BYTES;
    let faults = test.faults;
    let (cnode, vspace) = (test.allocator.cnode(), test.vspace);
    thread.tcb.set_space(faults, cnode, 0, vspace)?;
    thread.tcb.write_registers(true, &registers)?;
    check_eq!(noted(), "ab");
    Ok(())
}

fn deleting_the_handler_stops_the_thread(test: &mut Test) -> Outcome {
    let watched = undefined(test)?;
    // The thread holds a copy of its own, which is deleted with the original.
    test.slot(watched.endpoint).revoke()?;
    test.delete(watched.endpoint)?;
    test.let_others_run()?;
    check_eq!(noted(), "");
    let mut registers = watched.thread.tcb.read_registers(false)?;
    check_eq!(*registers.pc(), address_of(arch::undefined as *const ()));
    *registers.pc() += UNDEFINED_BYTES;
    let (faults, cnode, vspace) = (test.faults, test.allocator.cnode(), test.vspace);
    watched.thread.tcb.set_space(faults, cnode, 0, vspace)?;
    watched.thread.tcb.write_registers(true, &registers)?;
    check_eq!(noted(), "a");
    Ok(())
}

fn handlers_may_be_replaced_after_the_fault(test: &mut Test) -> Outcome {
    let watched = undefined(test)?;
    let (cnode, vspace) = (test.allocator.cnode(), test.vspace);
    watched.thread.tcb.set_space(CPtr::NULL, cnode, 0, vspace)?;
    // The fault was already sent to the first endpoint.
    let message = watched.message();
    let faults = test.faults;
    watched.thread.tcb.set_space(faults, cnode, 0, vspace)?;
    let next = message.word(0) + UNDEFINED_BYTES;
    watched.reply.send(Message::new(0, &[next]));
    check_eq!(noted(), "a");
    Ok(())
}

fn faults_in_a_fault_handler(test: &mut Test) -> Outcome {
    let inner: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    // A handler that faults itself before it answers.
    let handler = test.watched(move || {
        let message = inner.recv(reply).message.unwrap_or(Message::empty(0));
        // SAFETY: it only faults.
        unsafe { arch::undefined() };
        let next = message.word(0) + UNDEFINED_BYTES;
        reply.send(Message::new(0, &[next]));
    })?;
    handler.thread.start()?;
    let thread = test.thread_with(ABOVE, Some(SLICE), inner, || {
        // SAFETY: it only faults.
        unsafe { arch::undefined() };
        note('a');
    })?;
    thread.start()?;
    let message = handler.message();
    check_eq!(noted(), "");
    let next = message.word(0) + UNDEFINED_BYTES;
    handler.reply.send(Message::new(0, &[next]));
    check_eq!(noted(), "a");
    Ok(())
}

fn long_messages_are_cut_without_a_buffer(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let reply: Reply = test.create()?;
    let frame: Frame = test.create()?;
    let handler = test.thread(ABOVE, move || {
        let message = endpoint.recv(reply).message;
        let length = message.map(|message| message.length());
        check_eq!(length, Some(abi::registers::MESSAGE_REGISTERS));
        note('h');
    })?;
    handler.tcb.set_ipc_buffer(0, frame)?;
    handler.start()?;
    let thread = test.thread_with(ABOVE, Some(SLICE), endpoint, || {
        // SAFETY: it only faults.
        unsafe { arch::system_call(0, 0, UNKNOWN) };
    })?;
    thread.start()?;
    check_eq!(noted(), "h");
    Ok(())
}

fn buffers_do_not_matter_to_the_faulter(test: &mut Test) -> Outcome {
    let frame: Frame = test.create()?;
    let watched = test.watched(|| {
        // SAFETY: it only faults.
        unsafe { arch::system_call(0, 0, UNKNOWN) };
    })?;
    watched.thread.tcb.set_ipc_buffer(0, frame)?;
    watched.thread.start()?;
    let message = watched.message();
    check_eq!(message.length(), UNKNOWN_SYSCALL.len() + 1);
    check_eq!(message.word(UNKNOWN_SYSCALL.len()), UNKNOWN);
    Ok(())
}
