//! The hostile component.

use abi::{MessageInfo, Method, Syscall};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use kernel_fuzz_methods::index;
use suite::support::Random;
use userlib::{CPtr, Startup, println, runtime, syscall};

use crate::call::Call;
use crate::chain;
use crate::kind::Kind;
use crate::ledger::{ADDRESSES, CallKind, End, Ledger, SLOTS, Word};
use crate::prepare::Author;

/// The kind for each tag that the kernel reports (`DebugCapIdentify`). It is filled from the kinds of the
/// first capabilities, which the parent has written to the ledger.
static KIND_OF_TAG: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];

/// Makes calls until the ledger's limit is reached. The component may be interrupted anywhere: when it is
/// started again, it continues from the ledger.
pub fn run(startup: &'static Startup) {
    let ledger = Ledger::from_startup(startup);
    if ledger.get(Word::Calls) == 0 {
        for address in 0..ADDRESSES {
            let kind = ledger.kind(address).load(Relaxed);
            if kind != Kind::None as usize {
                KIND_OF_TAG[tag(address)].store(kind, Relaxed);
            }
        }
    }
    let mut random = Random::new(ledger.random().max(1));
    while ledger.get(Word::Calls) < ledger.get(Word::Limit) {
        let is_plausible = ledger.get(Word::CallKind) == CallKind::Plausible as usize;
        if is_plausible && random.below(CHAIN_RARITY) == 0 {
            play_chain(&mut random, ledger);
        }
        let call = if ledger.get(Word::CallKind) == CallKind::Noise as usize {
            Author::new(&mut random, ledger).noise()
        } else {
            match plausible(&mut random, ledger) {
                Some(call) => call,
                None => continue,
            }
        };
        perform(&call, &mut random, ledger);
    }
    // It blocks here, so as to use no more budget.
    loop {
        syscall::wait(CPtr::NULL);
    }
}

fn tag(address: usize) -> usize {
    syscall::debug_cap_identify(CPtr(address)) % KIND_OF_TAG.len()
}

/// Identifies the capability at an address, and notes its kind.
fn look(address: usize, ledger: Ledger) -> usize {
    let kind = KIND_OF_TAG[tag(address)].load(Relaxed);
    ledger.kind(address).store(kind, Relaxed);
    kind
}

fn plausible(random: &mut Random, ledger: Ledger) -> Option<Call> {
    if random.below(8) == 0 {
        return Some(Author::new(random, ledger).message());
    }
    let mut author = Author::new(random, ledger);
    let form = author.form();
    let mut call = author.plausible(form)?;
    let touched = author.touched;
    if author.random.below(4) == 0 {
        author.mutate(&mut call);
    } else if look(call.registers.cap, ledger) != form.on as usize {
        return None;
    }
    // The slots that this call may change are identified before the next one.
    for address in touched {
        PENDING[address % PENDING.len()].store(address, Relaxed);
    }
    Some(call)
}

/// Other calls between two chains, on average, and the moves of each chain.
const CHAIN_RARITY: usize = 150;
const MOVES: usize = 30;

/// Stages a chain of calls with limits, and makes moves in it.
fn play_chain(random: &mut Random, ledger: Ledger) {
    for number in 0..chain::STAGE {
        let call = chain::stage(number, random);
        perform(&call, random, ledger);
    }
    for address in chain::FRESH {
        look(address, ledger);
    }
    for _ in 0..MOVES {
        let call = chain::next(random);
        perform(&call, random, ledger);
        if random.below(4) != 0 {
            perform(&chain::ring(), random, ledger);
        }
    }
    for end in End::ALL {
        ledger.ended(end).store(chain::ended(end), Relaxed);
    }
}

/// Calls between two checks of the stack.
const STACK_LOOK: usize = 1_000;

/// Slots to identify.
static PENDING: [AtomicUsize; 8] = [const { AtomicUsize::new(0) }; 8];

fn perform(call: &Call, random: &mut Random, ledger: Ledger) {
    let calls = ledger.get(Word::Calls);
    ledger.set(Word::Calls, calls + 1);
    ledger.set_random(random.state());

    let label = MessageInfo(call.registers.info).label();
    if ledger.get(Word::Trace) != 0 {
        trace(calls, call);
    }
    let kind = ledger.kind(call.registers.cap).load(Relaxed);
    let counts = call.number == Syscall::Call.number() && is_about(label, kind);
    let counted = index(label).filter(|_| counts);
    if let Some(method) = counted {
        ledger.tried(method).fetch_add(1, Relaxed);
    }
    let error = call.perform();
    if let Some(method) = counted
        && error == 0
    {
        ledger.succeeded(method).fetch_add(1, Relaxed);
    }
    for pending in &PENDING {
        let address = pending.swap(0, Relaxed);
        if address != 0 {
            look(address, ledger);
        }
    }
    look(random.below(SLOTS), ledger);
    if calls.is_multiple_of(STACK_LOOK) {
        ledger.set(Word::Stack, runtime::stack_use().used);
    }
}

/// Prints a call that is about to be made.
fn trace(number: usize, call: &Call) {
    let Call {
        number: syscall,
        registers,
        words,
        caps,
    } = call;
    let info = MessageInfo(registers.info);
    let method = Method::from_number(info.label());
    println!(
        "fuzz: call {number}: system call {} on {:#x}, {method:?}, {:x?}, capabilities {:x?}",
        *syscall as isize,
        registers.cap,
        &words[..info.length().min(words.len())],
        &caps[..info.extra_caps()],
    );
}

/// Whether objects of this kind have the method.
fn is_about(label: usize, kind: usize) -> bool {
    let forms = crate::forms::COMMON.iter().chain(crate::arch::FORMS);
    forms
        .filter(|form| form.on as usize == kind)
        .any(|form| form.method.checked_number() == Some(label))
}
