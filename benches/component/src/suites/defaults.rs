//! What a component gets whose description says nothing else: no floating-point unit, and a sporadic budget. The other
//! suites measure threads that use the unit and, where nothing else is said, run on round-robin timeslices.

use super::interrupt::{STAMP, spin};
use super::{PRIORITIES, benchmarks, ipc, signal as signals};
use crate::bench::{Bench, Time};
use crate::measure::repeated;
use crate::partner::Place;
use userlib::abi;
use userlib::abi::thread_flags::FPU_DISABLED;
use userlib::cap::SchedParameters;
use userlib::{Microseconds, Result};

benchmarks![call: 6, send: 2, signal: 2, wait: 1, release: 1];

/// So long that no budget ends during a measured operation.
const LONG: SchedParameters = SchedParameters::new(
    Microseconds::from_millis(500),
    Microseconds::from_millis(1000),
)
.sporadic();

/// A budget that its thread gives up, to get it again soon.
const SHORT: SchedParameters =
    SchedParameters::new(Microseconds(200), Microseconds(400)).sporadic();

/// The flags of the client and of the server: may the thread use the floating-point unit?
const UNITS: [(&str, usize, usize); 3] = [
    ("neither", FPU_DISABLED, FPU_DISABLED),
    ("client", 0, FPU_DISABLED),
    ("server", FPU_DISABLED, 0),
];

/// Call and ReplyRecv, to a passive server of the same priority in another address space.
fn call(bench: &mut Bench, variant: usize) -> Result {
    let (name, client, server) = UNITS[variant % UNITS.len()];
    set(bench, client, server)?;
    ipc::call_between(
        bench,
        Place::Other,
        [0, 10][variant / UNITS.len()],
        ("fpu", name),
    )
}

/// Gives this thread and the partner sporadic budgets, and flags.
fn set(bench: &Bench, own: usize, partners: usize) -> Result {
    bench.set_own_time(&LONG)?;
    bench.set_partners_time(&LONG)?;
    bench.set_flags(own, partners)
}

/// Send to a thread of higher or lower priority in another address space.
fn send(bench: &mut Bench, variant: usize) -> Result {
    set(bench, FPU_DISABLED, FPU_DISABLED)?;
    ipc::send(bench, 2 + variant)
}

/// Signal to a thread of higher or lower priority in another address space.
fn signal(bench: &mut Bench, variant: usize) -> Result {
    set(bench, FPU_DISABLED, FPU_DISABLED)?;
    signals::signal(bench, 2 + variant)
}

/// Wait, until a thread of lower priority in another address space continues.
fn wait(bench: &mut Bench, _: usize) -> Result {
    set(bench, FPU_DISABLED, FPU_DISABLED)?;
    signals::wait(bench, 1)
}

/// From a thread that runs until the budget of a higher-priority one is replenished to that thread.
fn release(bench: &mut Bench, _: usize) -> Result {
    bench.set_flags(FPU_DISABLED, FPU_DISABLED)?;
    let (counter, shared) = (bench.counter(), bench.shared());
    let spinner = bench.start(Place::Other, PRIORITIES[2].1, Time::Own, spin)?;
    bench.set_own_time(&SHORT)?;
    bench.peer.notification.signal();
    let samples = repeated(|| {
        let stamps = counter.timed(abi::Syscall::Yield, &mut Default::default());
        let mut registers = spinner.read_registers(false)?;
        let end = counter.interrupted(shared.argument(STAMP), &registers);
        *registers.pc() = counter.spin_again();
        spinner.write_registers(true, &registers)?;
        Ok(counter.between(end, stamps.after))
    })?;
    bench.report("release", &[("space", "other".into())], &samples);
    Ok(())
}
