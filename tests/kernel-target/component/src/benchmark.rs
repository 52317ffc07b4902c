//! The system calls of `bench` kernels. These tests run on such a kernel only, in a run of their own.

use crate::support::arch::{load, raw_system_call, system_call};
use crate::support::{ABOVE, BELOW, Outcome, Test, ms, spin};
use crate::{check, check_eq};
use abi::{ErrorCode, Rights, Syscall};
use userlib::arch::Registers;
use userlib::cap::{Endpoint, FrameSize, Notification, Reply, Tcb};
use userlib::{CPtr, Capability, Fault, Message, ipc_buffer, syscall};

tests![
    the_null_call_does_nothing,
    reading_the_clock_and_setting_the_timer_changes_nothing,
    flushing_caches_keeps_memory,
    the_time_of_threads_is_measured,
    what_was_measured_can_be_forgotten,
    only_threads_have_been_measured,
    without_a_log_there_are_no_entries,
    logs_are_frames_that_can_be_written,
    entries_of_the_kernel_are_logged,
    a_full_log_ends,
    deleting_the_frame_ends_the_log,
    calls_of_debug_kernels_fault,
    what_the_processor_refuses_is_unknown,
];

fn call(call: Syscall, argument: usize) -> usize {
    // SAFETY: benchmark calls change no memory that Rust knows of, except the log, which the tests read with
    // volatile accesses.
    unsafe { system_call(argument, 0, call.number()) }
}

/// The utilisation of a thread, in the ABI's order.
fn utilisation(tcb: Tcb) -> [u64; 13] {
    call(Syscall::BenchmarkGetThreadUtilisation, tcb.cptr().0);
    let words = size_of::<u64>() / size_of::<usize>();
    core::array::from_fn(|index| {
        (0..words).fold(0, |value, part| {
            let word = ipc_buffer::message_word(index * words + part);
            value | (word as u64) << (part * usize::BITS as usize)
        })
    })
}

fn the_null_call_does_nothing(_: &mut Test) -> Outcome {
    for argument in [0, 1, usize::MAX] {
        check_eq!(call(Syscall::BenchmarkNullSyscall, argument), argument);
    }
    Ok(())
}

/// The timer still fires on time: a sleeping thread wakes.
fn reading_the_clock_and_setting_the_timer_changes_nothing(test: &mut Test) -> Outcome {
    for argument in 0..100 {
        check_eq!(call(Syscall::BenchmarkReadClock, argument), argument);
        check_eq!(call(Syscall::BenchmarkSetTimer, argument), argument);
    }
    let before = test.now();
    test.sleep(ms(5))?;
    check!(test.now() - before >= ms(5));
    Ok(())
}

fn flushing_caches_keeps_memory(test: &mut Test) -> Outcome {
    let (_, address) = test.create_page()?;
    let place = address as *mut usize;
    for argument in [0, 1] {
        // SAFETY: the page is the test's own.
        unsafe { place.write_volatile(argument + 77) };
        call(Syscall::BenchmarkFlushCaches, argument);
        // SAFETY: the page is the test's own.
        check_eq!(unsafe { load(address) }, argument + 77);
    }
    Ok(())
}

/// Measures while a lower-priority thread works for about 20 ms; returns that thread.
fn measured(test: &mut Test) -> Outcome<Tcb> {
    let worker = test.thread(BELOW, || spin())?;
    check_eq!(call(Syscall::BenchmarkResetLog, 0), 0);
    worker.start()?;
    test.sleep(ms(20))?;
    worker.tcb.suspend()?;
    call(Syscall::BenchmarkFinalizeLog, 0);
    Ok(worker.tcb)
}

fn the_time_of_threads_is_measured(test: &mut Test) -> Outcome {
    let worker = measured(test)?;
    let [
        own,
        schedules,
        kernel,
        entries,
        idle,
        same,
        ..,
        total,
        all_schedules,
        all_kernel,
        all_entries,
    ] = utilisation(worker);
    check!(total > 0, "no time has passed");
    check!(own > total / 2 && own < total, "{own} of {total}");
    check!((1..10).contains(&schedules), "{schedules} switches to it");
    check!(
        kernel > 0 && kernel < own,
        "{kernel} of {own} in the kernel"
    );
    check!(entries > 0, "it never entered the kernel");
    check_eq!(idle, same);
    check!(all_schedules > schedules && all_entries > entries && all_kernel > kernel);
    // Measurement has stopped.
    check_eq!(utilisation(worker)[9], total);
    Ok(())
}

