//! Replenishments.

use super::priority;
use crate::bench::Bench;
use crate::suites::delay::attackers::{Attackers, Call};
use crate::suites::delay::high_priority::pass;
use userlib::abi::Syscall;
use userlib::cap::{Endpoint, Notification, SchedParameters};
use userlib::{Message, Microseconds, Result};

/// Slightly more than the smallest budget.
const BUDGET: u64 = 25;

/// The replenishments of all attackers become due while higher-priority threads run.
pub fn releases(bench: &mut Bench, count: usize) -> Result {
    let period = (2 * BUDGET * count as u64).max(1000);
    let time = SchedParameters::new(Microseconds(BUDGET), Microseconds(period));
    let mut attackers = Attackers::new(bench, count)?;
    for index in 0..count {
        attackers.add_busy(bench, priority(index), &time)?;
    }
    bench.let_others_run()?;
    pass(Microseconds(period));
    bench.let_others_run()?;
    attackers.delete(bench)
}

/// A thread has used its budget in many small amounts, and all have been replenished when it wakes up.
pub fn replenishments(bench: &mut Bench, count: usize) -> Result {
    let budget = Microseconds(BUDGET * (count as u64 + 1));
    let time = SchedParameters::new(budget, budget + Microseconds(BUDGET))
        .with_extra_refills(count)
        .sporadic();
    let mut attackers = Attackers::new(bench, count)?;
    let notification: Notification = attackers.arena.allocator.create()?;
    let context = attackers.context(bench, &time)?;
    let wait = Call::new(Syscall::Wait, notification);
    attackers.add(bench, context, [wait; 2], [0; 2])?.resume()?;
    (0..count).for_each(|_| notification.signal());
    pass(time.period);
    notification.signal();
    attackers.delete(bench)
}

/// A thread has waited at an endpoint for long, on an idling context with many replenishments, each larger
/// than the smallest budget.
pub fn idling(bench: &mut Bench, count: usize) -> Result {
    const PIECE: Microseconds = Microseconds(2 * BUDGET);
    let budget = PIECE.0 * (2 * count as u64 + 1);
    let time = SchedParameters::new(Microseconds(budget), Microseconds(2 * budget))
        .with_extra_refills(count)
        .idling();
    let mut attackers = Attackers::new(bench, count)?;
    let notification: Notification = attackers.arena.allocator.create()?;
    let endpoint: Endpoint = attackers.arena.allocator.create()?;
    let context = attackers.context(bench, &time)?;
    let calls = [
        Call::new(Syscall::Wait, notification),
        Call::new(Syscall::Wait, endpoint),
    ];
    attackers.add(bench, context, calls, [0; 2])?.resume()?;
    for _ in 0..count {
        notification.signal();
        pass(PIECE);
        endpoint.send(Message::empty(0));
        pass(PIECE);
    }
    // The end of the wait determines how many replenishments are processed.
    for sixteenths in 16..32 {
        notification.signal();
        pass(Microseconds(time.period.0 * sixteenths / 16));
        endpoint.send(Message::empty(0));
    }
    attackers.delete(bench)
}
