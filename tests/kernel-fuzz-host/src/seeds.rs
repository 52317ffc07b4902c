//! Initial histories: one for each method, in which it succeeds, and one for each system call.

use abi::{GuardData, Method, ObjectType, Rights, Syscall, WORD_BITS, endpoint_flags};

use crate::chain::{chain, moves as chain_moves};
use crate::input::{Call, Step};
use crate::system::at;

/// The first byte of a history: the clock does not advance in the kernel, and fast paths are enabled.
const SETTING: u8 = 0;

pub(crate) fn method(cap: usize, method: Method, words: &[usize], caps: &[usize]) -> Step {
    Step::Call(Call {
        number: 1,
        cap,
        reply: 0,
        destination: 0,
        label: method.number(),
        words: words.to_vec(),
        caps: caps.to_vec(),
    })
}

pub(crate) fn call(
    number: Syscall,
    cap: usize,
    reply: usize,
    destination: usize,
    words: &[usize],
) -> Step {
    Step::Call(Call {
        number: number.number().wrapping_neg() as u8,
        cap,
        reply,
        destination,
        label: 3,
        words: words.to_vec(),
        caps: Vec::new(),
    })
}

pub(crate) fn retype(kind: ObjectType, size: usize, slot: usize, count: usize) -> Step {
    let words = [kind.number(), size, 0, 0, slot, count];
    method(at::UNTYPED, Method::UntypedRetype, &words, &[at::SPACE])
}

/// The bytes of a history.
pub fn encode(steps: &[Step]) -> Vec<u8> {
    let mut bytes = vec![SETTING];
    steps.iter().for_each(|step| step.write(&mut bytes));
    bytes
}

/// A name, and the encoded history.
pub type Seed = (String, Vec<u8>);

/// All seeds.
pub fn seeds() -> Vec<Seed> {
    let methods = of_methods()
        .into_iter()
        .map(|(name, steps)| (format!("method-{name:?}"), steps));
    let calls = of_calls()
        .into_iter()
        .map(|(name, steps)| (format!("call-{name}"), steps));
    let chains = chain_moves()
        .into_iter()
        .enumerate()
        .map(|(index, steps)| (format!("chain-{index}"), [chain(), steps].concat()));
    methods
        .chain(calls)
        .chain(chains)
        .map(|(name, steps)| (name, encode(&steps)))
        .collect()
}

