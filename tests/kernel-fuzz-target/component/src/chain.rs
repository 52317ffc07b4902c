//! Call chains with limits, and what ends their calls.
//!
//! Random calls seldom make a call inside of a call. So from time to time the hostile component stages a chain:
//! a client calls a passive server, which calls another one, and both calls have limits. These threads choose
//! what they do at random, until they wait for a bell. Then the component, whose priority is lower, makes a
//! move, and rings the bell.

use abi::{ErrorCode, GuardData, Method, ObjectType, Syscall, WORD_BITS};
use abi::{endpoint_flags, registers};
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use suite::support::Random;
use userlib::arch::initial_stack;

use crate::call::Call;
use crate::ledger::{CHAIN, End, HOME, PRIORITY, RADIX, SLOTS, SPACE, THREAD, THREADS};

/// Slots of objects that are made anew for each chain.
pub const FRESH: Range<usize> = SLOTS - FRESH_COUNT..SLOTS;
const FRESH_COUNT: usize = 6;
/// The endpoints of the two servers.
const ENDPOINTS: usize = FRESH.start;
/// Their reply objects, and one of neither.
const REPLIES: usize = ENDPOINTS + 2;
/// A notification.
const BELL: usize = REPLIES + 3;
/// Limits of the calls, in microseconds. The client's budget suffices for one or two.
const LIMITS: [usize; 2] = [300, 100];

/// Repetitions of a loop that takes longer than a limit, also in an emulator that does not count instructions: it ends
/// its turn at each hint.
const SPIN: usize = 5_000;

/// Address of a thread: the client, then the servers.
const fn thread(index: usize) -> usize {
    CHAIN + index
}

/// Address of its context.
const fn context(index: usize) -> usize {
    CHAIN + THREADS + index
}

/// Address of the memory for the fresh objects.
const MEMORY: usize = CHAIN + 2 * THREADS;

/// Whether the client's call is in progress, and that of the first server.
static CALLING: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];
/// What is going to end these calls, as an [`End`].
static CAUSE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Whether the first server was stopped in its call.
static STOPPED: AtomicBool = AtomicBool::new(false);
/// Counts of failed calls, by [`End`].
static ENDED: [AtomicUsize; End::ALL.len()] = [const { AtomicUsize::new(0) }; End::ALL.len()];

/// How many calls failed for this reason.
pub fn ended(end: End) -> usize {
    ENDED[end as usize].load(Relaxed)
}

/// Notes what ends a call. A chain that has lost its context does not get it back.
fn note(call: usize, end: End) {
    if CAUSE[call].load(Relaxed) != End::Lost as usize {
        CAUSE[call].store(end as usize, Relaxed);
    }
}

/// The number of calls that make a chain: first those for the objects, then those for each thread, the
/// innermost first. The last one is for servers only.
pub const STAGE: usize = OBJECTS + THREADS * EACH - 1;
const OBJECTS: usize = FRESH_COUNT + 6;
const EACH: usize = 7;

/// One of these calls.
pub fn stage(number: usize, random: &mut Random) -> Call {
    if number < OBJECTS {
        return object(number);
    }
    let (position, step) = ((number - OBJECTS) / EACH, (number - OBJECTS) % EACH);
    let index = THREADS - 1 - position;
    let (thread, context) = (thread(index), context(index));
    let parameters = [PRIORITY, PRIORITY].map(usize::from);
    match step {
        0 => Call::method(Method::TcbSuspend, thread, &[], &[]),
        // This takes the context that the thread has.
        1 => Call::method(
            Method::TcbSetSchedParams,
            thread,
            &parameters,
            &[THREAD, 0, 0],
        ),
        2 => {
            let guard = GuardData {
                guard: 0,
                size: WORD_BITS - RADIX,
            };
            Call::method(
                Method::TcbSetSpace,
                thread,
                &[guard.word(), 0],
                &[0, HOME, SPACE],
            )
        }
        3 => Call::method(Method::SchedContextUnbind, context, &[], &[]),
        4 => Call::method(Method::SchedContextBind, context, &[], &[thread]),
        5 => begin(index, random),
        // By now the server waits.
        _ => Call::method(Method::SchedContextUnbind, context, &[], &[]),
    }
}

/// One of the calls for objects, and for the component's priority.
fn object(number: usize) -> Call {
    let below = usize::from(PRIORITY - 1);
    let Some(number) = number.checked_sub(FRESH_COUNT) else {
        return delete(FRESH.start + number);
    };
    match number {
        0 => Call::method(Method::TcbSetPriority, THREAD, &[below], &[THREAD]),
        1 => retype(ObjectType::Endpoint, ENDPOINTS, 2),
        2 => retype(ObjectType::Reply, REPLIES, 3),
        3 => retype(ObjectType::Notification, BELL, 1),
        _ => limit(number - 4, true),
    }
}

/// The start of a thread, with arbitrary contents of most registers.
fn begin(index: usize, random: &mut Random) -> Call {
    let mut words = [0; 2 + registers::COUNT];
    // It runs at once.
    (words[0], words[1]) = (1, registers::COUNT);
    let context = &mut words[2..];
    context.fill_with(|| random.interesting());
    let stack = &STACKS[index];
    let top = stack.as_ptr() as usize + size_of_val(stack);
    context[registers::FLAGS] = 0;
    context[registers::PC] = act as *const () as usize;
    context[registers::SP] = initial_stack(top);
    // The first argument.
    context[registers::CAP] = random.word() / 2 / THREADS * THREADS + index;
    Call::method(Method::TcbWriteRegisters, thread(index), &words, &[])
}

