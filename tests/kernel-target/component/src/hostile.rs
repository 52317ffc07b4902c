//! Programs that make arbitrary system calls: the kernel survives, and other threads are not affected.
//!
//! The hostile threads are bare: the test fills their registers, lets them make one system call, and
//! continues with the next numbers. They run in a jail: a CSpace with a capability of each kind, and an
//! address space of two pages, one of which is the IPC buffer that the test fills.

use crate::support::arch::{load, store};
use crate::support::{ABOVE, Outcome, Random, Test, ms};
use crate::{check, check_eq};
use abi::{Method, Rights, Syscall, WORD_BITS, registers};
use userlib::cap::{
    Attributes, CNode, Endpoint, Frame, Notification, Registers, Reply, SchedContext,
    SchedParameters, Tcb, Untyped, VSpace,
};
use userlib::{CPtr, Message, MessageInfo};

tests![
    random_system_calls,
    random_invocations,
    random_messages,
    garbage_infos_are_cut,
    memory_runs_out_and_comes_back,
];

const RADIX: usize = 6;
const CODE: usize = 0x40_0000;
const BUFFER: usize = 0x40_1000;
const PAGE: usize = 4096;

const CALLS: [Syscall; 11] = [
    Syscall::Call,
    Syscall::ReplyRecv,
    Syscall::NBSendRecv,
    Syscall::NBSendWait,
    Syscall::Send,
    Syscall::NBSend,
    Syscall::Recv,
    Syscall::NBRecv,
    Syscall::Wait,
    Syscall::NBWait,
    Syscall::Yield,
];

/// The program: a system call, then an undefined instruction.
#[cfg(target_arch = "x86_64")]
const PROGRAM: [usize; 1] = [0x0b0f_050f];
/// The program: a system call, then an undefined instruction.
#[cfg(target_arch = "arm")]
const PROGRAM: [usize; 2] = [0xef00_0000, 0xe7f0_00f0];
/// The program: a system call, then an undefined instruction.
#[cfg(target_arch = "aarch64")]
const PROGRAM: [usize; 1] = [0xd400_0001];

struct Jail {
    cnode: CNode,
    threads: [Tcb; 3],
    contexts: [SchedContext; 3],
    /// The capabilities in the CSpace.
    treasures: [CPtr; 12],
    /// The IPC buffer of all threads, in the test's own address space.
    buffer: usize,
    /// Where their faults wait until the next call; no thread receives from it.
    faults: Endpoint,
}

impl Jail {
    fn new(test: &mut Test) -> Outcome<Self> {
        let space: VSpace = test.create()?;
        test.asid_pool.assign(space)?;
        let (code, address) = test.create_page()?;
        for (index, word) in PROGRAM.into_iter().enumerate() {
            write(address + index * size_of::<usize>(), word);
        }
        #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
        code.cache(userlib::cap::CacheOperation::UnifyInstruction, 0, PAGE)?;
        let code = test.copy(code)?;
        let normal = Attributes::NORMAL;
        space.map(&mut test.allocator, code, CODE, Rights::READ, normal)?;
        let (frame, buffer) = test.create_page()?;
        let copy = test.copy(frame)?;
        let rights = Rights::READ_WRITE;
        space.map(
            &mut test.allocator,
            copy,
            BUFFER,
            rights,
            Attributes::NO_EXECUTE,
        )?;
        let cnode: CNode = test.create_sized(RADIX)?;
        let mut threads = [Tcb(CPtr::NULL); 3];
        let mut contexts = [SchedContext(CPtr::NULL); 3];
        for (tcb, context) in threads.iter_mut().zip(&mut contexts) {
            *tcb = test.create()?;
            let guard = CNode::root_guard(RADIX).word();
            tcb.configure(cnode, guard, space, BUFFER, copy)?;
            *context = test.create_sized(8)?;
        }
        let other: VSpace = test.create()?;
        test.asid_pool.assign(other)?;
        let page: Frame = test.create()?;
        let treasures = [
            threads[0].0,
            threads[1].0,
            threads[2].0,
            cnode.0,
            contexts[0].0,
            contexts[1].0,
            test.create::<Endpoint>()?.0,
            test.create::<Notification>()?.0,
            test.create::<Reply>()?.0,
            page.0,
            other.0,
            test.create::<Endpoint>()?.0,
        ];
        Ok(Self {
            cnode,
            threads,
            contexts,
            treasures,
            buffer,
            faults: test.create()?,
        })
    }

    /// Restores all objects to their initial state, and puts memory beside them.
    fn furnish(&self, test: &mut Test, memory: Untyped) -> Outcome {
        test.slot(memory).revoke()?;
        for index in 0..1 << RADIX {
            let slot = self.cnode.slot_of_table(index, RADIX);
            slot.delete()?;
            if index > 0 && index <= 2 * self.treasures.len() {
                let source = self.treasures[(index - 1) / 2];
                slot.copy_from(test.slot(source), Rights::ALL)?;
            }
        }
        self.cnode
            .slot_of_table(40, RADIX)
            .copy_from(test.slot(memory), Rights::ALL)?;
        let little = SchedParameters::new(ms(1), ms(4));
        for (tcb, context) in self.threads.into_iter().zip(self.contexts) {
            tcb.suspend()?;
            context.unbind()?;
            test.sched_control.configure(context, &little)?;
            tcb.set_sched_params(test.tcb, ABOVE, ABOVE, context, self.faults)?;
        }
        Ok(())
    }