fn of_methods() -> Vec<(Method, Vec<Step>)> {
    use Method::*;
    const E: usize = at::EMPTY;
    const D: usize = WORD_BITS;
    let root = [at::SPACE];
    let all = Rights::ALL.word();
    let one = |cap, which: Method, words: &[usize], caps: &[usize]| {
        (which, vec![method(cap, which, words, caps)])
    };
    let slot = |which, cap, more: &[usize]| {
        let words = [&[cap, D], more].concat();
        one(at::SPACE, which, &words, &root)
    };
    let copy = [E, D, at::NOTIFICATION, D, all];
    let mut registers = vec![0, 20];
    registers.extend(0x1000..0x1014);
    let guard = GuardData { guard: 1, size: 2 };
    vec![
        (
            UntypedRetype,
            vec![
                retype(ObjectType::Tcb, 0, E, 2),
                retype(ObjectType::CNode, 2, E + 2, 1),
            ],
        ),
        one(at::PEER, TcbReadRegisters, &[0, 12], &[]),
        one(at::STOPPED, TcbWriteRegisters, &registers, &[]),
        one(at::STOPPED, TcbCopyRegisters, &[0b1100], &[at::PEER]),
        one(
            at::STOPPED,
            TcbConfigure,
            &[0, 0, 0x50_0000],
            &[at::SPACE, at::ADDRESS_SPACE, at::FRAME],
        ),
        one(at::PEER, TcbSetPriority, &[6], &[at::SELF]),
        one(at::PEER, TcbSetMcPriority, &[12], &[at::SELF]),
        one(at::PEER, TcbSetCriticality, &[0], &[at::SELF]),
        one(at::PEER, TcbSetMcCriticality, &[0], &[at::SELF]),
        one(
            at::STOPPED,
            TcbSetSchedParams,
            &[9, 8],
            &[at::SELF, 0, at::FAULTS],
        ),
        one(at::SELF, TcbSetTimeoutEndpoint, &[], &[at::FAULTS]),
        one(at::STOPPED, TcbSetIpcBuffer, &[0x50_0000], &[at::FRAME]),
        one(
            at::STOPPED,
            TcbSetSpace,
            &[0, 0],
            &[at::FAULTS, at::SPACE, at::ADDRESS_SPACE],
        ),
        (
            TcbSuspend,
            vec![
                method(at::PEER, TcbSuspend, &[], &[]),
                method(at::SERVER, TcbSuspend, &[], &[]),
            ],
        ),
        one(at::PEER, TcbResume, &[], &[]),
        one(at::PEER, TcbBindNotification, &[], &[at::NOTIFICATION]),
        (
            TcbUnbindNotification,
            vec![
                method(at::PEER, TcbBindNotification, &[], &[at::NOTIFICATION]),
                method(at::PEER, TcbUnbindNotification, &[], &[]),
            ],
        ),
        one(at::PEER, TcbSetTlsBase, &[0x7000], &[]),
        one(at::PEER, TcbSetFlags, &[0, 1], &[]),
        (
            CNodeRevoke,
            vec![
                retype(ObjectType::Endpoint, 0, E, 4),
                method(at::SPACE, CNodeRevoke, &[at::UNTYPED, D], &[]),
            ],
        ),
        slot(CNodeDelete, at::CNODE, &[]),
        slot(CNodeCancelBadgedSends, at::BADGED, &[]),
        one(at::SPACE, CNodeCopy, &copy, &root),
        one(
            at::SPACE,
            CNodeMint,
            &[E, D, at::ENDPOINT, D, all, 7],
            &root,
        ),
        slot(CNodeMove, E, &[at::UNTYPED, D]),
        slot(CNodeMutate, E, &[at::CNODE, D, guard.word()]),
        one(
            at::SPACE,
            CNodeRotate,
            &[E, D, guard.word(), at::CNODE, D, 0, at::REPLY, D],
            &[at::SPACE, at::SPACE],
        ),
        one(at::IRQ_CONTROL, IrqIssueIrqHandler, &[3, E, D], &root),
        one(at::IRQ_HANDLER, IrqAckIrq, &[], &[]),
        one(at::IRQ_HANDLER, IrqSetIrqHandler, &[], &[at::SIGNAL]),
        one(at::IRQ_HANDLER, IrqClearIrqHandler, &[], &[]),
        one(at::DOMAIN, DomainSetSet, &[0], &[at::PEER]),
        one(at::DOMAIN, DomainScheduleConfigure, &[0, 0, 1000], &[]),
        one(at::DOMAIN, DomainScheduleSetStart, &[0], &[]),
        one(
            at::SCHED_CONTROL,
            SchedControlConfigureFlags,
            &[300, 1000, 2, 9, 1],
            &[at::UNCONFIGURED],
        ),
        one(
            at::SCHED_CONTROL,
            SchedControlSetCriticalityLevel,
            &[0],
            &[],
        ),
        one(at::SPARE, SchedContextBind, &[], &[at::SERVER]),
        one(at::PEER_CONTEXT, SchedContextUnbind, &[], &[]),
        one(at::PEER_CONTEXT, SchedContextUnbindObject, &[], &[at::PEER]),
        one(at::CONTEXT, SchedContextConsumed, &[], &[]),
        one(at::PEER_CONTEXT, SchedContextYieldTo, &[], &[]),
        one(at::FRAME, X86PageGetAddress, &[], &[]),
        one(at::ASID_POOL, X86AsidPoolAssign, &[], &[at::NEW_SPACE]),
        slot(
            CNodeEndpointSetThreshold,
            at::ENDPOINT,
            &[150, endpoint_flags::LIMIT],
        ),
        one(at::PEER_CONTEXT, SchedContextYieldToTimeout, &[3000], &[]),
    ]
}

pub(crate) fn method_in_space(what: Method, slot: usize) -> Step {
    method(at::SPACE, what, &[slot, WORD_BITS], &[])
}