fn what_was_measured_can_be_forgotten(test: &mut Test) -> Outcome {
    let worker = measured(test)?;
    call(Syscall::BenchmarkResetThreadUtilisation, worker.cptr().0);
    check_eq!(utilisation(worker)[..4], [0; 4]);
    check!(utilisation(worker)[9] != 0, "the total is gone, too");
    Ok(())
}

fn only_threads_have_been_measured(test: &mut Test) -> Outcome {
    ipc_buffer::set_message_word(0, 5);
    let endpoint: Endpoint = test.create()?;
    for other in [endpoint.cptr().0, 0, usize::MAX] {
        call(Syscall::BenchmarkGetThreadUtilisation, other);
        call(Syscall::BenchmarkResetThreadUtilisation, other);
        check_eq!(ipc_buffer::message_word(0), 5);
    }
    Ok(())
}

fn without_a_log_there_are_no_entries(_: &mut Test) -> Outcome {
    check_eq!(call(Syscall::BenchmarkResetLog, 0), 0);
    syscall::yield_now();
    check_eq!(call(Syscall::BenchmarkFinalizeLog, 0), 0);
    Ok(())
}

fn logs_are_frames_that_can_be_written(test: &mut Test) -> Outcome {
    let (frame, _) = test.create_page()?;
    let read_only = test.restrict(frame, Rights::READ)?;
    let endpoint: Endpoint = test.create()?;
    let refused = ErrorCode::IllegalOperation as usize;
    for bad in [read_only.cptr(), endpoint.cptr(), CPtr(0), CPtr(usize::MAX)] {
        check_eq!(call(Syscall::BenchmarkSetLogBuffer, bad.0), refused);
    }
    check_eq!(call(Syscall::BenchmarkSetLogBuffer, frame.cptr().0), 0);
    let large = test.allocator.create_frame(FrameSize::Large)?;
    check_eq!(call(Syscall::BenchmarkSetLogBuffer, large.cptr().0), 0);
    // Deleting the frame unsets the log buffer.
    test.delete(large)?;
    Ok(())
}

/// A log entry: when the kernel entry began, how long it took, its path and details.
struct Entry {
    start: u64,
    duration: u32,
    path: u8,
    details: u32,
}

fn entry(log: usize, index: usize) -> Entry {
    let place = (log + index * 24) as *const u8;
    // SAFETY: the tests ask only for entries that lie in the page.
    unsafe {
        Entry {
            start: place.cast::<u64>().read_volatile(),
            duration: place.add(8).cast::<u32>().read_volatile(),
            path: place.add(12).read_volatile(),
            details: place.add(13).cast::<u32>().read_unaligned(),
        }
    }
}

