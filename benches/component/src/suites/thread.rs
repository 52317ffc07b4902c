//! Creation and deletion of threads.

use super::benchmarks;
use crate::bench::{Bench, TIME};
use crate::measure::{SAMPLES, WARM_UP};
use userlib::cap::{CNode, Frame, SchedContext, Tcb, Untyped};
use userlib::{CPtr, Capability, Result};

benchmarks![create_and_destroy: 1];

/// Creates a thread with a scheduling context of its own, up to the point where it could run, and deletes it.
/// Stack and buffer exist already. User-level code is part of the figure, but is small.
fn create_and_destroy(bench: &mut Bench, _: usize) -> Result {
    let counter = bench.counter();
    let buffer: Frame = bench.allocator.create()?;
    let buffer_address = bench.reserve(1);
    bench.map_at(buffer, buffer_address)?;
    let untyped: Untyped = bench.allocator.create_sized(16)?;
    let root: CNode = bench.allocator.cnode();
    let (tcb, context) = (bench.allocator.allocate_slot()?, bench.allocator.allocate_slot()?);
    let (mut create, mut destroy) = ([0; SAMPLES], [0; SAMPLES]);
    for round in 0..WARM_UP + SAMPLES {
        let from = counter.now();
        untyped.make::<Tcb>(0, tcb)?;
        untyped.make::<SchedContext>(TIME.size_bits(), context)?;
        let (thread, time) = (Tcb(CPtr(tcb.index)), SchedContext(CPtr(context.index)));
        thread.configure(root, 0, bench.vspace, buffer_address, buffer)?;
        bench.sched_control.configure(time, &TIME)?;
        thread.set_sched_params(bench.tcb, 1, 1, time, CPtr::NULL)?;
        thread.write_registers(true, &Default::default())?;
        let created = counter.now();
        tcb.delete()?;
        context.delete()?;
        let deleted = counter.now();
        if let Some(index) = round.checked_sub(WARM_UP) {
            create[index] = counter.net(from, created);
            destroy[index] = counter.net(created, deleted);
        }
        // Makes all of the untyped memory available again.
        bench.allocator.slot(untyped.cptr()).revoke()?;
    }
    bench.report("create", &[], &create);
    bench.report("destroy", &[], &destroy);
    Ok(())
}