fn retype(kind: ObjectType, first: usize, count: usize) -> Call {
    let words = [kind.number(), 0, 0, 0, first, count];
    Call::method(Method::UntypedRetype, MEMORY, &words, &[HOME])
}

fn delete(slot: usize) -> Call {
    Call::method(Method::CNodeDelete, HOME, &[slot, RADIX], &[])
}

fn limit(index: usize, limited: bool) -> Call {
    let (limit, flags) = match limited {
        true => (LIMITS[index], endpoint_flags::LIMIT),
        false => (0, 0),
    };
    let place = [ENDPOINTS + index, RADIX];
    let words: &[usize] = match WORD_BITS {
        32 => &[place[0], place[1], limit, 0, flags],
        _ => &[place[0], place[1], limit, flags],
    };
    Call::method(Method::CNodeEndpointSetThreshold, HOME, words, &[])
}

fn send(syscall: Syscall, address: usize, reply: usize) -> Call {
    let mut call = Call::new(syscall, address);
    call.registers.reply = reply;
    call
}

/// The call that rings the bell.
pub fn ring() -> Call {
    send(Syscall::NBSend, BELL, 0)
}

/// What the component does next.
pub fn next(random: &mut Random) -> Call {
    // A server, and the call that it serves.
    let server = 1 + random.below(2);
    let call = server - 1;
    let reply = REPLIES + random.below(3);
    let is_chain = CALLING.iter().all(|calling| calling.load(Relaxed));
    match random.below(16) {
        0..3 => {
            // Both calls are joined only if the first server is stopped, and only in a whole chain.
            let server = if is_chain { 1 } else { server };
            if is_chain {
                STOPPED.store(true, Relaxed);
            }
            Call::method(Method::TcbSuspend, thread(server), &[], &[])
        }
        3 => Call::method(Method::TcbResume, thread(server), &[], &[]),
        4..6 => {
            if is_chain {
                note(0, End::Lost);
            }
            Call::method(Method::SchedContextUnbind, context(0), &[], &[])
        }
        6 => {
            let of = thread(random.below(THREADS));
            Call::method(Method::SchedContextUnbindObject, context(0), &[], &[of])
        }
        // Not the inner server, so that the time on which it runs is always the client's.
        7..10 => {
            let index = usize::from(random.below(4) == 0);
            let (context, thread) = (context(index), thread(index));
            Call::method(Method::SchedContextBind, context, &[], &[thread])
        }
        10 => {
            note(call, End::Deleted);
            delete(REPLIES + call)
        }
        11 => {
            note(call, End::Reused);
            send(Syscall::NBRecv, BELL, REPLIES + call)
        }
        12 => send(Syscall::NBSend, reply, 0),
        13 => retype(ObjectType::Reply, reply, 1),
        14 => limit(call, false),
        _ => limit(call, true),
    }
}

/// Bytes of the stack of each thread.
const STACK: usize = 8192;
/// The stacks, of which only the addresses are used here.
static STACKS: [[AtomicUsize; STACK / size_of::<usize>()]; THREADS] =
    [const { [const { AtomicUsize::new(0) }; _] }; THREADS];

/// What a thread does: for ever, or until it faults. The number of the thread is the remainder of the argument,
/// which is also a seed.
extern "C" fn act(argument: usize) -> ! {
    let mut random = Random::new((argument as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    match argument % THREADS {
        0 => loop {
            call(0);
            if random.below(8) == 0 {
                wait();
            }
        },
        server => serve(server, &mut random),
    }
}

fn wait() {
    send(Syscall::Wait, BELL, 0).perform_in_registers();
}

/// Makes a call, and counts it if it fails.
fn call(index: usize) {
    CAUSE[index].store(End::Used as usize, Relaxed);
    STOPPED.store(false, Relaxed);
    CALLING[index].store(true, Relaxed);
    let label = send(Syscall::Call, ENDPOINTS + index, 0).perform_in_registers();
    CALLING[index].store(false, Relaxed);
    if label == ErrorCode::LimitReached as usize {
        ENDED[CAUSE[index].load(Relaxed)].fetch_add(1, Relaxed);
    }
}

fn serve(server: usize, random: &mut Random) -> ! {
    let served = server - 1;
    if let Some(own) = CALLING.get(server) {
        own.store(false, Relaxed);
    }
    let (endpoint, reply) = (ENDPOINTS + served, REPLIES + served);
    let receive = || send(Syscall::Recv, endpoint, reply).perform_in_registers();
    receive();
    loop {
        if server == 2 && STOPPED.swap(false, Relaxed) {
            note(0, End::Joined);
        }
        match random.below(16) {
            0..6 if server == 1 => call(1),
            0..8 => wait(),
            8 => {
                note(served, End::Yielded);
                send(Syscall::Yield, 0, 0).perform_in_registers();
            }
            9 => {
                note(served, End::Reused);
                receive();
            }
            10 => {
                note(served, End::Deleted);
                delete(reply).perform_in_registers();
            }
            11..13 => (0..SPIN).for_each(|_| {
                userlib::arch::nops();
                userlib::arch::relax();
            }),
            13 => {
                send(Syscall::NBSend, reply, 0).perform_in_registers();
            }
            _ => {
                send(Syscall::ReplyRecv, endpoint, reply).perform_in_registers();
            }
        }
    }
}