fn entries_of_the_kernel_are_logged(test: &mut Test) -> Outcome {
    let (frame, log) = test.create_page()?;
    let bell: Notification = test.create()?;
    // A call and its reply would otherwise take the fast paths, which write no entries.
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        loop {
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    check_eq!(call(Syscall::BenchmarkSetLogBuffer, frame.cptr().0), 0);
    check_eq!(call(Syscall::BenchmarkResetLog, 0), 0);
    syscall::yield_now();
    bell.signal();
    bell.wait();
    endpoint.call(Message::empty(0));
    let count = call(Syscall::BenchmarkFinalizeLog, 0);
    let of_syscalls = (0..count)
        .map(|index| entry(log, index))
        .filter(|entry| entry.path == 6);
    let mut last = 0;
    let mut seen = [0; 5];
    let mut number = 0;
    for entry in of_syscalls {
        check!(entry.start > last, "{} is not after {last}", entry.start);
        last = entry.start + u64::from(entry.duration);
        check!(number < seen.len(), "more than {} calls", seen.len());
        seen[number] = entry.details & 15;
        number += 1;
        if number > 1 {
            let tag = entry.details >> 4 & 31;
            check!(tag != 0, "a call of no capability");
        }
    }
    let expected = [
        Syscall::Yield,
        Syscall::Send,
        Syscall::Wait,
        Syscall::Call,
        Syscall::ReplyRecv,
    ];
    check_eq!(
        seen,
        expected.map(|call| call.number().wrapping_neg() as u32 & 15)
    );
    Ok(())
}

fn a_full_log_ends(test: &mut Test) -> Outcome {
    let (frame, log) = test.create_page()?;
    let bell: Notification = test.create()?;
    check_eq!(call(Syscall::BenchmarkSetLogBuffer, frame.cptr().0), 0);
    for _ in 0..2 {
        check_eq!(call(Syscall::BenchmarkResetLog, 0), 0);
        for _ in 0..300 {
            bell.signal();
        }
        check_eq!(call(Syscall::BenchmarkFinalizeLog, 0), 4096 / 24);
        check!(entry(log, 4096 / 24 - 1).start != 0);
    }
    Ok(())
}

fn deleting_the_frame_ends_the_log(test: &mut Test) -> Outcome {
    let (frame, log) = test.create_page()?;
    let copy = test.copy(frame)?;
    check_eq!(call(Syscall::BenchmarkSetLogBuffer, frame.cptr().0), 0);
    check_eq!(call(Syscall::BenchmarkResetLog, 0), 0);
    // Deleting any copy unsets the log, because the memory may soon be reused.
    test.delete(copy)?;
    let before = entry(log, 0).start;
    syscall::yield_now();
    check_eq!(call(Syscall::BenchmarkFinalizeLog, 0), 0);
    check_eq!(entry(log, 0).start, before);
    Ok(())
}

fn calls_of_debug_kernels_fault(test: &mut Test) -> Outcome {
    for other in [
        Syscall::DebugHalt,
        Syscall::DebugSnapshot,
        Syscall::DebugCapIdentify,
        Syscall::BenchmarkDumpAllThreadsUtilisation,
        Syscall::BenchmarkResetAllThreadsUtilisation,
    ] {
        let fault = test.fault_of(move || {
            call(other, 0);
        })?;
        check!(
            matches!(fault, Fault::UnknownSyscall { number, .. } if number == other.number()),
            "{fault:?}"
        );
    }
    Ok(())
}

/// Makes a system call with a value in the first message register; returns the register's value afterwards.
fn access(call: Syscall, register: usize, value: usize) -> usize {
    let mut registers = Registers {
        cap: register,
        words: [value, 0, 0, 0],
        ..Registers::default()
    };
    // SAFETY: the tests name registers for which these values are harmless.
    unsafe { raw_system_call(call.number(), &mut registers) };
    registers.words[0]
}

#[cfg(target_arch = "x86_64")]
fn what_the_processor_refuses_is_unknown(test: &mut Test) -> Outcome {
    const TSC_AUX: usize = 0xc000_0103;
    // AMD64 manual vol. 2, section 15.30.4: the register holds the address of a page. The emulator accepts
    // every register number, but like a processor it refuses values that a register cannot hold.
    const HOST_SAVE_AREA: usize = 0xc001_0117;
    let (read, write) = (Syscall::X86DangerousRdmsr, Syscall::X86DangerousWrmsr);
    access(write, TSC_AUX, 0x1234);
    check_eq!(access(read, TSC_AUX, 0), 0x1234);
    access(write, TSC_AUX, 0);
    let fault = test.fault_of(move || {
        access(write, HOST_SAVE_AREA, 1);
    })?;
    check!(
        matches!(fault, Fault::UnknownSyscall { number, .. } if number == write.number()),
        "{fault:?}"
    );
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn what_the_processor_refuses_is_unknown(test: &mut Test) -> Outcome {
    let read = Syscall::X86DangerousRdmsr;
    let fault = test.fault_of(move || {
        access(read, 0, 0);
    })?;
    check!(
        matches!(fault, Fault::UnknownSyscall { number, .. } if number == read.number()),
        "{fault:?}"
    );
    Ok(())
}