/// The peer becomes a passive server with a limit, the program calls it, and the server does
/// something other than reply.
fn limited(step: Step) -> Vec<Step> {
    let threshold = [at::ENDPOINT, WORD_BITS, 150, endpoint_flags::LIMIT];
    let unbind = Method::SchedContextUnbind;
    vec![
        retype(ObjectType::Reply, 0, at::EMPTY, 1),
        method(
            at::SPACE,
            Method::CNodeEndpointSetThreshold,
            &threshold,
            &[],
        ),
        method(at::SELF, Method::TcbSetPriority, &[4], &[at::SELF]),
        // The peer runs now.
        call(Syscall::Recv, at::ENDPOINT, at::EMPTY, 0, &[]),
        method(at::PEER_CONTEXT, unbind, &[], &[]),
        call(Syscall::Call, at::ENDPOINT, 0, 0, &[1]),
        Step::Time(50),
        step,
        Step::Time(500),
    ]
}

fn of_calls() -> Vec<(&'static str, Vec<Step>)> {
    use Syscall::*;
    let plain = |number, cap, reply| call(number, cap, reply, 0, &[1, 2, 3, 4, 5]);
    let peer = |step| vec![plain(Recv, at::ENDPOINT, at::REPLY), step];
    vec![
        ("Call", peer(plain(Call, at::BADGED, 0))),
        (
            "Call-server",
            vec![
                plain(Call, at::SERVICE, 0),
                Step::Time(40),
                plain(ReplyRecv, at::SERVICE, at::REPLY),
            ],
        ),
        ("Send", peer(plain(Send, at::ENDPOINT, 0))),
        ("NBSend", peer(plain(NBSend, at::ENDPOINT, 0))),
        (
            "ReplyRecv",
            vec![
                plain(Recv, at::ENDPOINT, at::REPLY),
                plain(Call, at::ENDPOINT, 0),
                plain(ReplyRecv, at::ENDPOINT, at::REPLY),
            ],
        ),
        (
            "NBSendRecv",
            vec![call(NBSendRecv, at::ENDPOINT, at::REPLY, at::SIGNAL, &[1])],
        ),
        (
            "NBSendWait",
            vec![call(NBSendWait, at::NOTIFICATION, at::SIGNAL, 0, &[1])],
        ),
        ("NBRecv", vec![plain(NBRecv, at::ENDPOINT, at::REPLY)]),
        (
            "Wait",
            vec![plain(Wait, at::INTERRUPT, 0), Step::Interrupt(0)],
        ),
        (
            "NBWait",
            vec![
                plain(Send, at::NOTIFICATION, 0),
                plain(NBWait, at::NOTIFICATION, 0),
            ],
        ),
        ("Yield", vec![plain(Yield, 0, 0), plain(Yield, 0, 0)]),
        (
            "SetTlsBase",
            vec![Step::Registers([
                SetTlsBase.number(),
                0x7000,
                0,
                0,
                0,
                0,
                0,
                0,
                0,
            ])],
        ),
        (
            "YieldUntilBudget",
            vec![
                Step::Time(100),
                Step::Registers([(-1002isize) as usize, 0, 0, 0, 1, 4_000, 0, 0, 0]),
            ],
        ),
        (
            "limit-delete",
            limited(method_in_space(Method::CNodeDelete, at::EMPTY)),
        ),
        ("limit-reuse", limited(plain(NBRecv, at::BADGED, at::EMPTY))),
        (
            "limit-suspend",
            limited(method(at::SELF, Method::TcbSuspend, &[], &[])),
        ),
        ("limit-yield", limited(plain(Yield, 0, 0))),
        ("fault", vec![Step::Fault, Step::Time(50)]),
        (
            "transfer",
            vec![
                Step::Receive([at::SPACE, at::EMPTY, WORD_BITS]),
                plain(Recv, at::ENDPOINT, at::REPLY),
                Step::Call(crate::input::Call {
                    number: 5,
                    cap: at::ENDPOINT,
                    reply: 0,
                    destination: 0,
                    label: 1,
                    words: vec![1],
                    caps: vec![at::BADGED, at::FRAME],
                }),
            ],
        ),
        (
            "ambush",
            vec![
                retype(ObjectType::Endpoint, 0, at::EMPTY, 8),
                Step::Ambush(3, 0),
                method(
                    at::SPACE,
                    Method::CNodeRevoke,
                    &[at::UNTYPED, WORD_BITS],
                    &[],
                ),
            ],
        ),
        (
            "late",
            vec![
                Step::Late(9_000),
                plain(Yield, 0, 0),
                Step::Time(3_000),
                plain(Yield, 0, 0),
            ],
        ),
    ]
}