    /// Makes a thread perform one system call.
    fn act(&self, random: &mut Random, call: Syscall, info: usize) -> Outcome {
        let mut registers = Registers::default();
        for register in &mut registers.0 {
            *register = word(random);
        }
        registers.0[registers::PC] = CODE;
        registers.0[registers::SYSCALL] = call.number();
        registers.0[registers::CAP] = random.below(44);
        registers.0[registers::REPLY] = random.below(44);
        registers.0[registers::INFO] = info;
        for _ in 0..4 {
            let place = random.below(128);
            write(self.buffer + place * size_of::<usize>(), word(random));
        }
        for place in 121..128 {
            write(self.buffer + place * size_of::<usize>(), random.below(44));
        }
        let tcb = random.choose(&self.threads);
        tcb.suspend()?;
        tcb.write_registers(true, &registers)?;
        Ok(())
    }
}

/// A word that may be valid as some argument.
fn word(random: &mut Random) -> usize {
    match random.below(4) {
        0 => random.below(44),
        1 => WORD_BITS,
        2 => BUFFER + random.below(64) * PAGE,
        _ => random.interesting(),
    }
}

fn read(address: usize) -> usize {
    // SAFETY: the test has mapped a page there.
    unsafe { load(address) }
}

fn write(address: usize, value: usize) {
    // SAFETY: the test has mapped a page there.
    unsafe { store(address, value) }
}

/// Makes the jailed threads perform the system calls that `choose` returns, many times, while a well-behaved
/// thread works.
fn riot(
    test: &mut Test,
    seed: u64,
    mut choose: impl FnMut(&mut Random) -> (Syscall, usize),
) -> Outcome {
    const ROUNDS: usize = 200;
    const ACTS: usize = 50;
    let jail = Jail::new(test)?;
    let memory: Untyped = test.create_sized(14)?;
    let (bell, done): (Notification, Notification) = (test.create()?, test.create()?);
    let (_, data) = test.create_page()?;
    test.spawn(ABOVE + 5, move || {
        for round in 0.. {
            bell.wait();
            for offset in (0..PAGE).step_by(64) {
                check_eq!(
                    read(data + offset),
                    if round == 0 { 0 } else { round + offset }
                );
                write(data + offset, round + 1 + offset);
            }
            done.signal();
        }
    })?;
    let mut random = Random::new(seed);
    for _ in 0..ROUNDS {
        jail.furnish(test, memory)?;
        for _ in 0..ACTS {
            let (call, info) = choose(&mut random);
            jail.act(&mut random, call, info)?;
        }
        bell.signal();
        done.wait();
    }
    check_eq!(read(data), ROUNDS);
    Ok(())
}

fn random_system_calls(test: &mut Test) -> Outcome {
    riot(test, 0x5eed_0001, |random| {
        (random.choose(&CALLS), random.interesting())
    })
}

fn random_invocations(test: &mut Test) -> Outcome {
    riot(test, 0x5eed_0002, |random| {
        let label = random.below(Method::COUNT);
        let info = MessageInfo::new(label, random.below(4), random.below(9));
        (Syscall::Call, info.0)
    })
}

fn random_messages(test: &mut Test) -> Outcome {
    riot(test, 0x5eed_0003, |random| {
        let info = MessageInfo::new(random.word() & 0xfff, random.below(4), random.below(121));
        (random.choose(&CALLS[..10]), info.0)
    })
}

fn garbage_infos_are_cut(test: &mut Test) -> Outcome {
    let endpoint: Endpoint = test.create()?;
    let mut random = Random::new(0x5eed_0004);
    for _ in 0..50 {
        let info = MessageInfo(random.word() & !0x180 | 0x78);
        let registers = [1, 2, 3, 4];
        let sender = test.spawn(ABOVE, move || {
            endpoint.send(Message { info, registers });
        });
        if sender.is_err() {
            break;
        }
        let Some(message) = endpoint.wait().message else {
            crate::support::fail(format_args!("a signal"));
        };
        check_eq!(message.length(), info.length());
        check_eq!(message.info.0 & 0x7f, 120);
        check_eq!(message.label(), info.label());
        check_eq!(message.capabilities(), 0);
        check_eq!(message.registers, registers);
    }
    Ok(())
}

fn memory_runs_out_and_comes_back(test: &mut Test) -> Outcome {
    let memory: Untyped = test.create_sized(16)?;
    let slots: [_; 70] = {
        let mut slots = [None; 70];
        for slot in &mut slots {
            *slot = Some(test.empty_slot()?);
        }
        slots
    };
    let mut counts = [0; 20];
    for made in &mut counts {
        for slot in slots.into_iter().flatten() {
            let destination = userlib::cap::SlotRange {
                root: test.allocator.cnode(),
                index: 0,
                depth: 0,
                offset: slot.index,
            };
            match memory.retype(abi::ObjectType::Tcb, 0, destination, 1) {
                Ok(()) => *made += 1,
                Err(error) => {
                    check_eq!(error, userlib::Error::NotEnoughMemory(0));
                    break;
                }
            }
        }
        test.slot(memory).revoke()?;
    }
    check!(
        counts
            .iter()
            .all(|&made| made == (1 << 16 >> abi::sizes::TCB_BITS))
    );
    Ok(())
}
