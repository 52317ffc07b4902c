//! Fault reports.
//!
//! Four components fail in different ways. Their parent receives the fault messages and prints reports. Then
//! the parent itself overflows its stack. This ends the run as failed, although other threads could continue
//! to run.
#![no_std]
#![no_main]
#![forbid(unsafe_code)]

use core::hint::black_box;
use userlib::cap::{Endpoint, Reply, SchedParameters};
use userlib::process::ProcessSize;
use userlib::thread::ThreadParameters;
use userlib::{
    BootInfo, CPtr, Environment, Fault, Microseconds, Outcome, PostMortem, Process, Result,
    archive, println, syscall,
};

const PROGRAM: &str = "faulty";
const WAYS: usize = 4;
const TIME: SchedParameters =
    SchedParameters::new(Microseconds::from_millis(2), Microseconds::from_millis(20));

userlib::root!(main);

fn main(boot: &'static BootInfo) -> Result {
    let mut environment = Environment::from_boot_info(boot);
    environment.end_with_root_task("faults")?;
    let busy = ThreadParameters {
        priority: 1,
        time: Some(TIME),
        fault_endpoint: CPtr::NULL,
    };
    let busy = environment.spawn(&busy, || {
        loop {
            syscall::yield_now();
        }
    })?;
    busy.set_name("busy");

    for way in 0..WAYS {
        fail(&mut environment, way)?;
    }
    syscall::debug_dump_scheduler();
    println!("{}", overflow(0));
    Ok(())
}

/// Makes a component fail in one of its ways, and reports the fault.
fn fail(environment: &mut Environment, way: usize) -> Result {
    let faults: Endpoint = environment.allocator.create()?;
    let reply: Reply = environment.allocator.create()?;
    let program = archive::file(PROGRAM).expect("the image has the component");
    let mut process = Process::new(environment, program)?;
    process.set_name(PROGRAM);
    process.give_number(environment, "way", way)?;
    process.set_fault_endpoint(environment, faults, 0)?;
    process.set_priorities(environment, 100, 0)?;
    process.set_time(environment, &TIME)?;
    process.start()?;
    let message = faults.recv(reply).message.expect("nothing signals here");
    match Outcome::from(Fault::from_message(&message)) {
        Outcome::Faulted(fault) => {
            let post_mortem = PostMortem {
                program: PROGRAM,
                fault,
                stack: ProcessSize::default().stack(),
            };
            println!("{post_mortem}");
        }
        outcome => println!("{PROGRAM}: {outcome:?}"),
    }
    process.destroy(environment)
}

/// Overflows the stack.
#[inline(never)]
fn overflow(depth: usize) -> usize {
    let frame = black_box([depth; 32]);
    match frame[1] {
        usize::MAX => 0,
        _ => overflow(depth + 1) + black_box(&frame)[2],
    }
}
