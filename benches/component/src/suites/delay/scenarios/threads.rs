//! Blocked threads.

use super::priority;
use crate::bench::{Bench, TIME};
use crate::suites::delay::attackers::{Attackers, Call};
use userlib::abi::Syscall;
use userlib::cap::{Endpoint, Notification, Reply, Tcb};
use userlib::{Result, Rights};

/// Creates attackers of all priorities that wait to send to an endpoint.
fn queue(bench: &mut Bench, count: usize) -> Result<(Attackers, Endpoint, Tcb)> {
    let mut attackers = Attackers::new(bench, count)?;
    let endpoint: Endpoint = attackers.arena.allocator.create()?;
    let send = Call::new(Syscall::Send, endpoint);
    let mut last = bench.tcb;
    for index in 0..count {
        last = attackers.add_waiting(bench, priority(index), send)?;
    }
    Ok((attackers, endpoint, last))
}

/// Receives the messages of senders of all priorities at one endpoint.
pub fn senders(bench: &mut Bench, count: usize) -> Result {
    let (attackers, endpoint, _) = queue(bench, count)?;
    for _ in 0..count {
        endpoint.wait();
    }
    attackers.delete(bench)
}

/// Signals a notification for which all attackers wait.
pub fn signals(bench: &mut Bench, count: usize) -> Result {
    let mut attackers = Attackers::new(bench, count)?;
    let notification: Notification = attackers.arena.allocator.create()?;
    let wait = Call::new(Syscall::Wait, notification);
    for index in 0..count {
        attackers.add_waiting(bench, priority(index), wait)?;
    }
    (0..count).for_each(|_| notification.signal());
    attackers.delete(bench)
}

/// Changes the priority of one of many senders at an endpoint.
pub fn priorities(bench: &mut Bench, count: usize) -> Result {
    let (attackers, _, sender) = queue(bench, count)?;
    for turn in 0..count {
        sender.set_priority(bench.tcb, priority(turn * 11 + 5))?;
    }
    attackers.delete(bench)
}

/// Deletes the endpoint at which all attackers wait.
pub fn endpoint_deleted(bench: &mut Bench, count: usize) -> Result {
    let (attackers, endpoint, _) = queue(bench, count)?;
    bench.allocator.slot(endpoint).delete()?;
    attackers.delete(bench)
}

/// Cancels the sends of every second attacker.
pub fn sends_cancelled(bench: &mut Bench, count: usize) -> Result {
    let mut attackers = Attackers::new(bench, count)?;
    let allocator = &mut attackers.arena.allocator;
    let endpoint: Endpoint = allocator.create()?;
    let mut badged = [endpoint; 2];
    for (badge, endpoint) in badged.iter_mut().enumerate() {
        *endpoint = allocator.mint(*endpoint, Rights::ALL, badge + 1)?;
    }
    for index in 0..count {
        let send = Call::new(Syscall::Send, badged[index % 2]);
        attackers.add_waiting(bench, priority(index), send)?;
    }
    bench.allocator.slot(badged[0]).cancel_badged_sends()?;
    attackers.delete(bench)
}

/// Each attacker was called by the previous one and calls the next, all on the scheduling context of the
/// first. Deletes that context, and then the attackers.
pub fn reply_chain(bench: &mut Bench, count: usize) -> Result {
    let mut attackers = Attackers::new(bench, count)?;
    let context = attackers.context(bench, &TIME)?;
    let mut next: Endpoint = attackers.arena.allocator.create()?;
    // The last one calls an endpoint without a receiver.
    for _ in 1..count {
        let own: Endpoint = attackers.arena.allocator.create()?;
        let reply: Reply = attackers.arena.allocator.create()?;
        let calls = [
            Call::new(Syscall::Recv, own).with_reply(reply),
            Call::new(Syscall::Call, next),
        ];
        let server = attackers.add(bench, context, calls, [0; 2])?;
        server.resume()?;
        context.unbind_object(server)?;
        next = own;
    }
    let call = Call::new(Syscall::Call, next);
    attackers.add(bench, context, [call; 2], [0; 2])?.resume()?;
    bench.allocator.slot(context).delete()?;
    attackers.delete(bench)
}
