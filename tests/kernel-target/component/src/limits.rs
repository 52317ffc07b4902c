//! Attempts to evade limits and thresholds.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::support::events::{note, noted};
use crate::support::{ABOVE, BELOW, Outcome, Test, ms, spin};
use crate::{check, check_eq};
use abi::ErrorCode;
use abi::endpoint_flags::LIMIT;
use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::time::Clock;
use userlib::{Message, Microseconds, syscall};

tests![
    yield_costs_no_more_than_the_limit,
    a_server_that_drops_out_lifts_no_limit,
    a_reply_object_is_not_reused_at_the_expense_of_the_client,
    a_reply_object_is_not_deleted_at_the_expense_of_the_client,
    #[cfg(target_arch = "x86_64")]
    a_deferred_sender_cannot_waste_its_second_try,
];

/// A period longer than any test.
const NEVER: Microseconds = ms(1_000_000);

fn limit(test: &Test, endpoint: Endpoint, time: Microseconds) -> userlib::Result {
    test.slot(endpoint).set_endpoint_threshold(time, LIMIT)
}

/// A client that calls and notes `c` when the call has failed within `most`.
fn call_in_vain(test: &mut Test, endpoint: Endpoint, most: Microseconds) -> Outcome {
    let startup = test.startup;
    let client = test.timed(ABOVE, SchedParameters::new(ms(100), NEVER), move || {
        let clock = Clock::from_startup(startup);
        let start = clock.now();
        let answer = endpoint.call(Message::empty(0));
        check_eq!(answer.label(), ErrorCode::LimitReached as usize);
        check!(clock.now() - start < most);
        note('c');
    })?;
    client.start()?;
    Ok(())
}

fn yield_costs_no_more_than_the_limit(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        syscall::yield_now();
        note('x');
    })?;
    limit(test, endpoint, ms(5))?;
    call_in_vain(test, endpoint, ms(8))?;
    // Budget that was given up counts as used: the client continues when that time would have passed.
    test.sleep(ms(20))?;
    check_eq!(noted(), "c");
    Ok(())
}

fn a_server_that_drops_out_lifts_no_limit(test: &mut Test) -> Outcome {
    static TURNS: AtomicUsize = AtomicUsize::new(0);
    let (outer, outer_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (inner, inner_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let first = test.spawn_passive(ABOVE, move || {
        outer.recv(outer_reply);
        inner.call(Message::empty(0));
        note('x');
    })?;
    test.spawn_passive(BELOW, move || {
        inner.recv(inner_reply);
        loop {
            TURNS.fetch_add(1, Relaxed);
        }
    })?;
    limit(test, outer, ms(5))?;
    limit(test, inner, ms(4))?;
    call_in_vain(test, outer, ms(300))?;
    first.tcb.suspend()?;
    test.sleep(ms(100))?;
    check_eq!(noted(), "c");
    let before = TURNS.load(Relaxed);
    test.sleep(ms(20))?;
    check_eq!(TURNS.load(Relaxed), before);
    Ok(())
}

fn a_reply_object_is_not_reused_at_the_expense_of_the_client(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let other: Endpoint = test.create()?;
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        other.nb_recv(reply);
        note('x');
        spin();
    })?;
    limit(test, endpoint, ms(5))?;
    call_in_vain(test, endpoint, ms(2))?;
    test.let_others_run()?;
    check_eq!(noted(), "c");
    Ok(())
}

fn a_reply_object_is_not_deleted_at_the_expense_of_the_client(test: &mut Test) -> Outcome {
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let slot = test.slot(reply);
    test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        let _ = slot.delete();
        note('x');
        spin();
    })?;
    limit(test, endpoint, ms(5))?;
    call_in_vain(test, endpoint, ms(2))?;
    test.let_others_run()?;
    check_eq!(noted(), "c");
    Ok(())
}

#[cfg(target_arch = "x86_64")]
core::arch::global_asm!(
    ".global second_try, second_try_burn, second_try_end",
    // A system call, and room for a jump in its place.
    "second_try: syscall; nop; nop; nop; nop; nop; nop; ret",
    "second_try_burn: mov rcx, 4900000; 1: dec rcx; jnz 1b; syscall; ret",
    "second_try_end:",
);
#[cfg(target_arch = "x86_64")]
unsafe extern "C" {
    static second_try: u8;
    static second_try_burn: u8;
    static second_try_end: u8;
}

/// The instruction of a deferred sender is overwritten by a jump to a loop that uses up nearly all of the
/// accumulated budget, and then calls.
#[cfg(target_arch = "x86_64")]
fn a_deferred_sender_cannot_waste_its_second_try(test: &mut Test) -> Outcome {
    use crate::support::{spin_for, work};
    let (endpoint, reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    let (timeouts, timeouts_reply): (Endpoint, Reply) = (test.create()?, test.create()?);
    test.spawn(ABOVE + 2, move || {
        loop {
            timeouts.recv(timeouts_reply);
            note('t');
        }
    })?;
    let startup = test.startup;
    let server = test.spawn_passive(ABOVE, move || {
        endpoint.recv(reply);
        let clock = Clock::from_startup(startup);
        loop {
            spin_for(&clock, ms(3));
            note('s');
            endpoint.reply_recv(Message::empty(0), reply);
        }
    })?;
    server.tcb.set_timeout_endpoint(timeouts)?;
    test.slot(endpoint).set_endpoint_threshold(ms(5), 0)?;
    let (_, page) = test.create_page()?;
    let start = &raw const second_try as usize;
    let burn = &raw const second_try_burn as usize - start;
    let length = &raw const second_try_end as usize - start;
    // SAFETY: the code is contiguous, has this length, and fits into a page.
    unsafe { core::ptr::copy_nonoverlapping(start as *const u8, page as *mut u8, length) };
    let call = abi::Syscall::Call.number();
    let client = test.timed(BELOW, SchedParameters::new(ms(10), ms(50)), move || {
        work(startup, ms(7));
        note('c');
        // SAFETY: the code in the page makes a system call, changes only the registers named here, and
        // returns.
        unsafe {
            core::arch::asm!(
                "call {page}",
                page = in(reg) page,
                inout("rdx") call => _,
                inout("rdi") endpoint.0.0 => _,
                inout("rsi") 0usize => _,
                out("rax") _, out("rcx") _, out("r8") _, out("r9") _, out("r10") _,
                out("r11") _, out("r15") _,
            );
        }
        note('r');
    })?;
    client.start()?;
    test.sleep(ms(20))?;
    // The client is deferred now.
    check_eq!(noted(), "c");
    let distance = (burn - 5) as u32;
    // SAFETY: the code has room for these five bytes, and the thread that executes it does not run.
    unsafe {
        (page as *mut u8).write_volatile(0xe9);
        (page as *mut u8)
            .add(1)
            .cast::<u32>()
            .write_unaligned(distance);
    }
    test.sleep(ms(200))?;
    check_eq!(noted(), "csr");
    Ok(())
}
