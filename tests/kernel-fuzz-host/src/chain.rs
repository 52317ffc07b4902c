//! Histories of calls with limits: what ends them, in any order.
//!
//! Bytes that a fuzzer changes seldom make a call inside of a call. So these histories are put together from
//! well-formed moves, after a beginning that makes the chain.

use abi::{Method, ObjectType, Syscall, WORD_BITS, endpoint_flags};

use crate::input::Step;
use crate::seeds::{call, method, method_in_space, retype};
use crate::system::at;

/// The endpoints of the two servers.
const ENDPOINTS: [usize; 2] = [at::EMPTY, at::EMPTY + 1];
/// Their reply objects, and one of neither.
const REPLIES: [usize; 3] = [at::EMPTY + 2, at::EMPTY + 3, at::EMPTY + 4];
/// Limits of their calls, in microseconds.
const LIMITS: [usize; 2] = [400, 150];
/// The servers.
const SERVERS: [usize; 2] = [at::PEER, at::STOPPED];

fn limit(index: usize, limit: usize) -> Step {
    let flags = if limit > 0 { endpoint_flags::LIMIT } else { 0 };
    let words = [ENDPOINTS[index], WORD_BITS, limit, flags];
    method(at::SPACE, Method::CNodeEndpointSetThreshold, &words, &[])
}

/// The program calls a server, which calls another one; both have limits and are passive. A third thread,
/// with time of its own and a higher priority, waits for an interrupt.
pub fn chain() -> Vec<Step> {
    let wait_at = |index: usize| call(Syscall::Recv, ENDPOINTS[index], REPLIES[index], 0, &[]);
    // No context, the same handler.
    let passive = |server: usize, priority: usize| {
        let caps = [at::SELF, 0, at::FAULTS];
        method(server, Method::TcbSetSchedParams, &[9, priority], &caps)
    };
    let spaces = [at::FAULTS, at::SPACE, at::ADDRESS_SPACE];
    let mut registers = vec![1, 20];
    registers.extend(0x1000..0x1014);
    vec![
        retype(ObjectType::Endpoint, 0, ENDPOINTS[0], 2),
        retype(ObjectType::Reply, 0, REPLIES[0], 3),
        limit(0, LIMITS[0]),
        limit(1, LIMITS[1]),
        method(at::SERVER, Method::TcbSetSpace, &[0, 0], &spaces),
        method(at::SERVER, Method::TcbWriteRegisters, &registers, &[]),
        method(at::SPARE, Method::SchedContextBind, &[], &[at::SERVER]),
        // The third thread runs now, then the program, the inner server, the program, the outer one.
        call(Syscall::Wait, at::INTERRUPT, 0, 0, &[]),
        method(at::STOPPED, Method::TcbResume, &[], &[]),
        wait_at(1),
        passive(at::STOPPED, 8),
        method(at::SELF, Method::TcbSetPriority, &[4], &[at::SELF]),
        wait_at(0),
        passive(at::PEER, 7),
        call(Syscall::Call, ENDPOINTS[0], 0, 0, &[1]),
        call(Syscall::Call, ENDPOINTS[1], 0, 0, &[2]),
    ]
}

/// What the running thread, or the third thread, does next.
pub fn moves() -> Vec<Vec<Step>> {
    let mut own = vec![
        call(Syscall::Yield, 0, 0, 0, &[]),
        method(at::CONTEXT, Method::SchedContextUnbind, &[], &[]),
        method(at::SPARE, Method::SchedContextUnbind, &[], &[]),
        method(at::SELF, Method::TcbSuspend, &[], &[]),
        method(at::SELF, Method::TcbResume, &[], &[]),
        method(at::CONTEXT, Method::SchedContextBind, &[], &[at::SELF]),
        retype(ObjectType::Reply, 0, REPLIES[0], 3),
    ];
    for index in 0..2 {
        let (endpoint, server) = (ENDPOINTS[index], SERVERS[index]);
        own.extend([
            method(server, Method::TcbSuspend, &[], &[]),
            method(server, Method::TcbResume, &[], &[]),
            method(at::PEER_CONTEXT, Method::SchedContextBind, &[], &[server]),
            method(
                at::CONTEXT,
                Method::SchedContextUnbindObject,
                &[],
                &[server],
            ),
            call(Syscall::Call, endpoint, 0, 0, &[3]),
            limit(index, 0),
            limit(index, LIMITS[index]),
        ]);
    }
    for (index, reply) in REPLIES.into_iter().enumerate() {
        own.extend([
            method_in_space(Method::CNodeDelete, reply),
            call(Syscall::Send, reply, 0, 0, &[4]),
            call(Syscall::NBRecv, at::BADGED, reply, 0, &[]),
            call(Syscall::Recv, ENDPOINTS[index % 2], reply, 0, &[]),
            call(Syscall::ReplyRecv, ENDPOINTS[index % 2], reply, 0, &[5]),
        ]);
    }
    let third = |step: &Step| {
        vec![
            Step::Interrupt(0),
            step.clone(),
            method(at::IRQ_HANDLER, Method::IrqAckIrq, &[], &[]),
            call(Syscall::Wait, at::INTERRUPT, 0, 0, &[]),
        ]
    };
    let others: Vec<_> = own.iter().map(third).collect();
    // Only the third thread can do this while the servers run, so it is more frequent.
    let unbind = method(at::CONTEXT, Method::SchedContextUnbind, &[], &[]);
    let unbind = std::iter::repeat_n(third(&unbind), 6);
    let mut moves: Vec<_> = own.into_iter().map(|step| vec![step]).collect();
    moves.extend(others.into_iter().chain(unbind));
    moves.extend([30, 150, 400].map(|time| vec![Step::Time(time)]));
    moves
}
